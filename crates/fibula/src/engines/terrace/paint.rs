//! Painting: a changed prefix has another answer where no more-specific route is, and only there.
//!
//! The intervals of a block and the strokes on it are walked side by side. Where the bounds stay,
//! answers are written over the old ones, and nothing else is.

use super::block::Blocks;
use super::handle::{Handle, MARK};
use super::tree::Trees;
use crate::Limit;
use crate::blocks::linear_tree::{Intervals, Piece};
use std::iter::Peekable;

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

/// Strokes of one word.
#[derive(Debug)]
pub(super) struct Plain<I: Iterator<Item = Span>> {
    pub spans: Peekable<I>,
    pub word: u32,
}

impl<I: Iterator<Item = Span>, const LEAF: u32> Strokes<LEAF> for Plain<I> {
    fn peek(&mut self) -> Option<Span> {
        self.spans.peek().copied()
    }

    fn paint(&mut self, _: &mut Trees<LEAF>, _: u32, end: u64) -> Result<u32, Limit> {
        self.spans.next_if(|span| span.last <= end);
        Ok(self.word)
    }
}

/// Strokes of one next hop on the tree of /64s. Those inside a /64 are painted on its own tree.
#[derive(Debug)]
pub(super) struct OnNetworks<P: Iterator<Item = Piece>> {
    pub pieces: Peekable<P>,
    pub next_hop: u32,
}

impl<P: Iterator<Item = Piece>, const LEAF: u32> Strokes<LEAF> for OnNetworks<P> {
    fn peek(&mut self) -> Option<Span> {
        Some(match *self.pieces.peek()? {
            Piece::Networks { first, last } => Span { first, last },
            Piece::Hosts { network, .. } => Span { first: network, last: network },
        })
    }

    fn paint(&mut self, trees: &mut Trees<LEAF>, before: u32, end: u64) -> Result<u32, Limit> {
        let (pieces, word) = (&mut self.pieces, self.next_hop);
        match pieces.peek() {
            Some(&Piece::Hosts { network, .. }) => {
                let spans = std::iter::from_fn(|| match *pieces.peek()? {
                    Piece::Hosts { network: same, first, last } if same == network => {
                        pieces.next();
                        Some(Span { first, last })
                    }
                    _ => None,
                });
                trees.paint_hosts(before, Plain { spans: spans.peekable(), word })
            }
            _ => {
                pieces.next_if(|piece| matches!(piece, Piece::Networks { last, .. } if *last <= end));
                trees.fell(before);
                Ok(word)
            }
        }
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
        self.merge(old, 0, strokes, new)?;
        if new.ends == old.ends {
            self.write_answers(tree.origin, old, new);
            return Ok(tree);
        }
        self.write_root(tree, new)
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
        let leaf_at = |blocks: &Blocks, key| blocks.interval_of(origin, levels, key) as usize;
        let begins = |blocks: &Blocks, leaf: usize| match leaf.checked_sub(1) {
            Some(before) => blocks.end_of(origin, levels, before) + 1,
            None => 0,
        };
        let mut leaf = 0;
        while let Some(span) = strokes.peek() {
            leaf = leaf.max(leaf_at(&self.blocks, span.first));
            old.clear();
            new.clear();
            self.read_leaf(tree, leaf, leaves, old);
            self.merge(old, begins(&self.blocks, leaf), strokes, new)?;
            let block = self.blocks.answer_of(origin, leaf as u32);
            if new.ends == old.ends {
                self.write_answers(block, old, new);
            } else if (Self::FEWEST..=Self::FULL.capacity).contains(&new.len()) {
                // The block ends where it ended, so the ends in the directory stay as they are.
                let moved = self.write_leaf(block, new)?;
                self.blocks.set_answer(origin, leaf as u32, moved);
            } else {
                // From here on the blocks are replaced together: one after the other, each would
                // move the rest of the directory.
                let first = leaf;
                while strokes.peek().is_some() {
                    leaf += 1;
                    old.clear();
                    self.read_leaf(tree, leaf, leaves, old);
                    self.merge(old, begins(&self.blocks, leaf), strokes, new)?;
                }
                return self.replace_leaves(tree, (first, leaf), old, new);
            }
            leaf += 1;
        }
        Ok(tree)
    }

    /// Appends to `new` the intervals of `old`, the first of which begins at `begins`, with strokes
    /// painted on them.
    fn merge(
        &mut self,
        old: &Intervals<u32>,
        begins: u64,
        strokes: &mut impl Strokes<LEAF>,
        new: &mut Intervals<u32>,
    ) -> Result<(), Limit> {
        let mut start = begins;
        for (end, word) in old.iter() {
            let mut is_whole = false;
            while let Some(span) = strokes.peek().filter(|span| !is_whole && span.first <= end) {
                if span.first > start {
                    new.join(span.first - 1, word);
                }
                let last = span.last.min(end);
                new.join(last, strokes.paint(self, word, end)?);
                is_whole = last == end;
                start = last.wrapping_add(1);
            }
            if !is_whole {
                new.join(end, word);
            }
            start = end.wrapping_add(1);
        }
        Ok(())
    }

    /// Writes the answers of a block that differ from those that it has.
    fn write_answers(&mut self, origin: u32, old: &Intervals<u32>, new: &Intervals<u32>) {
        self.written += u64::from(new.answers != old.answers);
        for (interval, (&before, &after)) in (0..).zip(old.answers.iter().zip(&new.answers)) {
            if before != after {
                self.blocks.set_answer(origin, interval, after);
            }
        }
    }

    /// Paints strokes on a /64 that has the word `before`, and returns its word then. The tree
    /// inside is planted when the first bound appears, and felled when the last one goes.
    pub(super) fn paint_hosts<I: Iterator<Item = Span>>(
        &mut self,
        before: u32,
        mut strokes: Plain<I>,
    ) -> Result<u32, Limit> {
        if before & MARK == 0 {
            let whole = Intervals { ends: vec![u64::MAX], answers: vec![before] };
            let mut hosts = Intervals::default();
            self.merge(&whole, 0, &mut strokes, &mut hosts)?;
            if let [answer] = hosts.answers[..] {
                return Ok(answer);
            }
            self.marked += 1;
            return Ok(self.plant(&hosts)?.pack());
        }
        let word = self.paint(Handle::unpack(before), &mut strokes)?.pack();
        match self.only_word(Handle::unpack(word)) {
            Some(answer) => {
                self.fell(word);
                Ok(answer)
            }
            None => Ok(word),
        }
    }
}
