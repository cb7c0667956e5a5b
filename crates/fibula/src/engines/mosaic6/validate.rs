//! The structural check.

use super::build::{key, words_of};
use super::segments::{Node, Segments};
use super::word::{ANSWER, Word, bucket_pairs, keys_in};
use super::{LAST_LEVEL, Mosaic6, ROOT_BITS};
use crate::engine::Width;
use crate::{NextHop, Prefix, Rib};
use std::collections::BTreeMap;

/// A walk over the whole trie.
struct Walk<'w, W: Width> {
    engine: &'w Mosaic6<W>,
    segments: Segments,
    reached: Vec<bool>,
}

impl<W: Width> Mosaic6<W> {
    /// Walks every word: each block is in the pool and led to once, each answer is the table's, each bucket holds just
    /// the bounds of its node; no cell in use was left out, and the books of the slots are right.
    pub(super) fn check(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.blocks.validate()?;
        let segments = Segments::of(rib, Prefix::ALL);
        let mut walk = Walk { engine: self, segments, reached: vec![false; self.blocks.len()] };
        let mut books = BTreeMap::new();
        let mut total = 0;
        for (slot, word) in self.root.to_vec().into_iter().enumerate() {
            let first = (slot as u64) << (LAST_LEVEL - ROOT_BITS);
            let node = walk.segments.within(walk.segments.node(0), first, ROOT_BITS);
            let cells = walk.visit(word, node)?;
            if cells > 0 {
                books.insert(slot, cells);
            }
            total += cells;
        }
        let kept: BTreeMap<usize, usize> =
            self.books.iter().map(|(&slot, books)| (slot, books.now)).collect();
        if kept != books {
            return Err(format!("the books of the slots say {kept:?}, the slots {books:?}"));
        }
        let used = self.used() - super::lookup::PADDING;
        if total != used {
            return Err(format!("{used} cells are in use, {total} reached"));
        }
        self.longer.validate(rib.iter().filter(|route| route.prefix.len() > LAST_LEVEL))
    }
}

impl<W: Width> Walk<'_, W> {
    /// Checks what a word leads to and returns how many cells that is.
    fn visit(&mut self, word: u32, node: Node) -> Result<usize, String> {
        let value = self.segments.value(node);
        let at = || format!("{}", node.prefix());
        let unpacked = Word::unpack(word);
        let cells = self.mark(unpacked).map_err(|wrong| format!("{}: {wrong}", at()))?;
        match unpacked {
            Word::Answer(_) if node.bounds() == 0 && word == value => Ok(0),
            Word::Beyond { base } => {
                let [next_hop, _] = self.engine.blocks.get(base);
                let right = node.bounds() == 0 && value & ANSWER == 0 && next_hop == value;
                if right { Ok(cells) } else { Err(format!("{}: longer routes, or {next_hop}", at())) }
            }
            Word::Bucket { base, cells } => {
                self.check_bucket(base, cells, node).map_err(|wrong| format!("{}: {wrong}", at()))?;
                Ok(cells)
            }
            Word::Array { stride, base } if node.depth + stride <= LAST_LEVEL => {
                let mut below = cells;
                for (at, word) in words_of(&self.engine.blocks, base, cells).enumerate() {
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

    /// Marks the cells of a word's block as reached.
    fn mark(&mut self, word: Word) -> Result<usize, String> {
        let Some((base, cells)) = word.block() else { return Ok(0) };
        let Some(reached) = self.reached.get_mut(base..base + cells) else {
            return Err(format!("{word:?} of {}", self.engine.blocks.len()));
        };
        if reached.iter_mut().any(|reached| std::mem::replace(reached, true)) {
            return Err(format!("two words lead to {word:?}"));
        }
        Ok(cells)
    }

    /// Compares a bucket with the bounds of its node.
    fn check_bucket(&self, base: usize, cells: usize, node: Node) -> Result<(), String> {
        let (blocks, segments) = (&self.engine.blocks, &self.segments);
        let room = keys_in::<W>(cells);
        if node.bounds() > room {
            return Err(format!("{} bounds in a bucket for {room}", node.bounds()));
        }
        let bounds = &segments.starts[node.lo..node.hi];
        for (at, (found, answer)) in bucket_pairs::<W>(&blocks[base..base + cells]).enumerate() {
            // The first answer is that before the first key.
            if let Some(at) = at.checked_sub(1) {
                let expected = bounds.get(at).map_or(u16::MAX, |&start| key(start, node.depth));
                if found != expected {
                    return Err(format!("key {at} is {found:#x}, expected {expected:#x}"));
                }
            }
            let expected = segments.values[node.lo - 1 + at.min(node.bounds())];
            if ANSWER | answer != expected {
                return Err(format!("answer {at} is {:?}, expected {expected:#x}", NextHop(answer)));
            }
        }
        Ok(())
    }
}
