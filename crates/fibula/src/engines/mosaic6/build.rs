//! Writing blocks by a plan, and giving them back.

use super::plan::{Plan, Split, fits_bucket};
use super::segments::{Node, Segments};
use super::word::{ANSWER, BUCKET_CELLS_MAX, Cell, Word, cells_for, fill_bucket};
use super::{LAST_LEVEL, STEPS, WINDOW};
use crate::blocks::chunks::SharedPool;
use crate::engine::{Cost, Width};
use crate::memory::Shareable;
use crate::{Limit, NextHop};
use std::marker::PhantomData;
use zerocopy::IntoBytes;

/// Writes the blocks of a subtree beside what is there.
pub(super) struct Writer<'w, W> {
    pub(super) blocks: &'w mut SharedPool<Cell>,
    pub(super) cost: &'w mut Cost,
    width: PhantomData<W>,
}

/// The words of an array as they are made.
struct Slots {
    /// How many arrays the batch path takes after this one.
    left: usize,
    words: Vec<u32>,
}

impl<'w, W: Width> Writer<'w, W> {
    pub(super) fn new(blocks: &'w mut SharedPool<Cell>, cost: &'w mut Cost) -> Self {
        Self { blocks, cost, width: PhantomData }
    }

    /// Plans a node that is reached through so many arrays, writes its blocks and returns the word that leads to them.
    pub(super) fn write(&mut self, segments: &Segments, node: Node, arrays: usize) -> Result<u32, Limit> {
        let left = STEPS.saturating_sub(arrays);
        let plan = Plan::of::<W>(segments, node, left);
        self.node(segments, node, &plan.0, left)
    }

    /// `left` is how many arrays the batch path takes from here.
    fn node(&mut self, segments: &Segments, node: Node, plan: &[Split], left: usize) -> Result<u32, Limit> {
        if node.bounds() == 0 {
            return self.uniform(segments.value(node));
        }
        match plan.first() {
            None => self.bucket(segments, node),
            Some(split) => {
                let stride = split.strides[left];
                let mut slots =
                    Slots { left: left.saturating_sub(1), words: Vec::with_capacity(1 << stride) };
                self.slots(segments, node, plan, stride, &mut slots)?;
                let (cells, _) = slots.words.as_chunks();
                let base = self.insert(cells)?;
                self.cost.entries_set += slots.words.len() as u64;
                Ok(Word::Array { stride, base }.pack())
            }
        }
    }

    /// The words of the nodes `levels` below one, in order.
    fn slots(
        &mut self,
        segments: &Segments,
        node: Node,
        plan: &[Split],
        levels: u8,
        slots: &mut Slots,
    ) -> Result<(), Limit> {
        if levels == 0 {
            slots.words.push(self.node(segments, node, plan, slots.left)?);
            return Ok(());
        }
        if node.bounds() == 0 && segments.value(node) & ANSWER != 0 {
            let words = &mut slots.words;
            words.resize(words.len() + (1 << levels), segments.value(node));
            return Ok(());
        }
        let halves = segments.halves(node);
        let mut below = plan.get(1..).unwrap_or_default();
        for half in halves {
            let planned = half.bounds() > 0 && !plan.is_empty() && !fits_bucket::<W>(segments, half);
            let nodes = if planned { below[0].nodes as usize } else { 0 };
            let (own, rest) = below.split_at(nodes);
            self.slots(segments, half, own, levels - 1, slots)?;
            below = rest;
        }
        Ok(())
    }

    fn uniform(&mut self, value: u32) -> Result<u32, Limit> {
        if value & ANSWER != 0 {
            return Ok(value);
        }
        let base = self.insert(&[[value, 0]])?;
        self.cost.entries_set += 1;
        Ok(Word::Beyond { base }.pack())
    }

    fn bucket(&mut self, segments: &Segments, node: Node) -> Result<u32, Limit> {
        let cells = cells_for::<W>(node.bounds()).expect("the plan has counted the keys");
        let mut bucket = [Cell::default(); BUCKET_CELLS_MAX];
        let bucket = &mut bucket[..cells];
        let keys = segments.starts[node.lo..node.hi].iter().map(|&start| key(start, node.depth));
        fill_bucket::<W>(bucket.as_mut_bytes(), keys, |at| {
            NextHop(segments.values[node.lo - 1 + at] ^ ANSWER)
        });
        let base = self.insert(bucket)?;
        self.cost.chunks_rebuilt += 1;
        Ok(Word::Bucket { cells, base }.pack())
    }

    fn insert(&mut self, block: &[Cell]) -> Result<usize, Limit> {
        self.cost.nodes_allocated += 1;
        self.blocks.insert(block)
    }
}

/// The bits of a /48 that are a bucket's key at a depth.
pub(super) fn key(start: u64, depth: u8) -> u16 {
    let left_aligned = start << (64 - LAST_LEVEL) << depth;
    (left_aligned >> (64 - WINDOW)) as u16
}

/// The /48 whose key at a depth is this, in a node by its first.
pub(super) fn start(key: u16, first: u64, depth: u8) -> u64 {
    let left_aligned = u64::from(key) << (64 - WINDOW) >> depth;
    first | left_aligned >> (64 - LAST_LEVEL)
}

/// The words of a block of so many cells from a base on, each as it is now.
pub(super) fn words_of(
    blocks: &SharedPool<Cell>,
    base: usize,
    cells: usize,
) -> impl ExactSizeIterator<Item = u32> {
    blocks[base..base + cells].as_flattened().iter().map(u32::load)
}

/// Gives back the block that a word leads to, and all below. O(blocks).
pub(super) fn release(blocks: &mut SharedPool<Cell>, word: u32) {
    let word = Word::unpack(word);
    let Some((base, cells)) = word.block() else { return };
    if let Word::Array { .. } = word {
        for at in 2 * base..2 * (base + cells) {
            let below = u32::load(&blocks.as_flattened()[at]);
            release(blocks, below);
        }
    }
    blocks.remove(base, cells);
}

/// The cells of the block that a word leads to, and of all below. O(blocks).
pub(super) fn cells_below(blocks: &SharedPool<Cell>, word: u32) -> usize {
    let word = Word::unpack(word);
    let Some((base, cells)) = word.block() else { return 0 };
    match word {
        Word::Array { .. } => {
            let below = words_of(blocks, base, cells).map(|below| cells_below(blocks, below));
            cells + below.sum::<usize>()
        }
        _ => cells,
    }
}

/// Moves the block that a word leads to, and all below, into another pool.
pub(super) fn moved(from: &SharedPool<Cell>, word: u32, to: &mut SharedPool<Cell>) -> Result<u32, Limit> {
    let unpacked = Word::unpack(word);
    let Some((base, cells)) = unpacked.block() else { return Ok(word) };
    let words = words_of(from, base, cells);
    let words: Vec<u32> = match unpacked {
        Word::Array { .. } => words.map(|below| moved(from, below, to)).collect::<Result<_, _>>()?,
        _ => words.collect(),
    };
    let (block, _) = words.as_chunks();
    Ok(unpacked.at(to.insert(block)?).pack())
}
