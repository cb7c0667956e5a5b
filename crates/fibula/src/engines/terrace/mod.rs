//! `terrace`: fibula's own engine for IPv6 tables of host routes that change, the search of
//! PlanB (Zhang, Liu, et al., NSDI 2026) in a tree of blocks with room in them.
//!
//! # Layout
//! The routes of a table cut the numbers of /64s into elementary intervals, each with one answer. A
//! /64 with bounds inside is an interval by itself. It is marked, and it has a tree of its own for
//! the low 64 bits. All trees are in one array of lines of 64 bytes, as blocks:
//!
//! ```text
//!          lines of answers          origin        lines of nodes
//! +----------------------------------+----------+----------+--   --+-----------+
//! |      ... answer 1, answer 0, len |  node 0  |  node 1  |  ...  |   leaf    |
//! +----------------------------------+----------+----------+--   --+-----------+
//!     words of 32 bits, backwards      eight ends of 64 bits in each
//!
//!             0        1              7
//!         +--------+--------+-- - --+--------+
//! node    | end 0  | end 1  |       | end 7  |    64 bytes; ends that are not there are 2^64 - 1
//!         +--------+--------+-- - --+--------+
//! child   0        1        2       7        8    9 n + 0 to 9 n + 8 on the next level
//! ```
//!
//! - A **block** is a linearised tree of *k* levels with up to 9^*k* intervals. End *i* of a node
//!   is the last number of its child *i*. A search takes the child that has as many before it as
//!   there are ends below the key. It compares all eight at once, and nothing jumps on the result.
//! - Nodes follow the origin and answers go before it, so both are found from the origin alone, and
//!   a block is only as long as its intervals need.
//! - A **tree** is one block of up to 729 intervals, or a directory: a block whose answers are the
//!   origins of leaf blocks. A leaf block always has three levels, for up to 729 intervals. So a
//!   search takes two blocks at most, and all leaf blocks take the same steps.
//! - An answer is a next hop, or the handle of a tree, which says all that a search needs:
//!
//! ```text
//!   31 30   29   27 26                       0
//! +---+---+--------+--------------------------+
//! | 0 |              next hop                 |
//! | 1 | d | levels |          origin          |    d: the root block is a directory
//! +---+---+--------+--------------------------+
//! ```
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:0:1::/64 with 2, 2001:db8:0:1::7/128 with 3. There are
//! five intervals of /64s. The third is 2001:db8:0:1::/64, which is marked and has three:
//!
//! ```text
//! line 0    len 3, answers 2 3 2                      the tree of 2001:db8:0:1::/64
//! line 1    6 7, then 2^64 - 1
//! line 2    len 5, answers 0 1 88000001 1 0           the tree of /64s
//! line 3    20010db7ffffffff 20010db800000000 20010db800000001 20010db8ffffffff, then 2^64 - 1
//! ```
//! For 2001:db8:0:1::7 two ends are below 20010db800000001. The third answer has the mark, and
//! names a tree of one level at line 1. One end is below 7, and the second answer of that tree is
//! 3.
//!
//! # Batches
//! A block of 32 addresses goes down the first tree in lockstep, one level after the other, so 32
//! cache lines are loaded at once. Addresses in marked /64s wait until there are 32 of them. They
//! go down their trees in lockstep too. An address whose tree has fewer levels stays where it is
//! until the others are there.
//!
//! # Updates
//! A change of a route has another answer only in the gaps: the parts of its prefix that no
//! more-specific route fills. The next hop of the prefix is painted there. Each leaf block below is
//! read once, and gaps and intervals are walked side by side:
//!
//! - If all bounds stay, only the answers are written. A cover that comes over other next hops ends
//!   here.
//! - If equal neighbours join or split and what remains fits the block that it came from, that
//!   block is written again. It ends where it ended, so the ends in the directory do not change. It
//!   moves where its last 81 intervals begin or end.
//! - Otherwise this block and all others below the prefix that follow it are replaced by as many as
//!   are needed, at most seven eighths full, and the directory is written again. A block that
//!   overflows, or is less than a quarter full, is first put together with its neighbours: three
//!   full blocks become four, which are filled up on both sides of the change.
//! - A gap inside a /64 is painted on the tree of that /64 in the same way. That tree is planted
//!   when the first bound appears inside the /64, and gives way to a plain interval when the last
//!   bound goes. A tree of one level whose bounds stay is painted in place, and prefetched some
//!   intervals ahead.
//!
//! Freed lines are reused. Where more than half of the lines are free, the table is built again.
//!
//! So a change of a host costs one or two blocks, however long the table is. A change of a cover
//! reads what it covers, and writes what differs.
//!
//! # Limits
//! Next hops up to [`NEXT_HOPS_MAX`]; 2^27 lines, which is 8 GiB.
//!
//! # Design choices
//! - One array of lines instead of nodes and answers apart: one number names a block.
//! - A block has as many lines as its intervals need, rounded up to 81 intervals in leaf blocks.
//!   With lines for 729 whatever it held, half of a block that has just split would be unused.
//! - A build fills a leaf block to seven eighths, so that not all blocks split at the first
//!   changes, except where the directory would get another level by that.
//! - 32-bit answers at every width of next hops, because a handle needs them.

mod batch;
mod block;
mod build;
mod handle;
mod paint;
mod snapshot;
#[cfg(test)]
mod tests;
mod tree;
mod update;
mod validate;
mod view;

pub(super) use block::LINES;
pub(super) use handle::LINES_MAX;
pub(super) use snapshot::Names;
pub(crate) use view::TerraceView;

use crate::blocks::linear_tree::CHILDREN;
use crate::engine::{About, Config, Engine, Estimate, Figure, LimitInfo, Persistence, Update, Updates};
use crate::memory::Memory;
use crate::{Delta, Error, Rib};

/// The greatest next-hop index: the 31 bits of an answer beside the mark.
pub(crate) const NEXT_HOPS_MAX: u32 = handle::MARK - 1;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "terrace",
    paper: "fibula's own: linearised B+-trees in blocks that change in place",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: LINES, max: LINES_MAX }],
    next_hops_max: NEXT_HOPS_MAX,
    estimate: |survey, isa| {
        let ns = (2.3 * survey.levels_of(CHILDREN) - 4.0).max(2.7)
            + 2.2 * survey.share_longer_than(48)
            + 5.0 * survey.share_longer_than(64);
        Estimate { ns, bytes: 50 * survey.routes() }.on(isa, 2.95)
    },
    ..About::DEFAULT
};

/// The levels of a leaf block.
const LEAF_LEVELS: u32 = 3;

/// The engine; see the [module](self). A leaf block has `LEAF` levels.
#[derive(Clone, Debug)]
pub(crate) struct Terrace<const LEAF: u32 = LEAF_LEVELS> {
    view: TerraceView<LEAF>,
}

impl<const LEAF: u32> Engine<u128> for Terrace<LEAF> {
    type View = TerraceView<LEAF>;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        TerraceView::build_at_most(LINES_MAX, rib.at_least(0), config.pages).map(|view| Self { view })
    }

    fn view(&self) -> &TerraceView<LEAF> {
        &self.view
    }

    fn copied(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        self.view.follow(rib.at_least(0), deltas.iter()).map_or(Update::Rebuild, Update::Applied)
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("lines", self.view.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        self.view.count()
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.view.check(rib.at_least(0))
    }

    fn persistence() -> Option<Persistence<Self, u128>> {
        Some(Persistence::of_engine())
    }
}
