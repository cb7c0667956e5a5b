//! `planb`: the longest match as a search among the ends of intervals, in linearised B+-trees of
//! nodes of one cache line.
//!
//! Zhang, Liu, Chen, Li, Shu, Hsu and Zhang, "PlanB: Efficient Software IPv6 Lookup with Linearized
//! B+-Tree" (NSDI 2026, arXiv 2604.14650).
//!
//! # Layout
//! The routes of a table cut the numbers of /64s into elementary intervals, each with one answer. A
//! /64 with bounds inside is an interval by itself. It is marked, and it has a tree of its own for
//! the low 64 bits.
//!
//! ```text
//!             0        1              7
//!         +--------+--------+-- - --+--------+
//! node    | end 0  | end 1  |       | end 7  |    64 bytes; ends that are not there are 2^64 - 1
//!         +--------+--------+-- - --+--------+
//! child   0        1        2       7        8    9 n + 0 to 9 n + 8 on the next level
//!
//! inner nodes   the first tree, level by level from the root, then the other trees
//! leaves        as above; a child of a leaf is an interval
//! answers       one for each interval, as wide as the answers; the greatest for a marked /64
//! marks         | 64 bits | bits set before |    a bit for each interval of the first tree
//! trees         | inner | leaves | answers | levels |    where each tree begins
//! ```
//!
//! - Separator *i* of a node is the last number of its child *i*. The last child needs none. A
//!   search takes the child that has as many before it as there are separators below the key. It
//!   compares all eight at once, and nothing jumps on the result.
//! - A level is as long as its intervals need, and nothing points anywhere. So a tree of 9^*k*
//!   intervals has *k* levels. In trees of four levels or more, the levels above the last two are
//!   full, so that one number is enough to find the leaves. That adds at most an eighth to them.
//! - The rank of a mark is the number of the tree. It is read only where the answer is the greatest
//!   of its width, which a next hop may be too.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:0:1::/64 with 2, 2001:db8:0:1::7/128 with 3, in 8 bits.
//! There are five intervals of /64s. The third is 2001:db8:0:1::/64, which is marked and has three:
//!
//! ```text
//! leaf 0    20010db7ffffffff 20010db800000000 20010db800000001 20010db8ffffffff, then 2^64 - 1
//! leaf 1    6 7, then 2^64 - 1
//! answers   0 1 255 1 0, then 2 3 2
//! marks     00100, 0 before
//! trees     leaf 0, answer 0, 1 level; leaf 1, answer 5, 1 level
//! ```
//! For 2001:db8:0:1::7 two separators are below 20010db800000001. The third answer is 255, and the
//! third bit is the first that is set, so tree 1 goes on. One separator is below 7, and the second
//! answer of that tree is 3.
//!
//! # Batches
//! A block of 16 addresses goes down the first tree in lockstep, one level after the other
//! ([`Isa::step_down`]), so 16 cache lines are loaded at once. Addresses in marked /64s wait until
//! there are 16 of them. They go down their trees in lockstep too. An address whose tree has fewer
//! levels stays above its leaf until the others are there.
//!
//! # Updates
//! A change builds the table again, as in the paper. The build reads the ranges of the table once,
//! in order: O(n).
//!
//! # Limits
//! 2^28 intervals. A route adds at most two, and two more if it is longer than /64.
//!
//! # What differs from the paper
//! - The paper's keys are 64 bits, so its routes end at /64. Here, second trees answer for all
//!   lengths. A table without such routes has no marks and pays nothing for them.
//! - The paper counts the beginnings of intervals that are at most the key. Here, the ends below
//!   the key are counted. An end that is not there is then 2^64 - 1, which is below no key. A
//!   missing beginning could be taken for that of an interval at the greatest number.
//! - The paper keeps all keys in the leaves. Here, each end is stored once, in one node of the
//!   tree.
//!
//! [`Isa::step_down`]: fibula::parts::arch::Isa

mod batch;
mod build;
mod node;
mod snapshot;
#[cfg(test)]
mod tests;
mod validate;
mod view;

pub use view::PlanBView;

use fibula::engine::{About, Config, Engine, Figure, LimitInfo, Persistence, Updates, Width};
use fibula::parts::memory::Memory;
use fibula::{Error, Rib};

/// The limit, by its unit.
const INTERVALS: &str = "intervals";

/// The most intervals of both kinds: the numbers of nodes and intervals are below nine times as
/// many, and fit in 32 bits.
const INTERVALS_MAX: u64 = 1 << 28;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "planb",
    paper: "Zhang, Liu, Chen, Li, Shu, Hsu, Zhang, PlanB: Efficient Software IPv6 Lookup with Linearized B+-Tree, NSDI 2026",
    year: 2026,
    updates: Updates::Rebuild,
    limits: &[LimitInfo { what: INTERVALS, max: INTERVALS_MAX }],
    ..About::DEFAULT
};

/// The engine; see the [module](self).
#[derive(Clone, Debug)]
pub struct PlanB<W: Width> {
    view: PlanBView<W>,
}

impl<W: Width> Engine<u128> for PlanB<W> {
    type View = PlanBView<W>;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        Self::build_at_most(INTERVALS_MAX, rib, config.pages)
    }

    fn view(&self) -> &PlanBView<W> {
        &self.view
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("inner nodes", self.view.inner.bytes())
            .off_chip("leaves", self.view.leaves.bytes())
            .off_chip("answers", self.view.answers.bytes())
            .off_chip("marks", self.view.marks.bytes())
            .off_chip("trees", self.view.trees.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let trees = &self.view.trees;
        let networks = self.view.intervals_of(0);
        let deepest = trees[1..].iter().map(|tree| tree.levels).max().unwrap_or(0);
        vec![
            Figure::count("intervals of /64s", networks),
            Figure::count("levels", trees[0].levels as usize),
            Figure::count("/64s with intervals inside", trees.len() - 1),
            Figure::count("intervals inside /64s", self.view.answers.len() - networks),
            Figure::count("levels inside /64s", deepest as usize),
        ]
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.check(rib)
    }

    fn persistence() -> Option<Persistence<Self, u128>> {
        Some(Persistence::of_engine())
    }
}
