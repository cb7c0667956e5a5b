//! `dxr`: a direct table of the first k bits, then binary search among the address ranges of a
//! chunk.
//!
//! M. Zec, L. Rizzo, M. Mikuc: *DXR: Towards a Billion Routing Lookups per Second in Software*, ACM
//! SIGCOMM Computer Communication Review 42(5), 2012. `dxr16` and `dxr18` are the paper's D16R and
//! D18R. `dxr/k=20` sets any other k from 16 to 24.
//!
//! # Layout
//!
//! A table is equivalent to its address ranges, with neighbours of one next hop merged. The direct
//! table cuts them into 2^k chunks. The direct entry answers for a chunk of one range. Any other
//! chunk is a run of range entries. Only the base of a range is stored, because its end is the next
//! one's base (section 3.2).
//!
//! ```text
//! direct entry, 32 bits  | base or next hop: 19 | size: 12 | format: 1 |    highest bit first
//!                        size 0: the first field is the next hop of the whole chunk
//!                        else: the chunk is `size` ranges from index `base` on,
//!                              in the short (format 0) or the long (format 1) range table
//!
//! short range, 16 bits   | base / 256: 8 | next hop: 8 |    bases multiples of 256, hops to 255
//! long range, 32 bits    | base: 16      | next hop: 16 |   bases count from the chunk's start
//! ```
//!
//! A range entry has the base in its high bits, so whole entries compare like their bases. The
//! search compares them with the address's offset followed by all next-hop bits set. The paper's
//! next-hop table is [`NextHops`](fibula::NextHops).
//!
//! # Worked example
//!
//! The paper's routes 0.0.0.0/0 A, 1.0.0.0/8 B, 1.2.0.0/16 C, 1.2.3.0/24 D, 1.2.4.5/32 C are seven
//! ranges: the last route adds none. With k = 16 the direct table answers for all chunks but
//! 1.2.0.0/16. That chunk is three short ranges (0, C), (3, D), (4, C): 262,150 bytes in all.
//!
//! # Limits, and how the layout widens
//!
//! The paper's entry ends at 2^19 ranges, 4095 in a chunk, and next hops of 16 bits. No table is
//! refused here: of the layouts that hold a table, the smallest is chosen, and `memory()` shows its
//! cost.
//!
//! | layout | direct | short | long | ranges of a format | in a chunk | next hops |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | paper | 32 | 8 + 8 | 16 + 16 | 2^19 granules | 4095 granules | 65,535 |
//! | wide ranges | 32 | 8 + 24 | 16 + 48 | 2^19 granules | 4095 granules | 2^19 - 1 |
//! | wide | 64 (39 + 24 + 1) | 8 + 24 | 16 + 48 | 2^39 | 2^24 - 1 | 2^32 - 1 |
//!
//! A granule is 1, 2, 4 or 8 ranges, and chunks are padded to whole granules: the paper's own way
//! "to recover extra bits". The padding repeats the last range. A layout is chosen only if a
//! thirty-second of each range table stays free, so that a table at the limit is not rebuilt by
//! each of the next updates.
//!
//! # What differs from the paper
//!
//! - Short and long ranges are stored in two tables, so that 2^19 of each fit and bases need no
//!   common unit. `tables=one` stores them in one, as the paper does: bases count its words of 32
//!   bits, each a long range or two short ones, so a chunk of an odd number of short ranges wastes
//!   half a word.
//! - The search halves what is left without testing for a hit. Every address of a chunk takes the
//!   same number of steps, with no branch to mispredict. Batches are software-pipelined; see
//!   [`lookup`]. With `search=hit` it ends as soon as the range it looks at contains the address,
//!   as the paper's Table 2 counts, one address after the other.
//! - Those two take the paper's entries alone: a table that 32-bit direct entries with granules of
//!   up to 8 cannot hold is refused.
//! - An update walks the routes of each changed prefix once, however many chunks it covers, instead
//!   of searching the table for each chunk. Chunks that several changes touch are rebuilt once.
//!   Freed space is reused, and unused space stays under a sixteenth of a range table; see
//!   [`update`].
//! - One thread writes all chunks of an update, as in the authors' implementation. In a table of
//!   65,536 routes or more, what prefixes of up to seven bits cover is planned on all cores before.

