//! Updates: whether changes fit into the room of a shared table, and the order in which they are
//! published.

use super::below::Below;
use super::tiles::Tiles;
use super::touched::Touched;
use super::{IN_TILES, Mosaic, ROOT_BITS, SLOTS, TILE_END, slot_of};
use crate::blocks::fallback::{Routes, Step, steps};
use crate::engine::{Cost, Update, Width};
use crate::{Delta, Prefix, Rib};

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Mosaic<W, F, B> {
    /// Follows the table.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let shared = self.tiles.is_shared();
        let steps = steps(rib, deltas, shared);
        let paintings: [_; 3] = std::array::from_fn(|at| {
            let routes = steps[at].as_ref().and_then(Step::routes)?;
            Some((routes, Painting::of(routes, deltas)))
        });
        if shared && !self.has_room(paintings.iter().flatten().map(|(_, painting)| painting), deltas) {
            return Update::Rebuild;
        }
        let mut cost = Cost::default();
        for (step, painting) in steps.iter().zip(&paintings) {
            match (step, painting) {
                (_, Some((routes, Painting { touched, prefixes }))) => {
                    cost += touched.paint(self, routes, prefixes);
                }
                (Some(_), None) => self.fallback.follow(rib),
                (None, None) => {}
            }
        }
        if !shared {
            let blocks = self.below.is_sparse().then(|| self.below.compact()).flatten();
            if blocks.is_some() || self.tiles.is_sparse() {
                self.compact(blocks.as_deref());
            }
            self.show();
        }
        Update::Applied(cost)
    }

    /// Returns the number of marks in the tiles that these prefixes touch. O(tiles).
    pub(super) fn marked(&self, prefixes: &[Prefix<u32>]) -> usize {
        let slots = prefixes.iter().flat_map(|prefix| slot_of(prefix.first())..=slot_of(prefix.last()));
        let mut last = None;
        let marked = |slot: usize| {
            let tile = self.root.get(slot);
            let (_, marks) = match last {
                Some(known @ (same, _)) if same == tile => known,
                _ => (tile, self.tile(slot).iter().filter(|entry| entry.widen().0 >= B::MARK).count()),
            };
            last = Some((tile, marks));
            marks
        };
        slots.map(marked).sum()
    }

    /// Returns whether changes are sure to fit in the room that a shared table has.
    fn has_room<'p>(
        &self,
        paintings: impl Iterator<Item = &'p Painting> + Clone,
        deltas: &[Delta<u32>],
    ) -> bool {
        let slots = |prefix: &Prefix<u32>| SLOTS >> prefix.len().min(ROOT_BITS);
        // In each pass a tile for each slot, and one that holds an answer everywhere.
        let tiles = |painting: &Painting| painting.prefixes.iter().map(slots).sum::<usize>() + 1;
        let tiles: usize = paintings.clone().map(tiles).sum();
        let painted = paintings.clone().map(|painting| painting.touched.count()).sum();
        let marked = || paintings.map(|painting| self.marked(&painting.prefixes)).sum();
        let is_mark = |delta: &Delta<u32>| delta.after.0 == B::MARK && delta.prefix.len() >= IN_TILES;
        let longer = deltas.iter().filter(|delta| delta.prefix.len() > TILE_END).count();
        self.tiles.room() > tiles + self.below.most_marked_again(longer)
            && !self.tiles.is_wasteful()
            && self.below.has_room(longer, painted, marked)
            && !deltas.iter().any(is_mark)
    }
}

/// What is painted in one pass: /24s in prefixes.
struct Painting {
    touched: Touched,
    prefixes: Vec<Prefix<u32>>,
}

impl Painting {
    fn of(routes: &Routes<'_, u32>, deltas: &[Delta<u32>]) -> Self {
        let whole = |prefix: Prefix<u32>| Prefix::containing(prefix.first(), prefix.len().min(TILE_END));
        let prefixes = Prefix::outermost(routes.changes(deltas).map(|delta| whole(delta.prefix)));
        Self { touched: Touched::by(routes.rib(), routes.changes(deltas)), prefixes }
    }
}
