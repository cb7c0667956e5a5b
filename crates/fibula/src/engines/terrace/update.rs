//! Updates: the next hop of each changed prefix is painted where no more-specific route is.

use super::handle::{Handle, MARK};
use super::paint::{InNetwork, OnNetworks, Once, Span};
use super::view::TerraceView;
use crate::blocks::linear_tree::halves;
use crate::engine::Cost;
use crate::rib::OfLengths;
use crate::{Delta, Limit, Prefix};

/// The length of the prefixes that end where a /64 does.
const NETWORK_BITS: u8 = 64;

/// The free lines that are never worth a rebuild: 1 MiB.
const FREE_IGNORED: usize = 1 << 14;

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Follows changes of the routes that the table is made of. Returns `None`, and changes
    /// nothing, if it is to be built again.
    pub(in crate::engines) fn follow<'d>(
        &mut self,
        routes: OfLengths<'_, u128>,
        deltas: impl Iterator<Item = &'d Delta<u128>> + Clone,
    ) -> Option<Cost> {
        // There may be room all the same. A build finds out, and names the limit if there is none.
        let lines = &self.trees.blocks.lines;
        let is_wasteful = lines.free_total() > FREE_IGNORED.max(lines.len() / 2);
        if is_wasteful || !self.has_room(routes, deltas.clone()) {
            return None;
        }
        self.trees.written = 0;
        for delta in deltas {
            self.repaint(routes, delta.prefix).expect("there is room, as was checked");
        }
        Some(Cost { chunks_rebuilt: self.trees.written, ..Cost::default() })
    }

    /// Returns whether changes are sure to fit.
    fn has_room<'d>(
        &self,
        routes: OfLengths<'_, u128>,
        deltas: impl Iterator<Item = &'d Delta<u128>> + Clone,
    ) -> bool {
        let lines = &self.trees.blocks.lines;
        let fit = |needed: usize| (lines.len() + needed) as u64 <= lines.max();
        // Counting the routes below a cover takes longer than most of its change, so they are
        // counted only where all routes might not fit.
        let of_all = |delta: &Delta<u128>| self.lines_needed(delta.prefix, routes.len_at_most());
        let of_covered =
            |delta: &Delta<u128>| self.lines_needed(delta.prefix, routes.covered(delta.prefix).count());
        fit(deltas.clone().map(of_all).sum()) || fit(deltas.map(of_covered).sum())
    }

    /// Returns a bound of the lines that the change of a prefix which covers `covered` routes
    /// allocates.
    fn lines_needed(&self, prefix: Prefix<u128>, covered: usize) -> usize {
        let intervals = 2 * covered + 3;
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

    /// Paints the next hop of a prefix on all of it that no more-specific route fills. Where others
    /// change in the same batch, the order does not matter: what is painted is always what the
    /// table says in the end.
    fn repaint(&mut self, routes: OfLengths<'_, u128>, prefix: Prefix<u128>) -> Result<(), Limit> {
        let mut strokes = OnNetworks::new(routes.gaps(prefix), routes.next_hop_of(prefix).0);
        if prefix.len() <= NETWORK_BITS {
            self.root = self.trees.paint(self.root, &mut strokes)?;
            return Ok(());
        }
        let network = halves(prefix.first()).0;
        let before = self.trees.word_of(self.root, network);
        let word = self.trees.paint_hosts(before, InNetwork { strokes: &mut strokes, network })?;
        if before & word & MARK != 0 {
            self.trees.set_word(self.root, network, word);
        } else if before != word {
            let span = Span { first: network, last: network };
            self.root = self.trees.paint(self.root, &mut Once { span, word, is_over: false })?;
        }
        Ok(())
    }
}
