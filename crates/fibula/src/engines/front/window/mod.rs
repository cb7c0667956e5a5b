//! `casement`: fibula's own engine for tables of one organisation, whose routes are in one network,
//! and for small tables. The bits that all these routes share are not looked at.
//!
//! # Layout
//! The [`Extent`] of a window is the network in which nearly all routes of a table are, and the
//! length *p* of the slots into which it is divided: 48 to 64, and for IPv4 16 to 32.
//!
//! ```text
//! address    | network | slot    | 16 bits | up to 64 bits |
//!                      |         p         p + 16
//!                      v         |         |
//! root    a word of 16 bits for each slot, and one that is 0 for all other addresses
//!                      |         v         |
//! short   | 8 ends of 16 bits | 8 words |  |    32 bytes; ends that are not there are 2^16 - 1
//!                               |          v
//! long    | 6 ends of 64 bits | 7 words | 0 |   64 bytes; ends that are not there are 2^64 - 1
//!
//!   15 14                            0
//! +---+-------------------------------+
//! | 0 | next hop                      |    0 in all: the inner engine has the answer
//! | 1 | number of a short or long node|    2^15 - 1: the cover is the answer
//! +---+-------------------------------+
//! ```
//! - The routes cut a slot into intervals of cells: /64s where *p* is 48, and hosts in IPv4. If it
//!   has one, the word of the root is the answer. If it has up to eight, the word names a short
//!   node. End *i* of that is the last cell of interval *i*.
//! - A cell that has bounds inside is an interval by itself. Its word names a long node, which has
//!   up to seven intervals. In IPv4 no bit is after a cell, so that there are no such nodes.
//! - All ends of a node are compared with the key at once. The number of those below the key is the
//!   number of the interval, and its word is in the same cache line. Nothing jumps on the result.
//! - Slots and cells with more intervals have the word 0. An address for which a word is 0 asks the
//!   inner engine: [`terrace`], and for IPv4 [`intervals`]. That has the routes of such slots and
//!   those outside the network, and if there are such slots also those no longer than *p*.
//! - Addresses outside the network have one word, behind those of the slots. It is the cover's
//!   where no route but a default route is outside, as in most offices, and 0 elsewhere.
//! - The *cover* is the next hop of the routes that contain the whole network. It is stored once.
//!   Addresses for which there is no longer route have its word.
//! - Node 0 of both kinds has only words 0. An address whose slot names no node reads that of the
//!   short ones, so that nothing jumps on the mark.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:0:1::/64 with 2, 2001:db8:0:1::7/128 with 3. The network
//! is 2001:db8::/32, and *p* is 48, so there are 2^16 slots, and the cover is 1:
//!
//! ```text
//! root      8001, then 7fff in all other slots, then 0: the /32 is outside for the others
//! short 1   0 1, then 2^16 - 1             words 7fff 8001 7fff, then 0
//! long 1    6 7, then 2^64 - 1             words 2 3 2, then 0
//! ```
//! The slot of 2001:db8:0:1::7 is 0, and names short node 1. No end of that but the first is below
//! 1, and the second word names long node 1. One end of that is below 7, and the second word is 3.
//!
//! # Batches
//! A block of 64 addresses reads its slots, then its short nodes, so that 64 cache lines are loaded
//! at once. Addresses in marked cells wait until there are 64 of them, which read their long nodes
//! together.
//!
//! # Updates
//! A change inside the network paints the slots that it reaches again: one, for a prefix longer
//! than *p*. A slot that turns to the inner engine takes its routes there, and one that turns back
//! takes them away. The change of a cover writes one word. Nodes are copied on write.
//!
//! The table is built again where many routes are in no slot.
//!
//! # Limits
//! 2^15 nodes of each kind: 15 bits of a word are left beside the mark. A table with greater next
//! hops than words hold has no slots, and all addresses ask the inner engine.
//!
//! # Design choices
//! - Words of 16 bits: a node has ends and words in one line, and the nodes of 30,000 routes are in
//!   the second cache or near it. A table that needs more is not one for this engine.
//! - Short nodes are half a line. Most slots have one or two routes, so with a whole line three
//!   quarters of it would not be used.
//! - No second node for a slot with more than eight intervals: one step more would be one for all
//!   addresses of a block. The window is chosen so that few slots have more.
//! - A word for the cover, and not its next hop: a default route that comes or goes would write all
//!   slots.

mod batch;
mod extent;
mod family;
mod lookup;
mod node;
mod paint;
#[cfg(test)]
mod tests;
mod update;
mod validate;

use super::{Front, Part, is_few};
use crate::arch::Isa;
use crate::blocks::chunks::Pool;
use crate::engine::{About, Config, Estimate, Figure, Level, LimitInfo, Meter, Survey, Unmetered, Updates};
use crate::engines::{intervals, terrace};
use crate::memory::{Array, Memory, Pages};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Change, Delta, Error, Family, Prefix, Rib};
use extent::{Extent, Place};
pub(crate) use family::InWindow;
use node::{COVER, Long, NODES_MAX, Short};

