//! Updates: the intervals of each changed prefix are replaced by those of the table.

use super::handle::{Handle, MARK};
use super::tree::Span;
use super::view::TerraceView;
use crate::blocks::linear_tree::{Intervals, halves};
use crate::engine::{Cost, Width};
use crate::rib::OfLengths;
use crate::{Delta, Limit, Prefix};

/// The length of the prefixes that end where a /64 does.
const NETWORK_BITS: u8 = 64;

/// The free lines that are never worth a rebuild: 1 MiB.
const FREE_IGNORED: usize = 1 << 14;

impl<W: Width, const LEAF: u32> TerraceView<W, LEAF> {
    /// Follows changes of the routes that the table is made of. Returns `None`, and changes
    /// nothing, if it is to be built again.
    pub(in crate::engines) fn follow<'d>(
        &mut self,
        routes: OfLengths<'_, u128>,
        deltas: impl Iterator<Item = &'d Delta<u128>> + Clone,
    ) -> Option<Cost> {
        let needed: usize = deltas.clone().map(|delta| self.lines_needed(routes, delta.prefix)).sum();
        // There may be room all the same. A build finds out, and names the limit if there is none.
        let lines = &self.trees.blocks.lines;
        let is_wasteful = lines.free_total() > FREE_IGNORED.max(lines.len() / 2);
        if is_wasteful || (lines.len() + needed) as u64 > lines.max() {
            return None;
        }
        self.trees.written = 0;
        for delta in deltas {
            let (first, last) = (halves(delta.prefix.first()), halves(delta.prefix.last()));
            let result = if delta.prefix.len() <= NETWORK_BITS {
                self.replace_networks(routes, delta.prefix, Span { first: first.0, last: last.0 })
            } else {
                self.replace_hosts(routes, delta.prefix, first.0, Span { first: first.1, last: last.1 })
            };
            result.expect("there is room, as was checked");
        }
        Some(Cost { chunks_rebuilt: self.trees.written, ..Cost::default() })
    }

    /// Returns a bound of the lines that the change of a prefix allocates.
    fn lines_needed(&self, routes: OfLengths<'_, u128>, prefix: Prefix<u128>) -> usize {
        let intervals = 2 * routes.covered(prefix).count() + 3;
        // A planted tree takes at most two lines for each interval.
        let mut lines = self.trees.lines_needed(self.root, intervals) + 2 * intervals;
        if prefix.len() > NETWORK_BITS {
            let word = self.trees.word_of(self.root, halves(prefix.first()).0);
            if word & MARK != 0 {
                lines += self.trees.lines_needed(Handle::unpack(word), intervals);
            }
        }
        lines
    }

    /// Replaces the intervals of a prefix of whole /64s.
    fn replace_networks(
        &mut self,
        routes: OfLengths<'_, u128>,
        prefix: Prefix<u128>,
        span: Span,
    ) -> Result<(), Limit> {
        self.trees.free_within(self.root, span);
        let networks = self.trees.intervals_of(routes.ranges_within(prefix))?;
        self.root = self.trees.splice(self.root, span, &networks)?;
        Ok(())
    }

    /// Replaces the intervals of a prefix inside `network`, a /64.
    fn replace_hosts(
        &mut self,
        routes: OfLengths<'_, u128>,
        prefix: Prefix<u128>,
        network: u64,
        span: Span,
    ) -> Result<(), Limit> {
        let mut hosts = Intervals::default();
        let word = self.trees.word_of(self.root, network);
        let ranges = routes.ranges_within(prefix).map(|range| (halves(range.last).1, range.next_hop.0));
        if word & MARK == 0 {
            if span.first > 0 {
                hosts.push(span.first - 1, word);
            }
            ranges.for_each(|(end, answer)| hosts.join(end, answer));
            if span.last < u64::MAX {
                hosts.join(u64::MAX, word);
            }
            if hosts.len() > 1 {
                let tree = self.trees.plant(&hosts)?;
                self.replace_network(network, tree.pack())?;
            }
            return Ok(());
        }
        ranges.for_each(|(end, answer)| hosts.push(end, answer));
        let trees = &mut self.trees;
        let tree = trees.splice(Handle::unpack(word), span, &hosts)?;
        if tree.pack() != word {
            trees.set_word(self.root, network, tree.pack());
        }
        // The last bound inside has gone.
        match trees.only_word(tree) {
            Some(answer) => self.replace_network(network, answer),
            None => Ok(()),
        }
    }

    /// Replaces what answers for one /64.
    fn replace_network(&mut self, network: u64, word: u32) -> Result<(), Limit> {
        let new = Intervals { ends: vec![network], answers: vec![word] };
        self.root = self.trees.splice(self.root, Span { first: network, last: network }, &new)?;
        Ok(())
    }
}
