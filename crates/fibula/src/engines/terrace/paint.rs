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
        let Some(&Piece::Hosts { network, .. }) = pieces.peek() else {
            pieces.next_if(|piece| matches!(piece, Piece::Networks { last, .. } if *last <= end));
            trees.fell(before);
            return Ok(word);
        };
        let spans = std::iter::from_fn(|| match *pieces.peek()? {
            Piece::Hosts { network: same, first, last } if same == network => {
                pieces.next();
                Some(Span { first, last })
            }
            _ => None,
        });
        trees.paint_hosts(before, Plain { spans: spans.peekable(), word })
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
        while let Some(span) = strokes.peek() {
            leaf = leaf.max(self.blocks.interval_of(origin, levels, span.first) as usize);
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
                return self.replace_leaves(tree, (first, leaf), old, new);
            }
            leaf += 1;
        }
        Ok(tree)
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

    /// Paints strokes on a /64 that has the word `before`, and returns its word then. The tree
    /// inside is planted when the first bound appears, and felled when the last one goes.
    pub(super) fn paint_hosts<I: Iterator<Item = Span>>(
        &mut self,
        before: u32,
        mut strokes: Plain<I>,
    ) -> Result<u32, Limit> {
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
        let tree = self.paint(Handle::unpack(before), &mut strokes)?;
        let Some(answer) = self.only_word(tree) else { return Ok(tree.pack()) };
        self.fell(tree.pack());
        Ok(answer)
    }
}
