//! Updates: the smallest subtree around a change is written again beside the old one, then one word
//! points to it.

use super::blocks::Blocks;
use super::build::{Writer, pairs, start};
use super::lines::slots;
use super::plan::fits_bucket;
use super::segments::{Node, Segments, number, number_past};
use super::word::{ANSWER, CELLS_MAX, Word, array_cells, as_array};
use super::{LAST_LEVEL, Mosaic6, ROOT_BITS, STEPS};
use crate::blocks::fallback::{Routes, Step, steps};
use crate::engine::{Cost, Update, Width};
use crate::engines::terrace::{self, TerraceView};
use crate::rib::OfLengths;
use crate::{Address, Delta, Error, Limit, NextHop, Prefix, Rib};
use std::sync::Arc;

/// A slot of the root is planned again when its blocks have grown by a `1 / GROWN` part, or that
/// part of its bounds has gone. A constant slack leaves small slots alone.
const GROWN: usize = 4;
const GROWN_BYTES: usize = 512;
const GROWN_BOUNDS: usize = 64;

/// The routes below a prefix from which on the gaps between them are counted, and the gaps up to
/// which each is painted by itself.
const MANY_ROUTES: usize = 1024;
const FEW_GAPS: usize = 16;

/// The bookkeeping of a slot of the root: its size when it was planned, and now.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRecord {
    /// Bytes when it was planned.
    planned: usize,
    /// Bytes now.
    pub(super) now: usize,
    /// Bounds when it was planned.
    bounds: usize,
    /// Routes withdrawn since, less those announced.
    withdrawn: isize,
}

impl SlotRecord {
    pub(super) fn of(bytes: usize, bounds: usize) -> Self {
        Self { planned: bytes, now: bytes, bounds, withdrawn: 0 }
    }

    /// Returns whether a new plan would save much.
    fn stale(&self) -> bool {
        self.now > self.planned + self.planned / GROWN + GROWN_BYTES
            || self.withdrawn > (self.bounds / GROWN + GROWN_BOUNDS).cast_signed()
    }
}

/// Where a word is stored.
#[derive(Clone, Copy)]
enum Place {
    Root(usize),
    Block(usize),
}

impl<W: Width> Mosaic6<W> {
    pub(super) fn follow(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        let longer = || deltas.iter().filter(|delta| delta.prefix.len() > LAST_LEVEL);
        let is_shared = self.blocks.is_shared();
        let steps = steps(rib, deltas, is_shared);
        if !self.blocks.have_room(deltas.len())
            || is_shared && (longer().next().is_some() || self.blocks.are_full_of_holes())
        {
            return Update::Rebuild;
        }
        self.cost = Cost::default();
        if longer().next().is_some() && self.follow_longer(rib.at_least(LAST_LEVEL + 1), longer()).is_err() {
            return Update::Rebuild;
        }
        for step in steps.into_iter().flatten() {
            match step {
                Step::Table(routes) if self.follow_routes(&routes, deltas).is_err() => {
                    return Update::Rebuild; // no room is left beside what readers still use
                }
                Step::Table(_) => {}
                Step::Default => self.fallback.follow(rib),
            }
        }
        if !is_shared && self.blocks.are_full_of_holes() {
            self.compact();
        }
        Update::Applied(self.cost)
    }

    /// Follows changes of all routes but the default route.
    fn follow_routes(&mut self, routes: &Routes<'_, u128>, deltas: &[Delta<u128>]) -> Result<(), Limit> {
        for delta in routes.changes(deltas) {
            let is_longer = delta.prefix.len() > LAST_LEVEL;
            if is_longer { self.mark(routes, delta) } else { self.follow_cover(routes, delta) }?;
        }
        Ok(())
    }

    /// Follows a change of a route that is in the trie. Below a prefix with many routes, only the
    /// parts that none of them fills are painted again, if they are few.
    fn follow_cover(&mut self, routes: &Routes<'_, u128>, delta: &Delta<u128>) -> Result<(), Limit> {
        let (prefix, rib) = (delta.prefix, routes.rib());
        let mut withdrawn = isize::from(delta.before.is_some()) - isize::from(delta.after.is_some());
        if rib.covered(prefix).nth(MANY_ROUTES).is_some() {
            let gaps = rib.at_most(LAST_LEVEL).gaps(prefix).take(FEW_GAPS + 1);
            let gaps: Vec<(u128, u128)> = gaps.collect();
            if gaps.len() <= FEW_GAPS {
                let parts = gaps.into_iter().flat_map(|(first, last)| Prefix::fewest(first, last));
                return parts.into_iter().try_for_each(|part| {
                    let changed = Segments::of(routes, part);
                    self.follow_part(routes, part, &changed, std::mem::take(&mut withdrawn))
                });
            }
        }
        self.follow_part(routes, prefix, &self.changed(routes, delta), withdrawn)
    }

