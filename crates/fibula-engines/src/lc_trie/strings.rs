//! [`Strings`]: the routes of a table as the paper's base vector and prefix vector.

use super::node::MAX_NODES;
use fibula::engine::Width;
use fibula::parts::memory::{Array, Pages};
use fibula::{Address, Prefix, Rib};

/// The index that ends a chain. It is past the end of every prefix vector, so reading it finds
/// nothing.
pub(super) const NO_COVER: u32 = u32::MAX;

// Each base string adds at most one chain, of a cover for each length.
const _: () = assert!(MAX_NODES * (u128::BITS as u64) < NO_COVER as u64);

/// A route that covers no other: what the leaves of the trie refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base<A, W> {
    /// The bits of its prefix, then zeros.
    pub(super) string: A,
    /// The longest route that covers it, in the prefix vector, or [`NO_COVER`].
    pub(super) above: u32,
    /// Its answer.
    pub(super) next_hop: W,
    /// The length of its prefix.
    pub(super) len: u8,
}

const _: () = assert!(size_of::<Base<u32, u16>>() == 12 && size_of::<Base<u32, u32>>() == 16);
const _: () = assert!(size_of::<Base<u128, u32>>() == 32);

impl<A: Address, W> Base<A, W> {
    pub(super) fn prefix(&self) -> Prefix<A> {
        Prefix::containing(self.string, self.len)
    }
}

/// A route that covers others. Its bits are those of every base string whose chain leads here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cover<W> {
    /// The next shorter route that covers it, or [`NO_COVER`].
    pub(super) above: u32,
    /// Its answer.
    pub(super) next_hop: W,
    /// The length of its prefix.
    pub(super) len: u8,
}

const _: () = assert!(size_of::<Cover<u16>>() == 8 && size_of::<Cover<u32>>() == 12);

/// The two vectors.
#[derive(Clone, Debug)]
pub(super) struct Strings<A: Address, W: Width> {
    /// The routes that cover no other, in order. Never empty, see [`Strings::of`].
    pub(super) bases: Array<Base<A, W>>,
    /// The routes that cover others, in order.
    pub(super) covers: Array<Cover<W>>,
}

impl<A: Address, W: Width> Strings<A, W> {
    /// Returns the vectors of a table. An empty table gets a base string of length 0 without a next
    /// hop, so that no lookup must test for it. O(n).
    pub(super) fn of(rib: &Rib<A>, pages: Pages) -> Self {
        let mut strings = Self { bases: Array::new(pages), covers: Array::new(pages) };
        strings.bases.set_capacity(rib.len().max(1));
        // The covers of the current route, each with its index, shortest first.
        let mut above: Vec<(Prefix<A>, u32)> = Vec::new();
        let mut routes = rib.iter().peekable();
        while let Some(route) = routes.next() {
            let (prefix, next_hop, len) = (route.prefix, W::narrow(route.next_hop), route.prefix.len());
            while above.pop_if(|(cover, _)| !cover.covers(prefix)).is_some() {}
            let cover = above.last().map_or(NO_COVER, |&(_, index)| index);
            // In this order, what a prefix covers comes directly after it.
            if routes.peek().is_some_and(|next| prefix.covers(next.prefix)) {
                above.push((prefix, strings.covers.len() as u32));
                strings.covers.push(Cover { above: cover, next_hop, len });
            } else {
                strings.bases.push(Base { string: prefix.first(), above: cover, next_hop, len });
            }
        }
        if strings.bases.is_empty() {
            strings.bases.push(Base { string: A::ZERO, above: NO_COVER, next_hop: W::default(), len: 0 });
        }
        strings.bases.shrink_to_fit();
        strings.covers.shrink_to_fit();
        strings
    }

    /// Iterates over the covers of a base string, longest first.
    pub(super) fn chain(&self, base: &Base<A, W>) -> impl Iterator<Item = &Cover<W>> {
        let at = |index: u32| self.covers.get(index as usize);
        std::iter::successors(at(base.above), move |cover| at(cover.above))
    }
}
