//! `fibula study vrf`: many tables in one process.

use crate::commands::device::{InBatches, engines_with_kernels};
use crate::commands::measuring::OnTable;
use crate::exit::{Verdict, tell};
use crate::output::Output;
use clap::Args;
use fibula::engine::BEST;
use fibula::table_set::TableId;
use fibula::{NextHop, Rib, Route};
use fibula_gpu::cooperative::{Division, Options};
use fibula_gpu::device::{Cuda, Device};
use fibula_gpu::many::Many;
use fibula_io::trace::{self, TraceKind};
use fibula_lab::Error;
use fibula_lab::study::{ManyTables, VrfKind, VrfRow, VrfWork, study_vrf, study_vrf_of};
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
    /// The engine of large tables; with a card, the engines that keep all tables there [default:
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
}

/// The number of answers that are compared with the tables' own.
const CHECK: usize = 1 << 18;

/// Where the tables are.
struct Ways {
    /// The engine of large tables on the processor.
    engine: String,
    /// The card and the engines on it, if one was asked for.
    on_card: Option<(Cuda, Options, Vec<String>)>,
}

impl Ways {
    fn new(engine: Option<&str>, card: Option<(Cuda, Options)>) -> anyhow::Result<Self> {
        let Some((card, options)) = card else {
            return Ok(Self { engine: engine.unwrap_or(BEST).into(), on_card: None });
        };
        let engines = engines_with_kernels::<u32>(engine.unwrap_or("gpu-mosaic"))?;
        Ok(Self { engine: BEST.into(), on_card: Some((card, options, engines)) })
    }

    /// Returns the kinds of this run that the processor measures.
    fn on_processor<'k>(&self, kinds: &'k [VrfKind]) -> &'k [VrfKind] {
        let device_alone = |(_, options, _): &(Cuda, Options, _)| options.division == Division::Device;
        if self.on_card.as_ref().is_some_and(device_alone) { &[] } else { kinds }
    }
}

/// Measures the tables on a device. All addresses are handed over at once, and the device cuts them
/// into its batches.
fn on_device<D: Device + Clone>(
    device: &D,
    engine: &str,
    Options { buffer, lanes, .. }: Options,
    work: VrfWork<'_>,
) -> Result<VrfRow, Error> {
    let kept_as = format!("{engine} on {}", device.name());
    let work = VrfWork { batch: work.addresses.len(), ..work };
    let build = || {
        let tables = Many::new(device.clone(), engine, work.ribs, buffer, lanes);
        tables.map(OnCard).map_err(of_device)
    };
    study_vrf_of(build, kept_as, work, CHECK)
}

/// Keeps an exceeded limit's type in the error of a device.
fn of_device(error: fibula_gpu::Error) -> Error {
    error.limit().map_or_else(|| Error::elsewhere(error), |limit| fibula::Error::from(limit).into())
}

/// Tables on a device, for the study.
struct OnCard<D: Device>(Many<D, u32>);

impl<D: Device> ManyTables for OnCard<D> {
    fn look_up(&mut self, _: &[TableId], numbers: &[u16], addresses: &[u32]) -> Result<(), Error> {
        self.0.look_up(numbers, addresses).map_err(of_device)
    }

    fn answer(&self, at: usize) -> NextHop {
        self.0.answer(at)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn add_empty(&mut self) -> Result<(), Error> {
        self.0.push(&Rib::new()).map_err(of_device)
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
        let mut right = true;
        let mut measure = |name: &str, ribs: &[Rib<u32>], kinds: &[VrfKind], random: &mut SplitMix64| {
            let (addresses, ids) = self.asked(ribs, random)?;
            let batch = self.in_batches.batch();
            let work =
                VrfWork { name, ribs, addresses: &addresses, ids: &ids, batch, passes: self.passes.into() };
            let on_processor = ways.on_processor(kinds).iter().map(|kind| study_vrf(kind, work, CHECK));
            let on_card = ways.on_card.iter().flat_map(|(card, options, engines)| {
                engines.iter().map(|engine| on_device(card, engine, *options, work))
            });
            for row in on_processor.chain(on_card) {
                let row: VrfRow = match row {
                    Ok(row) => row,
                    Err(error) if error.is_refusal() => {
                        tell(format_args!("{name} skipped: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                right &= row.mismatches == 0;
                printer.row(&row)?;
            }
            anyhow::Ok(())
        };
        let set = |small_most| VrfKind::Set { engine: ways.engine.clone(), small_most };
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

#[cfg(test)]
mod tests {
    use super::*;
    use fibula_gpu::device::Twin;
    use fibula_io::generate::{self, NextHopModel, Size};

    #[test]
    fn every_table_on_a_device_answers_as_it_does_by_itself() {
        let rib = generate::internet(Size { ipv4: 3000, ipv6: 1 }, NextHopModel::Near(300), 1).unwrap().ipv4;
        let routes: Vec<Route<u32>> = rib.iter().collect();
        let mut random = SplitMix64::seed_from_u64(1);
        let mut ribs: Vec<Rib<u32>> = (0..40).map(|at| drawn(&routes, at * 20, &mut random)).collect();
        ribs.push(turned(&routes, 7));
        let addresses: Vec<u32> = (0..50_000).map(|_| random.next_u64() as u32).collect();
        let ids: Vec<u16> = (0..50_000).map(|at| at % 41).collect();
        let work = VrfWork { name: "41", ribs: &ribs, addresses: &addresses, ids: &ids, batch: 1, passes: 1 };
        let options = Options { buffer: 700, lanes: 3, threads: 0, division: Division::Device };
        for engine in ["gpu-mosaic", "gpu-sail-l"] {
            let row = on_device(&Twin::default(), engine, options, work).unwrap();
            assert_eq!((row.checked, row.mismatches), (50_000, 0), "{row:?}");
            assert!(row.kept_as.starts_with(engine) && row.kept_as.contains(" on "), "{row:?}");
            assert!(row.mlps_mixed > 0.0 && row.mlps_sorted > 0.0 && row.empty_bytes > 0, "{row:?}");
        }
        let failing = Twin::default();
        failing.script().fail_after(60);
        let said = on_device(&failing, "gpu-sail-l", options, work).unwrap_err().to_string();
        assert!(said.contains("fell off the bus"), "{said}");
    }
}