mod layout;
mod lookup;
mod plan;
mod snapshot;
mod statistics;
mod table;
mod update;
mod validate;

pub use statistics::{SEARCH_STEPS_MAX, Statistics};

use fibula::engine::{
    About, Config, Engine, Figure, Lookup, Meter, ParameterInfo, Persist, Persistence, Unmetered, Update,
    Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Memory, Pages};
use fibula::parts::sections::{SectionWriter, Sections};
use fibula::{Delta, Error, Limit, NextHop, Prefix, Rib};
use layout::{Layout, Paper, Printed, Wide, WideRanges};
use plan::Plan;
use std::marker::PhantomData;
use table::{GRANULE_LOG2_MAX, HEADROOM, Table, bytes, capacity};

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "dxr",
    paper: "Zec, Rizzo, Mikuc: DXR: Towards a Billion Routing Lookups per Second in Software, ACM SIGCOMM CCR 42(5)",
    year: 2012,
    updates: Updates::InPlace,
    parameters: &[
        ParameterInfo { name: "k", meaning: "bits resolved by the direct table, 16 to 24, default 18" },
        ParameterInfo {
            name: "search",
            meaning: "fixed (default): as many steps for every address of a chunk; hit: ends at a hit, as in the paper",
        },
        ParameterInfo {
            name: "tables",
            meaning: "range tables: two (default), by format, or one, as in the paper",
        },
    ],
    ..About::DEFAULT
};

/// The paper's D16R: 16 bits direct.
pub const DXR16: About = About { name: "dxr16", preset: &[("k", "16")], ..ABOUT };

/// The paper's D18R: 18 bits direct.
pub const DXR18: About = About { name: "dxr18", preset: &[("k", "18")], ..ABOUT };

/// A table in the smallest layout that holds it.
#[derive(Debug)]
enum Form {
    Paper(Table<Paper>),
    WideRanges(Table<WideRanges>),
    Wide(Table<Wide>),
    OneTable(Table<OneTable>),
    AtHit(Table<AtHit>),
    AsPrinted(Table<AsPrinted>),
}

/// The paper's layout with one range table, with the search that ends at a hit, and with both.
type OneTable = Printed<true, false>;
type AtHit = Printed<false, true>;
type AsPrinted = Printed<true, true>;

layouts!(($) with_table: Paper, WideRanges, Wide, OneTable, AtHit, AsPrinted);

/// The DXR engine; see the [module page](self).
#[derive(Debug)]
pub struct Dxr<W> {
    k: u8,
    form: Form,
    answers: PhantomData<W>,
}

impl<W: Width> Dxr<W> {
    /// Returns the figures of the paper's Tables 1 and 2. O(2^k + ranges).
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        with_table!(&self.form, Form::table => table.statistics())
    }

    /// Returns the steps of binary search that `address` takes, or 0 if the direct table answers.
    #[must_use]
    pub fn search_steps(&self, address: u32) -> u32 {
        with_table!(&self.form, Form::table => table.search(address, &mut Unmetered).1)
    }
}

/// The bytes of a fresh table, and what builds it.
type Candidate<'p> = (u64, Box<dyn FnOnce() -> Form + 'p>);

/// Returns the tables of one layout that hold a plan, by granules.
fn candidates<L: Layout>(plan: &Plan, k: u8, pages: Pages, form: fn(Table<L>) -> Form) -> Vec<Candidate<'_>> {
    let of_granule = |granule: u32| -> Option<Candidate<'_>> {
        let build = move || form(Table::build(plan, k, granule, pages));
        Some((bytes::<L>(plan, k, granule)?, Box::new(build)))
    };
    (0..=GRANULE_LOG2_MAX).filter_map(of_granule).collect()
}