/// The limit, by its unit.
const NODES: &str = "nodes of a casement";

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "casement",
    paper: "fibula's own: the slots of one network, each with its intervals in a line",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[
        LimitInfo { what: NODES, max: NODES_MAX },
        LimitInfo { what: terrace::LINES, max: terrace::LINES_MAX },
    ],
    next_hops_max: terrace::NEXT_HOPS_MAX,
    estimate,
    ..About::DEFAULT
};

/// Estimates the cost of the nodes, and for each address that the window does not hold that of the
/// inner engine and of collecting it.
fn estimate(survey: &Survey<'_>, isa: Level) -> Estimate {
    let estimated = match (survey.ipv4(), survey.ipv6()) {
        (Some(rib), _) => {
            estimate_of(survey, rib, 2.4, |others| intervals::estimate_of(Family::Ipv4, others))
        }
        (_, Some(rib)) => estimate_of(survey, rib, 1.8, |_| (terrace::ABOUT.estimate)(survey, Level::best())),
        (None, None) => None,
    };
    estimated.map_or(Estimate::UNKNOWN, |estimate| estimate.on(isa, 1.5))
}

/// Estimates as [`estimate`]. `ns` are the nanoseconds of a lookup in a short node. `inner`
/// estimates the inner engine for some routes.
fn estimate_of<A: InWindow>(
    survey: &Survey<'_>,
    rib: &Rib<A>,
    ns: f32,
    inner: impl Fn(usize) -> Estimate,
) -> Option<Estimate> {
    let extent = Extent::of(rib)?;
    // The survey may be of the table before a change that it has made already.
    let others = rib.len() - extent.held;
    let asked = others as f32 / rib.len() as f32;
    // About half of the lines of larger tables are not in the second cache.
    let wait = 0.00003 * extent.held as f32;
    let long = survey.share_longer_than(extent.position + node::CELL);
    let (inner, bytes) = (inner(others), 2 * extent.slots() + 48 * extent.held);
    let ns = ns + wait + 2.0 * long + asked * (2.0 + inner.ns);
    Some(Estimate { ns, bytes: bytes + (asked * inner.bytes as f32) as usize })
}

/// The engine; see the [module](self).
pub(crate) type Casement<A> = Front<Window<A>, A>;

/// The names of the sections.
const SLOTS: &str = "slots";
const FIRST: &str = "first slot";
const POSITION: &str = "end of a slot";
const COVERED: &str = "next hop of the cover";

/// The slots of a network, and their nodes.
#[derive(Clone, Debug)]
pub(crate) struct Window<A: InWindow> {
    /// The word of each slot, then that of the addresses outside the network.
    root: Array<u16>,
    shorts: Pool<Short>,
    longs: Pool<Long>,
    /// The first bits of the first slot, as a number.
    first: u64,
    /// The bit at which slots end.
    position: u8,
    /// The next hop of the addresses whose word is [`COVER`].
    cover: u16,
    /// What the slots are of; `None` if there are none.
    extent: Option<Extent<A>>,
    /// Whether any slot asked the inner engine at the build. If not, that has no routes over slots.
    has_asking: bool,
    /// The routes at the build, and those of them that were others.
    built: Built,
    /// The routes outside the slots, but a default route.
    outside: usize,
    /// The cover, and the routes outside, at the last commit.
    before: (u16, usize),
    /// Each slot that has changed since the last commit, and its word before.
    changed: Vec<(usize, u16)>,
    /// The slots that began or ceased to ask the inner engine.
    turned: Vec<usize>,
}

/// The number of routes when a table was built.
#[derive(Clone, Copy, Debug, Default)]
struct Built {
    routes: usize,
    /// Those that are others.
    others: usize,
}

impl<A: InWindow> Window<A> {
    /// Returns slots of one word, and no nodes.
    fn empty(extent: Option<Extent<A>>, pages: Pages) -> Self {
        let slots = extent.map_or(0, |extent| extent.slots());
        let mut root = Array::filled(COVER, slots + 1, pages);
        root[slots] = 0;
        let (mut shorts, mut longs) =
            (Pool::new(NODES, NODES_MAX, pages), Pool::new(NODES, NODES_MAX, pages));
        let zeros = [shorts.insert(&[Short::default()]), longs.insert(&[Long::default()])];
        debug_assert_eq!(zeros, [Ok(0); 2]);
        let (first, position) =
            extent.map_or((0, *A::POSITIONS.end()), |extent| (extent.first_slot(), extent.position));
        let (changed, turned) = (Vec::new(), Vec::new());
        Self {
            root,
            shorts,
            longs,
            first,
            position,
            cover: 0,
            extent,
            has_asking: false,
            built: Built::default(),
            outside: 0,
            before: (0, 0),
            changed,
            turned,
        }
    }

