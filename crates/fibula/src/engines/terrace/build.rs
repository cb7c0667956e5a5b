//! The build: the intervals of a table as trees, in one pass over its ranges.

use super::handle::MARK;
use super::tree::Trees;
use super::view::TerraceView;
use crate::blocks::linear_tree::{Intervals, Piece, cut};
use crate::memory::Pages;
use crate::rib::{OfLengths, Range};
use crate::{Error, Limit, NextHop};

impl<const LEAF: u32> Trees<LEAF> {
    /// Returns ranges as intervals of /64s, and plants the tree of each /64 with bounds inside.
    /// O(n).
    pub(super) fn intervals_of(
        &mut self,
        ranges: impl Iterator<Item = Range<u128>>,
    ) -> Result<Intervals<u32>, Limit> {
        let (mut networks, mut hosts) = (Intervals::default(), Intervals::default());
        let mut result = Ok(());
        cut(ranges, |piece, NextHop(next_hop)| match piece {
            Piece::Networks { last, .. } => networks.push(last, next_hop),
            Piece::Hosts { network, last, .. } => {
                hosts.push(last, next_hop);
                if last == u64::MAX && result.is_ok() {
                    match self.plant(&hosts) {
                        Ok(tree) => networks.push(network, tree.pack()),
                        Err(limit) => result = Err(limit),
                    }
                    hosts.clear();
                }
            }
        });
        result.map(|()| networks)
    }
}

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Builds the table of some routes, or fails if it needs more than `lines_max` lines.
    pub(in crate::engines) fn build_at_most(
        lines_max: u64,
        routes: OfLengths<'_, u128>,
        pages: Pages,
    ) -> Result<Self, Error> {
        let mut trees = Trees::new(lines_max, pages);
        let networks = trees.intervals_of(routes.ranges())?;
        trees.marked = networks.answers.iter().filter(|&&word| word & MARK != 0).count();
        let root = trees.plant(&networks)?;
        trees.blocks.lines.shrink_to_fit();
        Ok(Self { trees, root })
    }
}