impl Form {
    /// Compiles a plan of the whole address space in the smallest layout that the configuration
    /// allows. Of equals it takes the first.
    ///
    /// # Errors
    /// If only the paper's entries are allowed, and do not hold it.
    fn build(plan: &Plan, k: u8, config: &Config) -> Result<Self, Error> {
        let ends_at_hit = config.choice("search", &[("fixed", false), ("hit", true)])?;
        let one_table = config.choice("tables", &[("two", false), ("one", true)])?;
        let pages = config.pages;
        let candidates = match (one_table, ends_at_hit) {
            (false, false) => {
                let mut all = candidates(plan, k, pages, Self::Paper);
                all.extend(candidates(plan, k, pages, Self::WideRanges));
                all.extend(candidates(plan, k, pages, Self::Wide));
                all
            }
            (true, false) => candidates(plan, k, pages, Self::OneTable),
            (false, true) => candidates(plan, k, pages, Self::AtHit),
            (true, true) => candidates(plan, k, pages, Self::AsPrinted),
        };
        let smallest = candidates.into_iter().min_by_key(|&(bytes, _)| bytes);
        let (_, build) = smallest.ok_or_else(|| past_the_papers_entries(plan))?;
        Ok(build())
    }
}

/// Returns what the paper's entries cannot hold of a plan.
fn past_the_papers_entries(plan: &Plan) -> Limit {
    let next_hop = plan.runs.iter().map(|run| u64::from(run.max_next_hop)).max().unwrap_or_default();
    let longest = plan.runs.iter().map(|run| run.len as u64).max().unwrap_or_default();
    let ranges: u64 = plan.runs.iter().filter(|run| run.len > 1).map(|run| run.len as u64).sum();
    let limit = |what, had, max| Limit { what, had, max };
    let most = capacity::<Paper>(GRANULE_LOG2_MAX);
    if next_hop > Paper::NEXT_HOP_MAX {
        limit("next hops of the paper's ranges", next_hop, Paper::NEXT_HOP_MAX)
    } else if longest > Paper::SIZE_MAX << GRANULE_LOG2_MAX {
        limit("ranges of one of the paper's chunks", longest, Paper::SIZE_MAX << GRANULE_LOG2_MAX)
    } else {
        limit("ranges of the paper's tables, with room to grow", ranges, most - most / HEADROOM)
    }
}

/// Returns the bits that the direct table is to resolve.
fn direct_bits(config: &Config) -> Result<u8, Error> {
    config.parameter("k", 16..=24, 18)
}

impl<W: Width> Lookup<u32> for Dxr<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        W::narrow(NextHop(with_table!(&self.form, Form::table => table.lookup(address, meter))))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        with_table!(&self.form, Form::table => table.lookup_batch(addresses, next_hops));
    }
}

impl<W: Width> Engine<u32> for Dxr<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let k = direct_bits(config)?;
        let plan = Plan::of(rib, std::iter::once(Prefix::ALL), k);
        let form = Form::build(&plan, k, config)?;
        Ok(Self { k, form, answers: PhantomData })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let plan = Plan::of(rib, deltas.iter().map(|delta| delta.prefix), self.k);
        with_table!(&mut self.form, Form::table => table.apply(plan))
    }

    fn memory(&self) -> Memory {
        with_table!(&self.form, Form::table => table.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        self.statistics().figures()
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        with_table!(&self.form, Form::table => table.validate(rib))
    }

    fn persistence() -> Option<Persistence<Self, u32>> {
        Some(Persistence::of_engine())
    }
}

impl<W: Width> Persist<u32> for Dxr<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        with_table!(&self.form, Form::table => table.save(sections));
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let k = direct_bits(config)?;
        Ok(Self { k, form: Form::open(sections, k)?, answers: PhantomData })
    }
}

impl<L: Layout> Table<L> {
    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("direct table", size_of_val(&self.direct[..]))
            .off_chip("short ranges", self.short.bytes())
            .off_chip("long ranges", self.long.bytes())
    }
}

#[cfg(test)]
mod tests;
