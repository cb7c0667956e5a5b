//! `fibula study vrf`: many tables in one process.

#[cfg(feature = "gpu")]
mod on_device;

use super::common::EvidenceFile;
use crate::commands::device::{Card, InBatches, engines_with_kernels};
use crate::commands::measuring::OnTable;
use crate::exit::{Verdict, tell};
use crate::output::Output;
use clap::Args;
use fibula::engine::BEST;
use fibula::{NextHop, Rib, Route};
use fibula_io::trace::{self, TraceKind};
use fibula_lab::study::{VrfKind, VrfRow, VrfWork, study_vrf};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Memory and speed of many IPv4 tables: small ones of routes drawn from the table, and some as
/// large as it. They are kept as a set that compiles each by its size, with an engine for each, and
/// all in one by SAIL_M
///
/// On a card every table is resident, and one kernel finds the table that each address names.
/// `both` shows those rows beside the processor's.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The numbers of small tables
    #[arg(long, value_delimiter = ',', default_value = "1,16,256,1024", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    tables: Vec<u16>,
    /// The routes of a small table
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    routes: u32,
    /// The number of tables as large as the table
    #[arg(long, default_value_t = 16, value_name = "N")]
    full: u16,
    /// The engine of the tables; with a card, the engines that keep all tables there [default:
    /// best, on a card gpu-mosaic]
    #[arg(short, long)]
    engine: Option<String>,
    /// How many lookups
    #[arg(long, default_value_t = 1 << 21, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    #[command(flatten)]
    in_batches: InBatches,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    passes: u16,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    evidence: EvidenceFile,
}

/// The number of answers that are compared with the tables' own.
const CHECK: usize = 1 << 18;

/// Where the tables are.
struct Ways {
    /// The engine of the tables on the processor.
    engine: String,
    /// The card and the engines on it, if one was asked for.
    on_card: Option<(Card, Vec<String>)>,
}

impl Ways {
    fn new(engine: Option<&str>, card: Option<Card>) -> anyhow::Result<Self> {
        let Some(card) = card else {
            return Ok(Self { engine: engine.unwrap_or(BEST).into(), on_card: None });
        };
        let engines = engines_with_kernels::<u32>(engine.unwrap_or("gpu-mosaic"))?;
        Ok(Self { engine: BEST.into(), on_card: Some((card, engines)) })
    }

    /// Returns the kinds of this run that the processor measures.
    fn on_processor<'k>(&self, kinds: &'k [VrfKind]) -> &'k [VrfKind] {
        let card_alone = self.on_card.as_ref().is_some_and(|(card, _)| card.is_alone());
        if card_alone { &[] } else { kinds }
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let card = self.in_batches.open()?;
        let ways = Ways::new(self.engine.as_deref(), card)?;
        let (tables, whole) = self.on_table.load()?;
        anyhow::ensure!(!tables.ipv4.is_empty(), "nothing to keep: the table has no IPv4 routes");
        let routes: Vec<Route<u32>> = tables.ipv4.iter().collect();
        let mut random = SplitMix64::seed_from_u64(1);
        let mut printer = output.printer();
        let mut rows = Vec::new();
        let mut measure = |name: &str, ribs: &[Rib<u32>], kinds: &[VrfKind], random: &mut SplitMix64| {
            let (addresses, ids) = self.asked(ribs, random)?;
            let batch = self.in_batches.batch();
            let work =
                VrfWork { name, ribs, addresses: &addresses, ids: &ids, batch, passes: self.passes.into() };
            let on_processor = ways.on_processor(kinds).iter().map(|kind| study_vrf(kind, work, CHECK));
            let on_card = ways
                .on_card
                .iter()
                .flat_map(|(card, engines)| engines.iter().map(|engine| card.study_vrf(engine, work)));
            for row in on_processor.chain(on_card) {
                let row: VrfRow = match row {
                    Ok(row) => row,
                    Err(error) if error.is_refusal() => {
                        tell(format_args!("{name} skipped: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                printer.row(&row)?;
                rows.push(row);
            }
            anyhow::Ok(())
        };
        let set = VrfKind::Set(ways.engine.clone());
        let small = [set.clone(), VrfKind::Set("poptrie/s=8".into()), VrfKind::Merged];
        for &count in &self.tables {
            let ribs: Vec<Rib<u32>> = (0..count).map(|_| drawn(&routes, self.routes, &mut random)).collect();
            let name = format!("{count} of {}", self.routes);
            measure(&name, &ribs, &small, &mut random)?;
        }
        if self.full > 0 {
            let turned = |by: u16| -> Rib<u32> { turned(&routes, u32::from(by)) };
            let ribs: Vec<Rib<u32>> = (0..self.full).map(turned).collect();
            let name = format!("{} of full size", self.full);
            measure(&name, &ribs, &[set, VrfKind::Merged], &mut random)?;
        }
        printer.finish()?;
        self.evidence.write("vrf", |evidence| evidence.add(&rows))?;
        let right = rows.iter().all(|row| row.mismatches == 0);
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Draws addresses from the tables' prefixes, each in another table than the one before.
    fn asked(&self, ribs: &[Rib<u32>], random: &mut SplitMix64) -> anyhow::Result<(Vec<u32>, Vec<u16>)> {
        let each = (self.addresses as usize).div_ceil(ribs.len());
        let mut asked: Vec<(u32, u16)> = Vec::new();
        for (id, rib) in (0..).zip(ribs) {
            let addresses = trace::generate(&TraceKind::Prefix, rib, each, 1 + u64::from(id))?;
            asked.extend(addresses.into_iter().map(|address| (address, id)));
        }
        for at in (1..asked.len()).rev() {
            asked.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        Ok(asked.into_iter().unzip())
    }
}

/// Returns a table of some of the routes.
fn drawn(routes: &[Route<u32>], count: u32, random: &mut SplitMix64) -> Rib<u32> {
    let count = (count as usize).min(routes.len());
    let mut rib = Rib::new();
    while rib.len() < count {
        let Route { prefix, next_hop } = routes[(random.next_u64() % routes.len() as u64) as usize];
        rib.insert(prefix, next_hop);
    }
    rib
}

/// Returns a table of all routes, with every next hop's index moved on by `by`, so that no two
/// tables are alike.
fn turned(routes: &[Route<u32>], by: u32) -> Rib<u32> {
    let greatest = routes.iter().map(|route| route.next_hop.0).max().unwrap_or(1);
    let turn = |next_hop: NextHop| NextHop((next_hop.0 - 1 + by) % greatest + 1);
    routes.iter().map(|route| Route { prefix: route.prefix, next_hop: turn(route.next_hop) }).collect()
}
