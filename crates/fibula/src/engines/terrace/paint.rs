//! Painting: a changed prefix has another answer where no more-specific route is, and only there.
//!
//! The intervals of a block and the strokes on it are walked side by side. Where the bounds stay,
//! answers are written over the old ones, and nothing else is.

use super::block::Blocks;
use super::handle::{Handle, MARK};
use super::tree::Trees;
use crate::Limit;
use crate::arch::prefetch;
use crate::blocks::linear_tree::{Intervals, halves};
use crate::rib::Gaps;

/// Numbers that get another word: all from `first` to `last`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub first: u64,
    pub last: u64,
}

/// Spans in order, each with the word that it gets.
pub(super) trait Strokes<const LEAF: u32> {
    /// Returns the next span.
    fn peek(&mut self) -> Option<Span>;

    /// Returns the word of the part of the next span that is in an interval, which ends at `end`
    /// and had the word `before`. Goes on to the next span if this one ends there.
    fn paint(&mut self, trees: &mut Trees<LEAF>, before: u32, end: u64) -> Result<u32, Limit>;
}

/// One span that gets one word.
#[derive(Debug)]
pub(super) struct Once {
    pub span: Span,
    pub word: u32,
    pub is_over: bool,
}

impl<const LEAF: u32> Strokes<LEAF> for Once {
    fn peek(&mut self) -> Option<Span> {
        (!self.is_over).then_some(self.span)
    }

    fn paint(&mut self, _: &mut Trees<LEAF>, _: u32, end: u64) -> Result<u32, Limit> {
        self.is_over = self.span.last <= end;
        Ok(self.word)
    }
}

/// Strokes of one next hop on the tree of /64s: the gaps of a prefix, cut at the ends of the /64s
/// of which they are a part. A part of a /64 is painted on its own tree.
#[derive(Debug)]
pub(super) struct OnNetworks<'a> {
    gaps: Gaps<'a, u128>,
    /// What is left of the first gap that is not painted.
    first: u128,
    last: u128,
    is_over: bool,
    next_hop: u32,
}

impl<'a> OnNetworks<'a> {
    pub(super) fn new(mut gaps: Gaps<'a, u128>, next_hop: u32) -> Self {
        let next = gaps.next();
        let (first, last) = next.unwrap_or_default();
        Self { gaps, first, last, is_over: next.is_none(), next_hop }
    }

    /// Returns whether the next stroke is a part of one /64.
    #[inline(always)]
    fn is_inside(&self) -> bool {
        let ((network, from), (end, to)) = (halves(self.first), halves(self.last));
        from > 0 || network == end && to < u64::MAX
    }

    /// Goes on to what comes after the /64 `network`, in which or with which the stroke ends.
    #[inline(always)]
    fn pass(&mut self, network: u64) {
        if network < halves(self.last).0 {
            self.first = u128::from(network + 1) << 64;
        } else if let Some((first, last)) = self.gaps.next() {
            (self.first, self.last) = (first, last);
        } else {
            self.is_over = true;
        }
    }
}

impl<const LEAF: u32> Strokes<LEAF> for OnNetworks<'_> {
    #[inline(always)]
    fn peek(&mut self) -> Option<Span> {
        let ((network, _), (end, to)) = (halves(self.first), halves(self.last));
        let last = if self.is_inside() { network } else { end - u64::from(to < u64::MAX) };
        (!self.is_over).then_some(Span { first: network, last })
    }

    #[inline(always)]
    fn paint(&mut self, trees: &mut Trees<LEAF>, before: u32, end: u64) -> Result<u32, Limit> {
        if self.is_inside() {
            let network = halves(self.first).0;
            return trees.paint_hosts(before, InNetwork { strokes: self, network });
        }
        let next_hop = self.next_hop;
        if let Some(Span { last, .. }) = Strokes::<LEAF>::peek(self).filter(|span| span.last <= end) {
            self.pass(last);
        }
        trees.fell(before);
        Ok(next_hop)
    }
}

/// Those strokes that are inside one /64, on the tree of that /64.
#[derive(Debug)]
pub(super) struct InNetwork<'s, 'a> {
    pub strokes: &'s mut OnNetworks<'a>,
    pub network: u64,
}

impl<const LEAF: u32> Strokes<LEAF> for InNetwork<'_, '_> {
    #[inline(always)]
    fn peek(&mut self) -> Option<Span> {
        let OnNetworks { first, last, is_over, .. } = *self.strokes;
        let ((network, from), (end, to)) = (halves(first), halves(last));
        let last = if end > network { u64::MAX } else { to };
        (!is_over && network == self.network).then_some(Span { first: from, last })
    }

