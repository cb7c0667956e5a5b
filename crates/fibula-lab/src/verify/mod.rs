//! Compares an engine's answers with the oracle's, everywhere that longest match breaks.
//!
//! [`verify`] checks each engine at every width that holds the table's next hops, one address at a
//! time and in batches of many sizes on every instruction set, and lets it check its own structure.
//! [`exhaustive`] checks all 2^32 IPv4 addresses, [`updates`] a changing table. [`judged`],
//! [`exhaustive_on`] and [`updates_on`] do the same for a table that is kept elsewhere
//! ([`LiveTable`](crate::live_table::LiveTable)).

mod exhaustive;
mod probes;
mod updates;

pub use exhaustive::{ExhaustiveOptions, exhaustive, exhaustive_on};
pub use probes::probes;
pub(crate) use probes::uniform;
pub use updates::{UpdateOptions, UpdateRow, updates, updates_on, width_of_all};

use crate::answers::Answers;
use crate::mismatch::{Tally, in_one_line};
use crate::{Error, Expected, Mismatch, Refusal};
use fibula::engine::Level;
use fibula::engine::Pages;
use fibula::engine::{Config, Entry, WidthBits};
use fibula::{Address, Fib, NextHop, Rib, View};
use rayon::prelude::*;
use serde::Serialize;

/// The batch sizes that are mixed in one pass: single addresses, powers of two (an engine's own
/// lanes and software pipelines) with their neighbours, and some large ones.
const BATCH_SIZES: [usize; 18] = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000, 4099];

/// The `path` of the row of an engine's own structure check.
const STRUCTURE: &str = "structure";

/// The number of addresses that a core takes at once.
const PIECE: usize = 1 << 16;

/// How to verify.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The number of random addresses besides the probes around prefixes and intervals.
    pub random: usize,
    /// The seed of the random addresses and of the order of all.
    pub seed: u64,
    /// The widths to build at; those too narrow for the table are skipped.
    pub widths: Vec<WidthBits>,
    /// The instruction sets to run batches on.
    pub levels: Vec<Level>,
    /// The pages that large arrays ask for.
    pub pages: Pages,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            random: 1_000_000,
            seed: 1,
            widths: WidthBits::ALL.to_vec(),
            levels: Level::available().to_vec(),
            pages: Pages::Small,
        }
    }
}

/// The result of looking up by one path of one engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyRow {
    /// The engine's specification, as it was asked for.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The width of the answers in bits.
    pub width: u8,
    /// `lookup`, `lookup_batch`, `exhaustive` (batches over every address), or `structure` (the
    /// engine's own check of itself).
    pub path: &'static str,
    /// The instruction set.
    pub isa: &'static str,
    /// The number of addresses.
    pub probes: u64,
    /// The number of wrong answers; for `structure`, 1 if there is a contradiction.
    pub mismatches: u64,
    /// The first wrong answers, lowest address first.
    #[serde(serialize_with = "in_one_line")]
    pub first: Vec<Mismatch>,
    /// The contradiction that the engine's own check found.
    pub contradiction: Option<String>,
}

/// The results of verifying some engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// One row per engine, width, path and instruction set.
    pub rows: Vec<VerifyRow>,
    /// Engines that refused the table at one of the widths.
    pub refused: Vec<Refusal>,
}

impl Verification {
    /// Returns whether every answer was right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.rows.iter().all(|row| row.mismatches == 0)
    }
}

/// Verifies the engines of `engines` that `specifications` name on a table.
///
/// The addresses are [`probes`]. Each is looked up once alone, and once in a batch for each
/// instruction set, with the batch sizes mixed. All cores work at once. `report` is called with
/// each row as it is done.
///
/// # Errors
/// If a specification names no engine, or the judges disagree. An engine that refuses the table is
/// a [`Refusal`].
///
/// ```
/// use fibula::{NextHop, Rib, engine::ENGINES};
/// use fibula_lab::verify::{VerifyOptions, verify};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
/// let options = VerifyOptions { random: 1000, ..VerifyOptions::default() };
/// let verification = verify(ENGINES, &["oracle".into()], &rib, &options, &mut |_| {}).unwrap();
/// assert!(verification.is_right());
/// ```
pub fn verify<A: Address>(
    engines: &'static [Entry],
    specifications: &[String],
    rib: &Rib<A>,
    options: &VerifyOptions,
    report: &mut dyn FnMut(&VerifyRow),
) -> Result<Verification, Error> {
    let mut random = fastrand::Rng::with_seed(options.seed);
    let mut expected = Expected::new(rib, probes(rib, options.random, &mut random))?;
    expected.shuffle(&mut random);
    let mut verification = Verification::default();
    let widest = rib.max_next_hop();
    for specification in specifications {
        for &width in options.widths.iter().filter(|width| WidthBits::max(**width) >= widest) {
            match build(engines, specification, rib, width, options.pages) {
                // An engine with one width is verified once.
                Ok(fib) if fib.width() != width && options.widths.contains(&fib.width()) => {}
                Ok(fib) => {
                    for row in rows(specification, fib, rib, &expected, options) {
                        report(&row);
                        verification.rows.push(row);
                    }
                }
                Err(error) => Refusal::of::<A>(specification, error)?.add_to(&mut verification.refused),
            }
        }
    }
    Ok(verification)
}