    /// Fits the trie to the table in a prefix, which has the intervals `changed` now. `withdrawn`
    /// are the routes withdrawn there, less those announced.
    fn follow_part(
        &mut self,
        routes: &Routes<'_, u128>,
        prefix: Prefix<u128>,
        changed: &Segments,
        withdrawn: isize,
    ) -> Result<(), Limit> {
        if prefix.len() <= ROOT_BITS {
            self.repaint_slots(changed, prefix)
        } else {
            self.repaint(routes, prefix, changed, withdrawn)
        }
    }

    /// Follows changes of longer routes in the terrace, or builds it again.
    fn follow_longer<'d>(
        &mut self,
        routes: OfLengths<'_, u128>,
        deltas: impl Iterator<Item = &'d Delta<u128>> + Clone,
    ) -> Result<(), Error> {
        let longer = Arc::make_mut(&mut self.view.longer);
        match longer.follow(routes, deltas) {
            Some(cost) => self.cost = cost,
            None => *longer = TerraceView::build_at_most(terrace::LINES_MAX, routes, self.pages)?,
        }
        Ok(())
    }

    /// Updates the trie after a change of a longer route: only whether the word that is reached
    /// says that there are longer routes. O(log n), and for a withdrawn route a walk over those of
    /// its node up to the first longer one.
    fn mark(&mut self, routes: &Routes<'_, u128>, delta: &Delta<u128>) -> Result<(), Limit> {
        let address = delta.prefix.first();
        let slot = address.bits(0, ROOT_BITS) as usize;
        let (mut place, mut depth) = (Place::Root(slot), ROOT_BITS);
        while let Some((stride, first)) = as_array(self.word(place)) {
            place = Place::Block(first + address.bits(depth, stride) as usize);
            depth += stride;
        }
        let before = self.blocks.used();
        let node = Prefix::containing(address, depth);
        let of_longer = routes.rib().at_least(LAST_LEVEL + 1);
        let longer = delta.after.is_some() || of_longer.covered(node).next().is_some();
        let word = match Word::unpack(self.word(place)) {
            Word::Answer(next_hop) if longer => {
                Word::Bucket { spot: self.blocks.lines.insert(&[(u16::MAX, next_hop.0)])?, longer }
            }
            Word::Bucket { spot, longer: was } if longer != was => {
                let mut pairs = self.blocks.lines.pairs(spot);
                match (pairs.next(), pairs.next()) {
                    (Some((_, answer)), None) => {
                        drop(pairs);
                        self.blocks.lines.remove(spot);
                        Word::Answer(NextHop(answer))
                    }
                    _ => Word::Bucket { spot, longer },
                }
            }
            _ => return Ok(()),
        };
        self.set(place, word.pack());
        if self.blocks.used() > before {
            self.bookkeeping.entry(slot).or_insert(SlotRecord::of(0, 0));
        }
        if self.record(slot, before, 0) {
            let segments = Segments::of(routes, Prefix::containing(address, ROOT_BITS));
            return self.write_slot(&segments, segments.node(ROOT_BITS), slot);
        }
        Ok(())
    }

    /// Fits all root slots within `prefix` to its intervals.
    fn repaint_slots(&mut self, segments: &Segments, prefix: Prefix<u128>) -> Result<(), Limit> {
        let mut nodes = segments.below(segments.node(prefix.len()));
        let slot = |address: u128| address.bits(0, ROOT_BITS) as usize;
        for slot in slot(prefix.first())..=slot(prefix.last()) {
            let node = nodes.next((slot as u64) << (LAST_LEVEL - ROOT_BITS), ROOT_BITS);
            self.repaint_slot(segments, node, slot)?;
        }
        Ok(())
    }

    /// Fits a slot of the root to the table. Its arrays stay, unless a new plan is better.
    fn repaint_slot(&mut self, segments: &Segments, node: Node, slot: usize) -> Result<(), Limit> {
        if as_array(self.root.get(slot)).is_none() {
            return self.write_slot(segments, node, slot);
        }
        let before = self.blocks.used();
        let detours = self.refit(segments, node, Place::Root(slot), 0)?;
        let is_stale = self.record(slot, before, 0);
        if detours > 0 || is_stale { self.write_slot(segments, node, slot) } else { Ok(()) }
    }

    /// Plans and writes a slot of the root again.
    pub(super) fn write_slot(&mut self, segments: &Segments, node: Node, slot: usize) -> Result<(), Limit> {
        let word = self.root.get(slot);
        if segments.are_all(node, word) {
            return Ok(());
        }
        let before = self.blocks.used();
        let mut writer = Writer::new(&mut self.blocks, &mut self.cost);
        let word = writer.write(segments, node, 0)?;
        let bytes = self.blocks.used() - before;
        self.publish(Place::Root(slot), word, 0);
        if bytes > 0 {
            self.bookkeeping.insert(slot, SlotRecord::of(bytes, node.bounds()));
        } else {
            self.bookkeeping.remove(&slot);
        }
        Ok(())
    }

    /// Updates the trie after a change of a route, in a prefix longer than those of the root, which
    /// has the intervals `changed` now.
    fn repaint(
        &mut self,
        routes: &Routes<'_, u128>,
        prefix: Prefix<u128>,
        changed: &Segments,
        withdrawn: isize,
    ) -> Result<(), Limit> {
        let slot = prefix.first().bits(0, ROOT_BITS) as usize;
        let before = self.blocks.used();
        let mut path = Vec::with_capacity(STEPS);
        let (mut place, mut depth) = (Place::Root(slot), ROOT_BITS);
        let mut detours = 0;
        while let Some((stride, first)) = as_array(self.word(place)) {
            path.push((place, depth));
            let at = first + prefix.first().bits(depth, stride) as usize;
            depth += stride;
            if prefix.len() < depth {
                detours = self.write_part(changed, prefix, depth, at, path.len())?;
                break;
            }
            place = Place::Block(at);
        }
        if as_array(self.word(place)).is_none() {
            let around = Prefix::containing(prefix.first(), depth);
            let segments = match self.written(self.word(place), around) {
                Some(written) => written
                    .with(changed, number_past(prefix), number_past(around))
                    .noting(routes.rib(), around),
                None => Segments::of(routes, around),
            };
            if depth == ROOT_BITS {
                return self.write_slot(&segments, segments.node(depth), slot);
            }
            detours = self.write_node(&segments, segments.node(depth), place, path.len())?;
        }
        // A plan from further up can mostly make arrays longer instead of adding one. The root is
        // never planned again here: one slot may hold half of the table.
        let mut arrays = path.len();
        while detours > 0 && (2..=STEPS).contains(&arrays) {
            arrays -= 1;
            path.truncate(arrays + 1);
            let (place, depth) = path[arrays];
            let segments = Segments::of(routes, Prefix::containing(prefix.first(), depth));
            detours += self.write_node(&segments, segments.node(depth), place, arrays)?;
        }
        self.collapse(path);
        if self.record(slot, before, withdrawn) {
            let segments = Segments::of(routes, Prefix::containing(prefix.first(), ROOT_BITS));
            return self.write_slot(&segments, segments.node(ROOT_BITS), slot);
        }
        Ok(())
    }

    /// Notes what has become of the blocks of a slot, all of which took `before` bytes. Returns
    /// whether a new plan would save much.
    fn record(&mut self, slot: usize, before: usize, withdrawn: isize) -> bool {
        let grown = self.blocks.used().cast_signed() - before.cast_signed();
        let Some(record) = self.bookkeeping.get_mut(&slot) else { return false };
        record.now = record.now.saturating_add_signed(grown);
        record.withdrawn += withdrawn;
        if record.now == 0 {
            self.bookkeeping.remove(&slot);
            return false;
        }
        record.stale()
    }

    /// Returns the intervals of the prefix of a route that has changed.
    fn changed(&self, routes: &Routes<'_, u128>, delta: &Delta<u128>) -> Segments {
        // No route is longer, so there is no need to search below a route of the last level.
        if delta.prefix.len() == LAST_LEVEL && delta.after.is_some() && self.view.longer.is_uniform() {
            return Segments::uniform(number(delta.prefix.first()), ANSWER | delta.after.0);
        }
        Segments::of(routes, delta.prefix)
    }

    /// Returns the intervals of `node` as recorded by its `word`, which leads to no array. Returns
    /// `None` if the word does not tell them.
    fn written(&self, word: u32, node: Prefix<u128>) -> Option<Segments> {
        let first = number(node.first());
        match Word::unpack(word) {
            Word::Answer(_) => Some(Segments::uniform(first, word)),
            Word::Bucket { spot, .. } => {
                let mut segments = Segments::with_capacity(slots::<W>());
                let mut first_key = 0;
                for (end, answer) in self.blocks.lines.pairs(spot) {
                    segments.push(start(first_key, first, node.len()), ANSWER | answer);
                    first_key = end.wrapping_add(1);
                }
                Some(segments)
            }
            Word::Array { .. } => None,
        }
    }

    /// Writes the words of a prefix in an array again, from index `words` on. Their nodes are of
    /// `depth` bits, `arrays` arrays down. Returns how many more arrays there are than before that
    /// the batch path does not take.
    fn write_part(
        &mut self,
        segments: &Segments,
        prefix: Prefix<u128>,
        depth: u8,
        words: usize,
        arrays: usize,
    ) -> Result<isize, Limit> {
        let first = number(prefix.first());
        let mut nodes = segments.below(segments.node(prefix.len()));
        let mut detours = 0;
        for at in 0..1 << (depth - prefix.len()) {
            let node = nodes.next(first + ((at as u64) << (LAST_LEVEL - depth)), depth);
            detours += self.refit(segments, node, Place::Block(words + at), arrays)?;
        }
        Ok(detours)
    }

    /// Makes what the word at `place`, `arrays` arrays down, leads to that of `node`. Arrays that
    /// are needed stay as long as they are, so that nothing is planned. Returns how many more
    /// arrays there are than before that the batch path does not take.
    fn refit(
        &mut self,
        segments: &Segments,
        node: Node,
        place: Place,
        arrays: usize,
    ) -> Result<isize, Limit> {
        let array = as_array(self.word(place)).filter(|_| node.bounds() > 0);
        let Some((stride, words)) = array else { return self.write_node(segments, node, place, arrays) };
        let depth = node.depth + stride;
        let mut nodes = segments.below(node);
        let mut detours = 0;
        for at in 0..1 << stride {
            let below = nodes.next(node.first + ((at as u64) << (LAST_LEVEL - depth)), depth);
            detours += self.refit(segments, below, Place::Block(words + at), arrays + 1)?;
        }
        Ok(detours)
    }

    /// Writes the block of a node again and makes its word, `arrays` arrays down, point to it.
    /// Returns how many more arrays there are than before that the batch path does not take.
    fn write_node(
        &mut self,
        segments: &Segments,
        node: Node,
        place: Place,
        arrays: usize,
    ) -> Result<isize, Limit> {
        let word = self.word(place);
        if segments.are_all(node, word) || self.overwrite(segments, node, word) {
            return Ok(0);
        }
        let mut writer = Writer::new(&mut self.blocks, &mut self.cost);
        let word = writer.write(segments, node, arrays)?;
        let detours = writer.detours.cast_signed();
        Ok(detours - self.publish(place, word, arrays).cast_signed())
    }

    /// Writes the intervals of a node over the bucket that its `word` leads to. Returns whether it
    /// did: not if they need another block.
    fn overwrite(&mut self, segments: &Segments, node: Node, word: u32) -> bool {
        let has_longer = segments.has_longer(node);
        let spot = match Word::unpack(word) {
            Word::Bucket { spot, longer } if longer == has_longer && fits_bucket::<W>(segments, node) => spot,
            _ => return false,
        };
        if node.bounds() == 0 && !has_longer {
            return false;
        }
        let done = self.blocks.lines.overwrite(spot, &pairs(segments, node));
        self.cost.chunks_rebuilt += u64::from(done);
        done
    }

    /// Replaces each array of the path whose words all have one answer by that answer, from the
    /// last array up.
    fn collapse(&mut self, path: Vec<(Place, u8)>) {
        for (place, _) in path.into_iter().rev() {
            let Some((stride, first)) = as_array(self.word(place)) else { continue };
            let answer = self.word(Place::Block(first));
            let is_uniform = self.blocks.words(first / 2, array_cells(stride)).all(|word| word == answer);
            if answer & ANSWER == 0 || !is_uniform {
                break;
            }
            self.publish(place, answer, 0);
        }
    }

    fn word(&self, place: Place) -> u32 {
        match place {
            Place::Root(slot) => self.root.get(slot),
            Place::Block(at) => self.blocks.word(at),
        }
    }

    fn set(&mut self, place: Place, word: u32) {
        self.cost.entries_set += 1;
        match place {
            Place::Root(slot) => self.root.set(slot, word),
            Place::Block(at) => self.blocks.set_word(at, word),
        }
    }

    /// Stores `word` at `place`, `arrays` arrays down, and frees the subtree that the old word led
    /// to. Returns the number of freed arrays that the batch path did not take.
    fn publish(&mut self, place: Place, word: u32, arrays: usize) -> usize {
        let before = self.word(place);
        self.set(place, word);
        self.blocks.release(before, arrays)
    }

    /// Packs the blocks. O(trie), rarely.
    fn compact(&mut self) {
        let mut blocks = Blocks::new(CELLS_MAX, self.pages);
        for (&slot, record) in &self.bookkeeping {
            // What is in use fits, because it did with the holes in between.
            let word = self.blocks.moved(self.root.get(slot), &mut blocks).expect("less than before");
            debug_assert_eq!(blocks.bytes_below(word), record.now);
            self.root.set(slot, word);
        }
        blocks.shrink_to_fit();
        self.blocks = blocks;
    }
}