    #[inline(always)]
    fn paint(&mut self, _: &mut Trees<LEAF>, _: u32, end: u64) -> Result<u32, Limit> {
        if Strokes::<LEAF>::peek(self).is_some_and(|span| span.last <= end) {
            self.strokes.pass(self.network);
        }
        Ok(self.strokes.next_hop)
    }
}

impl<const LEAF: u32> Trees<LEAF> {
    /// Paints strokes on a tree, and joins equal neighbours in a block. Returns the tree as it is
    /// then.
    ///
    /// The caller has checked that there is [room](Self::lines_needed).
    pub(super) fn paint(&mut self, tree: Handle, strokes: &mut impl Strokes<LEAF>) -> Result<Handle, Limit> {
        let [mut old, mut new] = [(); 2].map(|()| self.scratch.pop().unwrap_or_default());
        let result = if tree.is_directory {
            self.paint_leaves(tree, strokes, &mut old, &mut new)
        } else {
            self.paint_root(tree, strokes, &mut old, &mut new)
        };
        for mut intervals in [old, new] {
            intervals.clear();
            self.scratch.push(intervals);
        }
        result
    }

    /// As [`paint`](Self::paint), on a tree that is one block.
    fn paint_root(
        &mut self,
        tree: Handle,
        strokes: &mut impl Strokes<LEAF>,
        old: &mut Intervals<u32>,
        new: &mut Intervals<u32>,
    ) -> Result<Handle, Limit> {
        self.blocks.read(tree.origin, tree.levels, u64::MAX, old);
        if self.merge(old, 0, strokes, new)? {
            return self.write_root(tree, new);
        }
        self.written += u64::from(self.blocks.write_answers(tree.origin, &old.answers));
        Ok(tree)
    }

    /// As [`paint`](Self::paint), on a tree with a directory.
    fn paint_leaves(
        &mut self,
        tree: Handle,
        strokes: &mut impl Strokes<LEAF>,
        old: &mut Intervals<u32>,
        new: &mut Intervals<u32>,
    ) -> Result<Handle, Limit> {
        let Handle { origin, levels, .. } = tree;
        let leaves = self.blocks.len_of(origin);
        let begins = |blocks: &Blocks, leaf: usize| match leaf.checked_sub(1) {
            Some(before) => blocks.end_of(origin, levels, before) + 1,
            None => 0,
        };
        let mut leaf = 0;
        while let Some(key) = strokes.peek().map(|span| span.first) {
            leaf = leaf.max(self.blocks.interval_of(origin, levels, key) as usize);
            old.clear();
            new.clear();
            self.read_leaf(tree, leaf, leaves, old);
            let block = self.blocks.answer_of(origin, leaf as u32);
            if !self.merge(old, begins(&self.blocks, leaf), strokes, new)? {
                self.written += u64::from(self.blocks.write_answers(block, &old.answers));
            } else if (Self::FEWEST..=Self::FULL.capacity).contains(&new.len()) {
                // The block ends where it ended, so the ends in the directory stay as they are.
                let moved = self.write_leaf(block, new)?;
                self.blocks.set_answer(origin, leaf as u32, moved);
            } else {
                // From here on the blocks are replaced together: one after the other, each would
                // move the rest of the directory.
                let first = leaf;
                while strokes.peek().is_some_and(|span| span.last > self.blocks.end_of(origin, levels, leaf))
                {
                    leaf += 1;
                    old.clear();
                    self.read_leaf(tree, leaf, leaves, old);
                    if !self.merge(old, begins(&self.blocks, leaf), strokes, new)? {
                        new.append(old, 0..old.len());
                    }
                }
                return self.replace_leaves(tree, (first, leaf), key, old, new);
            }
            leaf += 1;
        }
        Ok(tree)
    }

    /// The intervals that a tree is prefetched ahead: as many as are painted while memory is waited
    /// for.
    const AHEAD: usize = 16;

    /// Prefetches the lines of the tree that a word names, if it names one of one level.
    #[inline(always)]
    fn prefetch(&self, word: u32) {
        if word & MARK != 0 {
            let origin = Handle::unpack(word).origin as usize;
            prefetch(&self.blocks.lines, origin.wrapping_sub(1));
            prefetch(&self.blocks.lines, origin);
        }
    }