/// Returns the row of answers that were computed elsewhere: on a card.
#[must_use]
pub fn judged<A: Address>(
    engine: &str,
    width: WidthBits,
    path: &'static str,
    isa: &'static str,
    expected: &Expected<A>,
    answers: &[NextHop],
) -> VerifyRow {
    let mut tally = Tally::new();
    for ((&address, &right), &found) in expected.addresses().iter().zip(expected.next_hops()).zip(answers) {
        tally.compare(address, right, found);
    }
    VerifyRow {
        engine: engine.into(),
        family: A::FAMILY.to_string(),
        width: width.bits(),
        path,
        isa,
        probes: tally.probes,
        mismatches: tally.mismatches,
        first: tally.shown(engine, path),
        contradiction: None,
    }
}

fn build<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    rib: &Rib<A>,
    width: WidthBits,
    pages: Pages,
) -> Result<Fib<A>, fibula::Error> {
    let mut config = Config::default();
    config.width = Some(width);
    config.pages = pages;
    Fib::build_from(engines, specification, rib, config)
}

/// Checks one engine by every path.
fn rows<A: Address>(
    engine: &str,
    mut fib: Fib<A>,
    rib: &Rib<A>,
    expected: &Expected<A>,
    options: &VerifyOptions,
) -> Vec<VerifyRow> {
    let mut rows = Vec::new();
    let blank = VerifyRow {
        engine: engine.into(),
        family: A::FAMILY.to_string(),
        width: fib.width().bits(),
        path: STRUCTURE,
        isa: Level::SCALAR.name(),
        probes: 0,
        mismatches: 0,
        first: Vec::new(),
        contradiction: None,
    };
    let contradiction = fib.validate(rib).err();
    rows.push(VerifyRow { mismatches: contradiction.is_some().into(), contradiction, ..blank.clone() });
    let mut push = |path, isa: Level, tally: Tally<A>| {
        let first = tally.shown(engine, if path == "lookup" { path } else { isa.name() });
        let Tally { probes, mismatches, .. } = tally;
        rows.push(VerifyRow { path, isa: isa.name(), probes, mismatches, first, ..blank.clone() });
    };
    push("lookup", Level::SCALAR, ask_one_by_one(&*fib, expected));
    for &level in &options.levels {
        fib.set_isa(level);
        push("lookup_batch", level, ask_in_batches(&*fib, expected));
    }
    rows
}

/// Looks up each address alone.
pub(crate) fn ask_one_by_one<A: Address>(fib: &dyn View<A>, expected: &Expected<A>) -> Tally<A> {
    let pieces = expected.addresses().par_chunks(PIECE).zip(expected.next_hops().par_chunks(PIECE));
    let ask = |(addresses, next_hops): (&[A], &[_])| {
        let mut tally = Tally::new();
        for (&address, &next_hop) in addresses.iter().zip(next_hops) {
            tally.compare(address, next_hop, fib.lookup_index(address));
        }
        tally
    };
    pieces.map(ask).reduce(Tally::new, Tally::merge)
}

/// Looks up all addresses in batches, with the sizes of [`BATCH_SIZES`] in turn.
pub(crate) fn ask_in_batches<A: Address>(fib: &dyn View<A>, expected: &Expected<A>) -> Tally<A> {
    let pieces = expected.addresses().par_chunks(PIECE).zip(expected.next_hops().par_chunks(PIECE));
    let ask = |(mut addresses, mut next_hops): (&[A], &[_])| {
        let mut tally = Tally::new();
        let mut answers = Answers::new(fib.width(), BATCH_SIZES.into_iter().max().unwrap_or_default());
        for size in BATCH_SIZES.into_iter().cycle() {
            if addresses.is_empty() {
                break;
            }
            let size = size.min(addresses.len());
            let (batch, right);
            (batch, addresses) = addresses.split_at(size);
            (right, next_hops) = next_hops.split_at(size);
            answers.poison();
            fib.lookup_batch_into(batch, answers.first(size));
            for (index, (&address, &next_hop)) in batch.iter().zip(right).enumerate() {
                tally.compare(address, next_hop, answers.get(index));
            }
        }
        tally
    };
    pieces.map(ask).reduce(Tally::new, Tally::merge)
}
