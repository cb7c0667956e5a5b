//! [`Ranges`]: a table as disjoint address intervals, the form that range engines compile.

use super::Rib;
use super::pieces::Pieces;
use crate::{Address, NextHop, Prefix};
use std::iter::FusedIterator;

/// An interval of addresses with one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range<A> {
    /// The first address.
    pub first: A,
    /// The last address (inclusive: the whole space is one range too).
    pub last: A,
    /// The answer everywhere between; [`NextHop::NONE`] where no route matches.
    pub next_hop: NextHop,
}

impl<A: Address> Range<A> {
    /// Returns the fewest prefixes that together are this interval, in order; see [`Prefixes`].
    ///
    /// ```
    /// use fibula::{NextHop, rib::Range};
    /// let range = Range { first: 0x0A00_0001_u32, last: 0x0A00_0006, next_hop: NextHop(1) };
    /// let prefixes: Vec<_> = range.prefixes().map(|prefix| prefix.to_string()).collect();
    /// assert_eq!(prefixes, ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6/32"]);
    /// ```
    #[must_use]
    pub fn prefixes(self) -> Prefixes<A> {
        Prefixes::between(self.first, self.last)
    }
}

/// The fewest prefixes that together are an interval, in order: at most 2·bits − 2 of them. O(1)
/// each.
///
/// Each is the longest block that begins where the one before ended, limited by the alignment of
/// its first address and by the end of the interval.
#[derive(Clone, Debug)]
pub struct Prefixes<A> {
    /// The start of the next prefix; `None` when the interval is used up.
    at: Option<A>,
    last: A,
}

impl<A: Address> Prefixes<A> {
    /// Returns the prefixes of the interval from `first` to `last`, both included; none if `last`
    /// comes before `first`.
    #[must_use]
    pub fn between(first: A, last: A) -> Self {
        Self { at: (first <= last).then_some(first), last }
    }
}

impl<A: Address> Iterator for Prefixes<A> {
    type Item = Prefix<A>;

    fn next(&mut self) -> Option<Prefix<A>> {
        let first = self.at?;
        let (start, end) = (first.to_u128(), self.last.to_u128());
        let aligned = start.trailing_zeros();
        // The whole space of 2^128 addresses is one more than the integer can count.
        let fits = (end - start).checked_add(1).map_or(u128::BITS, u128::ilog2);
        let host_bits = aligned.min(fits).min(A::BITS.into()) as u8;
        let prefix = Prefix::containing(first, A::BITS - host_bits);
        self.at = prefix.last().next().filter(|&next| next <= self.last);
        Some(prefix)
    }
}

impl<A: Address> FusedIterator for Prefixes<A> {}

/// The intervals of a table in order, without gap or overlap; neighbours always differ.
///
/// ```
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("0.0.0.0/0".parse()?, NextHop(1));
/// rib.insert("10.0.0.0/8".parse()?, NextHop(2));
/// rib.insert("10.1.0.0/16".parse()?, NextHop(2)); // has its parent's next hop: no range
/// let ranges: Vec<_> = rib.ranges().map(|r| (r.first, r.next_hop.0)).collect();
/// assert_eq!(ranges, [(0, 1), (0x0A00_0000, 2), (0x0B00_0000, 1)]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ranges<'a, A: Address> {
    pieces: Pieces<'a, A>,
    /// The interval that an equal neighbour may still extend.
    pending: Option<Range<A>>,
}

impl<'a, A: Address> Ranges<'a, A> {
    /// Returns those of `within`, by the routes of `least` to `most` bits alone.
    pub(super) fn new(rib: &'a Rib<A>, within: Prefix<A>, least: u8, most: u8) -> Self {
        Self { pieces: Pieces::new(rib, within, least, most), pending: None }
    }
}

impl<A: Address> Iterator for Ranges<'_, A> {
    type Item = Range<A>;

    fn next(&mut self) -> Option<Range<A>> {
        for piece in self.pieces.by_ref() {
            let next_hop = piece.route.map_or(NextHop::NONE, |route| route.next_hop);
            match &mut self.pending {
                Some(range) if range.next_hop == next_hop => range.last = piece.last,
                pending => {
                    let range = Range { first: piece.first, last: piece.last, next_hop };
                    if let Some(range) = pending.replace(range) {
                        return Some(range);
                    }
                }
            }
        }
        self.pending.take()
    }
}

impl<A: Address> FusedIterator for Ranges<'_, A> {}