    /// Paints strokes on the intervals of `old`, the first of which begins at `begins`. Where all
    /// bounds stay, only the answers of `old` change. Otherwise appends to `new` the intervals as
    /// they are then. Returns whether it does.
    ///
    /// Nothing is copied before the first bound changes, and then what no stroke touches in one
    /// piece.
    fn merge(
        &mut self,
        old: &mut Intervals<u32>,
        begins: u64,
        strokes: &mut impl Strokes<LEAF>,
        new: &mut Intervals<u32>,
    ) -> Result<bool, Limit> {
        // The number of intervals that are in `new`, the one that strokes are painted on, where
        // that begins, and the part of it that is not in `new`.
        let (mut copied, mut at, mut begins) = (0, 0, begins);
        let mut start = begins;
        while at < old.len()
            && let Some(span) = strokes.peek()
        {
            if span.first > old.ends[at] {
                if start > begins {
                    new.join(old.ends[at], old.answers[at]);
                    copied = at + 1;
                }
                at = old.interval_of(span.first, at + 1);
                if at == old.len() {
                    break;
                }
                begins = old.ends[at - 1] + 1;
                start = begins;
            }
            if let Some(&ahead) = old.answers.get(at + Self::AHEAD) {
                self.prefetch(ahead);
            }
            let (end, before) = (old.ends[at], old.answers[at]);
            let word = strokes.paint(self, before, end)?;
            let previous = if at > copied { Some(old.answers[at - 1]) } else { new.answers.last().copied() };
            let is_whole = span.first <= begins && begins == start && span.last >= end;
            if is_whole && previous != Some(word) && old.answers.get(at + 1) != Some(&word) {
                old.answers[at] = word;
            } else {
                if begins == start {
                    new.append(old, copied..at);
                }
                if span.first > start {
                    new.join(span.first - 1, before);
                }
                new.join(span.last.min(end), word);
                copied = at + usize::from(span.last >= end);
            }
            if span.last >= end {
                at += 1;
                begins = end.wrapping_add(1);
                start = begins;
            } else {
                start = span.last + 1;
            }
        }
        if start > begins && at < old.len() {
            new.join(old.ends[at], old.answers[at]);
            copied = at + 1;
        }
        let is_changed = copied > 0;
        if is_changed {
            new.append(old, copied..old.len());
        }
        Ok(is_changed)
    }

    /// Paints strokes on a block of one level, as long as each is a whole interval that differs
    /// from its neighbours then. Those that are left begin with one that is not.
    fn paint_answers(&mut self, tree: Handle, strokes: &mut InNetwork<'_, '_>) {
        let (origin, last) = (tree.origin, self.blocks.len_of(tree.origin) - 1);
        let ends = self.blocks.lines[origin as usize];
        let end_of = |at: usize| if at < last { ends[at] } else { u64::MAX };
        let (mut at, mut begins, mut is_changed) = (0, 0, false);
        while let Some(span) = Strokes::<LEAF>::peek(strokes) {
            while end_of(at) < span.first {
                begins = end_of(at) + 1;
                at += 1;
            }
            if begins != span.first || end_of(at) != span.last {
                break;
            }
            let answer_of = |at: usize| self.blocks.answer_of(origin, at as u32);
            let (before, word) = (answer_of(at), strokes.strokes.next_hop);
            if at > 0 && answer_of(at - 1) == word || at < last && answer_of(at + 1) == word {
                break;
            }
            strokes.strokes.pass(strokes.network);
            self.blocks.set_answer(origin, at as u32, word);
            is_changed |= before != word;
        }
        self.written += u64::from(is_changed);
    }

    /// Paints strokes on a /64 that has the word `before`, and returns its word then. The tree
    /// inside is planted when the first bound appears, and felled when the last one goes.
    pub(super) fn paint_hosts(&mut self, before: u32, mut strokes: InNetwork<'_, '_>) -> Result<u32, Limit> {
        if before & MARK == 0 {
            let mut whole = Intervals { ends: vec![u64::MAX], answers: vec![before] };
            let mut hosts = Intervals::default();
            let is_cut = self.merge(&mut whole, 0, &mut strokes, &mut hosts)?;
            let hosts = if is_cut { hosts } else { whole };
            if let [answer] = hosts.answers[..] {
                return Ok(answer);
            }
            self.marked += 1;
            return Ok(self.plant(&hosts)?.pack());
        }
        let tree = Handle::unpack(before);
        if tree.levels == 1 && !tree.is_directory {
            self.paint_answers(tree, &mut strokes);
            if Strokes::<LEAF>::peek(&mut strokes).is_none() {
                return Ok(before);
            }
        }
        let tree = self.paint(tree, &mut strokes)?;
        let Some(answer) = self.only_word(tree) else { return Ok(tree.pack()) };
        self.fell(tree.pack());
        Ok(answer)
    }
}
