//! The structural check.

use super::build::key;
use super::lines::{elements, pair_bytes, slots};
use super::segments::{Node, Segments};
use super::word::{ANSWER, CELL_BYTES, Spot, Word, array_cells};
use super::{LAST_LEVEL, Mosaic6, ROOT_BITS};
use crate::blocks::fallback::Routes;
use crate::engine::Width;
use crate::{NextHop, Prefix, Rib};
use std::collections::BTreeMap;

/// A walk over the whole trie.
struct Walk<'w, W: Width> {
    engine: &'w Mosaic6<W>,
    segments: Segments,
    /// Which cells of arrays, and which slots of lines, the walk has reached.
    cells: Vec<bool>,
    slots: Vec<bool>,
}

impl<W: Width> Mosaic6<W> {
    /// Walks every word and checks the trie against `rib`. Each block is in the pool and reached
    /// once. Each answer is the table's, and each bucket holds just the bounds of its node. No used
    /// block is left out, and the bookkeeping of the root slots is right.
    pub(super) fn check(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.fallback.validate(rib)?;
        self.blocks.arrays.validate()?;
        self.blocks.lines.validate()?;
        let segments = Segments::of(&Routes::of(rib), Prefix::ALL);
        let cells = vec![false; self.blocks.arrays.len()];
        let slots = vec![false; self.blocks.lines.elements().len() / elements::<W>() * slots::<W>()];
        let mut walk = Walk { engine: self, segments, cells, slots };
        let mut counted = BTreeMap::new();
        let mut total = 0;
        for (slot, word) in self.root.to_vec().into_iter().enumerate() {
            let first = (slot as u64) << (LAST_LEVEL - ROOT_BITS);
            let node = walk.segments.within(walk.segments.node(0), first, ROOT_BITS);
            let bytes = walk.visit(word, node)?;
            if bytes > 0 {
                counted.insert(slot, bytes);
            }
            total += bytes;
        }
        let kept: BTreeMap<usize, usize> =
            self.bookkeeping.iter().map(|(&slot, record)| (slot, record.now)).collect();
        if kept != counted {
            return Err(format!("the bookkeeping of the slots says {kept:?}, the slots {counted:?}"));
        }
        let used = self.blocks.used();
        if total != used {
            return Err(format!("{used} bytes are in use, {total} reached"));
        }
        self.view.longer.check(rib.at_least(LAST_LEVEL + 1))
    }
}

impl<W: Width> Walk<'_, W> {
    /// Checks what `word` leads to and returns its bytes.
    fn visit(&mut self, word: u32, node: Node) -> Result<usize, String> {
        let value = self.segments.value(node);
        let at = || format!("{}", node.prefix());
        let unpacked = Word::unpack(word);
        let bytes = self.mark(unpacked).map_err(|wrong| format!("{}: {wrong}", at()))?;
        match unpacked {
            Word::Answer(_) if self.segments.are_all(node, word) => Ok(0),
            Word::Bucket { spot, longer } if node.bounds() > 0 || longer => {
                if longer != self.segments.has_longer(node) {
                    return Err(format!("{}: a bucket says of longer routes: {longer}", at()));
                }
                self.check_bucket(spot, node).map_err(|wrong| format!("{}: {wrong}", at()))?;
                Ok(bytes)
            }
            Word::Array { stride, base } if node.depth + stride <= LAST_LEVEL => {
                let mut below = bytes;
                for (at, word) in self.engine.blocks.words(base, array_cells(stride)).enumerate() {
                    let depth = node.depth + stride;
                    let first = node.first + ((at as u64) << (LAST_LEVEL - depth));
                    below += self.visit(word, self.segments.within(node, first, depth))?;
                }
                Ok(below)
            }
            _ => Err(format!(
                "{}: {unpacked:?} where the table has {value:#x} and {} bounds",
                at(),
                node.bounds()
            )),
        }
    }

    /// Marks the cells or slots that `word` leads to as reached.
    fn mark(&mut self, word: Word) -> Result<usize, String> {
        let (all, first, count, bytes) = match word {
            Word::Answer(_) => return Ok(0),
            Word::Array { stride, base } => (&mut self.cells, base, array_cells(stride), CELL_BYTES),
            Word::Bucket { spot, .. } => {
                let first = spot.line * slots::<W>() + spot.slot as usize;
                if first >= self.slots.len() {
                    return Err(format!("{word:?} of {} slots", self.slots.len()));
                }
                let count = self.engine.blocks.lines.pairs(spot).count();
                (&mut self.slots, first, count, pair_bytes::<W>())
            }
        };
        let Some(reached) = all.get_mut(first..first + count) else {
            return Err(format!("{word:?} of {} cells", all.len()));
        };
        if reached.iter_mut().any(|reached| std::mem::replace(reached, true)) {
            return Err(format!("two words lead to {word:?}"));
        }
        Ok(count * bytes)
    }

    /// Compares a bucket with the bounds of its node.
    fn check_bucket(&self, spot: Spot, node: Node) -> Result<(), String> {
        let segments = &self.segments;
        let ends = segments.starts[node.lo..node.hi].iter().map(|&start| key(start, node.depth) - 1);
        let values = segments.values[node.lo - 1..node.hi].iter();
        let expected: Vec<_> = ends.chain([u16::MAX]).zip(values).collect();
        let pairs: Vec<_> = self.engine.blocks.lines.pairs(spot).collect();
        if pairs.len() != expected.len() {
            return Err(format!("{} intervals in a bucket, {} in the table", pairs.len(), expected.len()));
        }
        for (at, ((end, answer), (expected_end, &value))) in pairs.into_iter().zip(expected).enumerate() {
            if end != expected_end {
                return Err(format!("end {at} is {end:#x}, expected {expected_end:#x}"));
            }
            if ANSWER | answer != value {
                return Err(format!("answer {at} is {:?}, expected {value:#x}", NextHop(answer)));
            }
        }
        Ok(())
    }
}
