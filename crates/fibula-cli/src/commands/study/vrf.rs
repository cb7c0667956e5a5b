//! `fibula study vrf`: many tables in one process.

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

/// Memory and speed of many IPv4 tables: small ones of routes drawn from the table, and some as large as it, kept as a set
/// that compiles each by its size, with an engine for each, and all in one by SAIL_M
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
    /// The engine of large tables
    #[arg(short, long, default_value = BEST)]
    engine: String,
    /// How many lookups
    #[arg(long, default_value_t = 1 << 21, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// How many addresses are handed over in one call
    #[arg(long, default_value_t = 16_384, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    passes: u16,
    #[command(flatten)]
    on_table: OnTable,
}

/// Answers that are compared with the tables' own.
const CHECK: usize = 1 << 18;

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (tables, whole) = self.on_table.load()?;
        anyhow::ensure!(!tables.ipv4.is_empty(), "nothing to keep: the table has no IPv4 routes");
        let routes: Vec<Route<u32>> = tables.ipv4.iter().collect();
        let mut random = SplitMix64::seed_from_u64(1);
        let mut printer = output.printer();
        let mut right = true;
        let mut measure = |name: &str, ribs: &[Rib<u32>], kinds: &[VrfKind], random: &mut SplitMix64| {
            let (addresses, ids) = self.asked(ribs, random)?;
            for kind in kinds {
                let (batch, passes) = (self.batch as usize, self.passes.into());
                let work = VrfWork { name, ribs, addresses: &addresses, ids: &ids, batch, passes };
                let row: VrfRow = match study_vrf(kind, work, CHECK) {
                    Ok(row) => row,
                    Err(error) if error.limit().is_some() => {
                        tell(format_args!("{name} passed over: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                right &= row.mismatches == 0;
                printer.row(&row)?;
            }
            anyhow::Ok(())
        };
        let set = |small_most| VrfKind::Set { engine: self.engine.clone(), small_most };
        let compact = VrfKind::Set { engine: "poptrie/s=8".into(), small_most: Some(0) };
        for &count in &self.tables {
            let ribs: Vec<Rib<u32>> = (0..count).map(|_| drawn(&routes, self.routes, &mut random)).collect();
            let name = format!("{count} of {}", self.routes);
            measure(&name, &ribs, &[set(None), set(Some(0)), compact.clone(), VrfKind::Merged], &mut random)?;
        }
        if self.full > 0 {
            let turned = |by: u16| -> Rib<u32> { turned(&routes, u32::from(by)) };
            let ribs: Vec<Rib<u32>> = (0..self.full).map(turned).collect();
            measure(
                &format!("{} of full size", self.full),
                &ribs,
                &[set(None), VrfKind::Merged],
                &mut random,
            )?;
        }
        printer.finish()?;
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Addresses drawn from the tables' prefixes, each in another table.
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

/// A table of some of the routes.
fn drawn(routes: &[Route<u32>], count: u32, random: &mut SplitMix64) -> Rib<u32> {
    let count = (count as usize).min(routes.len());
    let mut rib = Rib::new();
    while rib.len() < count {
        let Route { prefix, next_hop } = routes[(random.next_u64() % routes.len() as u64) as usize];
        rib.insert(prefix, next_hop);
    }
    rib
}

/// A table of all routes, the next hops moved on by so many, so that no two of them are alike.
fn turned(routes: &[Route<u32>], by: u32) -> Rib<u32> {
    let greatest = routes.iter().map(|route| route.next_hop.0).max().unwrap_or(1);
    let turn = |next_hop: NextHop| NextHop((next_hop.0 - 1 + by) % greatest + 1);
    routes.iter().map(|route| Route { prefix: route.prefix, next_hop: turn(route.next_hop) }).collect()
}
