//! Writing blocks by a plan.

use super::blocks::Blocks;
use super::plan::{Plan, Split, fits_bucket};
use super::segments::{Node, Segments};
use super::word::{ANSWER, Spot, Word};
use super::{LAST_LEVEL, STEPS, WINDOW};
use crate::Limit;
use crate::engine::{Cost, Width};

/// Writes the blocks of a subtree beside those that exist.
pub(super) struct Writer<'w, W: Width> {
    pub(super) blocks: &'w mut Blocks<W>,
    pub(super) cost: &'w mut Cost,
    /// The number of arrays written that the batch path does not take.
    pub(super) detours: usize,
}

/// The words of an array while they are being made.
struct Slots {
    /// The number of arrays that the batch path takes after this one.
    left: usize,
    words: Vec<u32>,
}

impl<'w, W: Width> Writer<'w, W> {
    pub(super) fn new(blocks: &'w mut Blocks<W>, cost: &'w mut Cost) -> Self {
        Self { blocks, cost, detours: 0 }
    }

    /// Plans `node`, writes its blocks and returns the word that leads to them. `arrays` is the
    /// number of arrays above the node.
    pub(super) fn write(&mut self, segments: &Segments, node: Node, arrays: usize) -> Result<u32, Limit> {
        let left = STEPS.saturating_sub(arrays);
        let plan = Plan::of::<W>(segments, node, left);
        self.node(segments, node, &plan.0, left)
    }

    /// Writes a node by its `plan` and returns its word. `left` is the number of arrays that the
    /// batch path takes from here.
    fn node(&mut self, segments: &Segments, node: Node, plan: &[Split], left: usize) -> Result<u32, Limit> {
        if node.bounds() == 0 {
            return self.uniform(segments, node);
        }
        match plan.first() {
            None => self.bucket(segments, node),
            Some(split) => {
                let stride = split.strides[left];
                self.detours += usize::from(left == 0);
                let mut slots =
                    Slots { left: left.saturating_sub(1), words: Vec::with_capacity(1 << stride) };
                self.slots(segments, node, plan, stride, &mut slots)?;
                let (cells, _) = slots.words.as_chunks();
                let base = self.blocks.arrays.insert(cells)?;
                self.cost.nodes_allocated += 1;
                self.cost.entries_set += slots.words.len() as u64;
                Ok(Word::Array { stride, base }.pack())
            }
        }
    }

    /// Makes the words of the nodes `levels` below a node, in order.
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
        if node.bounds() == 0 && !segments.has_longer(node) {
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

    fn uniform(&mut self, segments: &Segments, node: Node) -> Result<u32, Limit> {
        if segments.has_longer(node) { self.bucket(segments, node) } else { Ok(segments.value(node)) }
    }

    fn bucket(&mut self, segments: &Segments, node: Node) -> Result<u32, Limit> {
        self.cost.chunks_rebuilt += 1;
        let spot = self.insert(&pairs(segments, node))?;
        Ok(Word::Bucket { spot, longer: segments.has_longer(node) }.pack())
    }

    fn insert(&mut self, pairs: &[(u16, u32)]) -> Result<Spot, Limit> {
        self.cost.nodes_allocated += 1;
        self.blocks.lines.insert(pairs)
    }
}

/// Returns the intervals of a node as its bucket holds them.
pub(super) fn pairs(segments: &Segments, node: Node) -> Vec<(u16, u32)> {
    let starts = segments.starts[node.lo..node.hi].iter();
    let ends = starts.map(|&start| key(start, node.depth) - 1).chain([u16::MAX]);
    ends.zip(segments.values[node.lo - 1..node.hi].iter().map(|value| value ^ ANSWER)).collect()
}

/// Returns the bits of a /48 that are its key in a bucket at `depth`.
pub(super) fn key(start: u64, depth: u8) -> u16 {
    let left_aligned = start << (64 - LAST_LEVEL) << depth;
    (left_aligned >> (64 - WINDOW)) as u16
}

/// Returns the /48 that has this `key` in a bucket at `depth`. `first` is the first /48 of the
/// bucket's node.
pub(super) fn start(key: u16, first: u64, depth: u8) -> u64 {
    let left_aligned = u64::from(key) << (64 - WINDOW) >> depth;
    first | left_aligned >> (64 - LAST_LEVEL)
}
