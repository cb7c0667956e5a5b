//! Entries that hold the length of the route that wrote them, so that a table of them can be
//! updated in place.
//!
//! He, Guan, Xie and Salamatian, "Evaluating and Optimizing IP Lookup on Many core Processors"
//! (ICCCN 2012), section III.A: a flag, a prefix length, and a next hop or what the flag says it
//! points to.
//!
//! ```text
//!   31  30      25 24                                  0
//! +---+----------+-------------------------------------+
//! | 0 |  length  |              next hop               |
//! | 1 |    0     |                chunk                |
//! +---+----------+-------------------------------------+
//! ```
//! "No route" is length 0, next hop 0. An announced prefix of length *l* replaces the entries under
//! it whose length is at most *l*: those of its covers and its own. A withdrawn prefix replaces the
//! entries of exactly its length, which are its own, with the route above it.
//!
//! # Concurrent readers
//! An entry is one word, so a reader sees either its old or its new value. An address must go from
//! its old answer to its new one in a single step, whatever a batch of changes contains. So changes
//! are applied [in this order](in_order): announcements first, the longest first; then withdrawals,
//! the shortest first.
//!
//! An announcement does not touch what a longer one has written. A withdrawal takes its
//! replacement, the longest remaining route, from the updated table. So only one change of the
//! batch writes an entry, and it writes the final value. When the last route of a chunk goes, all
//! that is left in the chunk is final.

use crate::engine::Width;
use crate::memory::{Shareable, Words, word_around};
use crate::{Address, Delta, NextHop, Route};
use std::fmt;
use std::ops::Range;

/// The number of bits of a next hop or a chunk number.
const VALUE_BITS: u32 = 25;
const VALUE: u32 = (1 << VALUE_BITS) - 1;

/// The bit that marks a chunk.
const FLAG: u32 = 1 << 31;

/// The greatest next-hop index: the 25 bits that flag and length leave.
pub const NEXT_HOPS_MAX: u32 = VALUE;

/// A next hop with the length of the route it comes from, or the number of a chunk.
///
/// ```
/// use fibula::parts::blocks::entry::{Entry, replace};
/// use fibula::parts::memory::{Pages, Words};
/// use fibula::{NextHop, Route};
/// let route = Route { prefix: "10.0.0.0/8".parse()?, next_hop: NextHop(3) };
/// let entries: Words<Entry> = Words::zeroed(2, Pages::Small);
/// entries.set(1, Entry::pointing_to(7));
/// assert_eq!(replace(&entries, 0..1, Entry::of(route), |len| len <= 8), 1);
/// let entry = entries.get(0);
/// assert_eq!((entry.0, entry.len(), entry.next_hop()), (0x1000_0003, 8, NextHop(3)));
/// assert_eq!((entry.chunk(), entries.get(1).chunk()), (None, Some(7)));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(any(test, feature = "engines"), derive(zerocopy::FromZeros))]
pub struct Entry(pub u32);

impl Entry {
    /// The entry of fresh tables: all zero bytes.
    pub const NO_ROUTE: Self = Self(0);

    /// Returns the entry of a route, whose next hop must be at most [`NEXT_HOPS_MAX`].
    #[must_use]
    pub fn of(route: Route<u32>) -> Self {
        debug_assert!(route.next_hop.0 <= NEXT_HOPS_MAX);
        Self(u32::from(route.prefix.len()) << VALUE_BITS | route.next_hop.0)
    }

    /// Returns the entry that points to `chunk`.
    #[must_use]
    pub fn pointing_to(chunk: u32) -> Self {
        Self(FLAG | chunk)
    }

    /// Returns the chunk number, if this entry points to a chunk.
    #[inline(always)]
    #[must_use]
    pub fn chunk(self) -> Option<usize> {
        (self.0 & FLAG != 0).then_some((self.0 & VALUE) as usize)
    }

    /// Returns the length of the route, if this entry does not point to a chunk.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a prefix length is no count of elements")]
    pub fn len(self) -> u8 {
        (self.0 >> VALUE_BITS) as u8
    }

    /// Returns [`Entry::next_hop`] as wide as the answers. The result is unspecified if this entry
    /// points to a chunk.
    #[inline(always)]
    #[must_use]
    pub fn answer<W: Width>(self) -> W {
        W::narrow(NextHop(self.next_hop().0 & W::MAX))
    }

    /// Returns the next hop, if this entry does not point to a chunk.
    #[inline(always)]
    #[must_use]
    pub fn next_hop(self) -> NextHop {
        NextHop(self.0 & VALUE)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk() {
            Some(chunk) => write!(f, "chunk {chunk}"),
            None => write!(f, "/{} to {}", self.len(), self.next_hop().0),
        }
    }
}

word_around!(Entry(u32));

/// Sorts the changes of a batch so that every entry goes from its old value to its new one in a
/// single step.
#[must_use]
pub fn in_order<A: Address>(deltas: &[Delta<A>]) -> Vec<Delta<A>> {
    let mut deltas = deltas.to_vec();
    deltas.sort_by_key(|delta| {
        let len = i16::from(delta.prefix.len());
        if delta.after.is_some() { (false, -len) } else { (true, len) }
    });
    deltas
}

/// Sets each entry of `range` whose length satisfies `replaced` to `new`, and returns the number
/// set. No entry of the range may point to a chunk.
pub fn replace(
    entries: &Words<Entry>,
    range: Range<usize>,
    new: Entry,
    replaced: impl Fn(u8) -> bool,
) -> u64 {
    let mut set = 0;
    for place in entries.places(range) {
        if replaced(Entry::load_atomic(place).len()) {
            new.store(place);
            set += 1;
        }
    }
    set
}