    /// Makes the slots of an extent, and returns the other routes. O(n), and O(1) a slot.
    fn build_in(extent: Option<Extent<A>>, rib: &Rib<A>, config: &Config) -> Result<(Self, Rib<A>), Error> {
        let mut window = Self::empty(extent, config.pages);
        if let Some(extent) = extent {
            window.paint(rib, extent.network)?;
            window.cover = Self::cover_of(rib, extent.network);
            window.shorts.shrink_to_fit();
            window.longs.shrink_to_fit();
            window.has_asking = (0..window.slots()).any(|slot| window.asks(window.root[slot]));
            window.outside = rib.iter().filter(|route| extent.is_outside(route.prefix)).count();
            window.set_word_outside();
        }
        let others: Rib<A> = rib.iter().filter(|route| window.is_other(route.prefix)).collect();
        window.built = Built { routes: rib.len(), others: others.len() };
        (window.changed, window.turned) = (Vec::new(), Vec::new());
        window.before = (window.cover, window.outside);
        Ok((window, others))
    }

    /// Returns whether the inner engine has the route of a prefix.
    fn is_other(&self, prefix: Prefix<A>) -> bool {
        let Some(extent) = self.extent else { return true };
        match extent.place_of(prefix) {
            Place::Elsewhere => true,
            Place::OverSlots => self.has_asking,
            Place::InSlot(slot) => self.asks(self.root[slot]),
        }
    }
}

impl<A: InWindow> Part<A> for Window<A> {
    type Inner = A::Inner;
    const FEW: usize = if A::BITS == 32 { 12 } else { 28 };

    fn build(rib: &Rib<A>, config: &Config) -> Result<(Self, Rib<A>), Error> {
        Self::build_in(Extent::of(rib), rib, config)
    }

    #[inline(always)]
    fn find(&self, isa: impl Isa, address: A, meter: &mut impl Meter) -> u32 {
        lookup::next_hop(self.word(isa, address, meter), self.cover).into()
    }

    #[inline(always)]
    fn find_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        self.many(isa, addresses, next_hops);
    }

    #[inline(always)]
    fn has_few_of(&self, addresses: &[A]) -> bool {
        self.root[self.slots()] == 0 && is_few(addresses, |address| self.slot(address) < self.slots())
    }

    #[inline(always)]
    fn find_few<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            if self.slot(address) < self.slots() {
                match self.find(isa, address, &mut Unmetered) {
                    0 => {}
                    found => *next_hop = found,
                }
            }
        }
    }

    fn follow(&mut self, rib: &Rib<A>, others: &Rib<A>, deltas: &[Delta<A>]) -> Option<Vec<Change<A>>> {
        self.repaint(rib, others, deltas)
    }

    fn commit(&mut self) -> u64 {
        let changed = std::mem::take(&mut self.changed);
        for &(_, before) in &changed {
            self.free(before);
        }
        self.before = (self.cover, self.outside);
        changed.len() as u64
    }

    fn take_back(&mut self, _: &[Delta<A>]) {
        self.restore();
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("slots", self.root.bytes())
            .off_chip("short nodes", self.shorts.bytes())
            .off_chip("long nodes", self.longs.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let nodes = |len: usize, free: usize| len - free - 1;
        vec![
            Figure::count("slots", self.slots()),
            Figure::count("end of a slot, bits", self.position.into()),
            Figure::count("short nodes", nodes(self.shorts.len(), self.shorts.free_total())),
            Figure::count("long nodes", nodes(self.longs.len(), self.longs.free_total())),
        ]
    }

    fn check(&self, rib: &Rib<A>, others: &Rib<A>) -> Result<(), String> {
        self.check_slots(rib, others)
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(SLOTS, &self.root);
        sections.array("short nodes", &self.shorts);
        sections.array("long nodes", &self.longs);
        sections.number(FIRST, self.first);
        sections.number(POSITION, self.position.into());
        sections.number(COVERED, self.cover.into());
    }

    fn open(sections: &Sections<'_>) -> Result<Self, Error> {
        let root = sections.array(SLOTS)?;
        if root.is_empty() {
            return Err(unsound(SLOTS, "are none"));
        }
        let position = sections.number(POSITION)?;
        let is_one = |position: &u8| A::POSITIONS.contains(position);
        let Some(position) = u8::try_from(position).ok().filter(is_one) else {
            return Err(unsound(POSITION, format!("is at bit {position}, expected {:?}", A::POSITIONS)));
        };
        Ok(Self {
            root,
            shorts: Pool::holding(NODES, sections.array("short nodes")?),
            longs: Pool::holding(NODES, sections.array("long nodes")?),
            first: sections.number(FIRST)?,
            position,
            cover: sections.number(COVERED)? as u16,
            ..Self::empty(None, Pages::Small)
        })
    }
}
