//! [`Ranges`]: a table as disjoint address intervals, the canonical form that range engines compile.

use super::Rib;
use crate::{Address, NextHop, Prefix};
use std::collections::btree_map;
use std::iter::Peekable;

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

/// The intervals of a table in order, without gap or overlap, neighbours always different.
///
/// One walk over the routes with a stack of the covers that are still open.
///
/// ```
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("0.0.0.0/0".parse()?, NextHop(1));
/// rib.insert("10.0.0.0/8".parse()?, NextHop(2));
/// rib.insert("10.1.0.0/16".parse()?, NextHop(2)); // a child with its parent's next hop makes no range
/// let ranges: Vec<_> = rib.ranges().map(|r| (r.first, r.next_hop.0)).collect();
/// assert_eq!(ranges, [(0, 1), (0x0A00_0000, 2), (0x0B00_0000, 1)]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ranges<'a, A: Address> {
    /// The routes not yet reached.
    routes: Peekable<btree_map::Range<'a, Prefix<A>, NextHop>>,
    /// The covers around [`Self::at`], outermost first: where each ends and what it answers. The first
    /// stands for everything outside the walked prefix's own routes.
    open: Vec<(A, NextHop)>,
    /// Where the next piece begins; `None` when all has been walked.
    at: Option<A>,
    /// The interval that an equal neighbour may still extend.
    pending: Option<Range<A>>,
}

impl<'a, A: Address> Ranges<'a, A> {
    pub(super) fn new(rib: &'a Rib<A>, within: Prefix<A>) -> Self {
        let above = rib.parent(within).map_or(NextHop::NONE, |route| route.next_hop);
        Self {
            routes: rib.routes.range(within..=Prefix::host(within.last())).peekable(),
            open: vec![(within.last(), above)],
            at: Some(within.first()),
            pending: None,
        }
    }

    /// The next piece with one innermost cover; equal neighbours are not merged yet.
    fn piece(&mut self) -> Option<Range<A>> {
        let first = self.at?;
        while let Some((prefix, next_hop)) = self.routes.next_if(|(prefix, _)| prefix.first() == first) {
            self.open.push((prefix.last(), *next_hop));
        }
        let &(end, next_hop) = self.open.last()?;
        let last = match self.routes.peek().and_then(|(prefix, _)| prefix.first().previous()) {
            Some(before_next) if before_next < end => before_next,
            _ => end,
        };
        while self.open.last().is_some_and(|&(end, _)| end == last) {
            self.open.pop();
        }
        self.at = if self.open.is_empty() { None } else { last.next() };
        Some(Range { first, last, next_hop })
    }
}

impl<A: Address> Iterator for Ranges<'_, A> {
    type Item = Range<A>;

    fn next(&mut self) -> Option<Range<A>> {
        while let Some(piece) = self.piece() {
            match &mut self.pending {
                Some(range) if range.next_hop == piece.next_hop => range.last = piece.last,
                pending => {
                    if let Some(range) = pending.replace(piece) {
                        return Some(range);
                    }
                }
            }
        }
        self.pending.take()
    }
}
