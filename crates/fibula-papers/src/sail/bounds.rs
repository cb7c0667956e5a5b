//! Sections 1 to 4, 6.1 and 6.2: what the text bounds, and PBF beside SAIL_L.

use super::memory::{BOUND_BYTES, MB, PBF_BITS};
use super::speed::{CYCLES, ENGINES};
use super::table;
use crate::lab::{Reads, mlps, reads};
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point};
use fibula::engine::Pages;
use fibula::engine::{Config, Cost};
use fibula::{Applied, Fib};
use fibula_engines::sail_m::SailM;
use fibula_io::generate::updates;
use fibula_io::trace::TraceKind;

/// The two algorithms with bit maps for each level.
const BY_LEVEL: [(&str, &str); 3] = [("SAIL_B", "sail-b"), ("SAIL_U", "sail-u"), ("SAIL_L", "sail-l")];

/// The tables of Section 4.3.
const TABLES: usize = 12;

/// The pivot level.
const PIVOT: u8 = 24;

/// The paper's cycles of CRC32 for a byte; its keys have 2 bytes, and two hashes make all others.
const CRC_CYCLES: f64 = 6.9;
const KEY_BYTES: f64 = 2.0;
const HASHES: f64 = 2.0;

/// The updates whose writes on chip are counted one by one.
const UPDATES: usize = 20_000;

pub(super) fn section_4(lab: &Lab) -> Result<Finding, Error> {
    let table = &table(lab)?;
    let mut points = Vec::new();
    let mut addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    addresses.extend(lab.trace(&TraceKind::Random, &table.rib)?);
    let length = |&address: &u32| table.rib.longest_match(address).map_or(0, |route| route.prefix.len());
    let short: Vec<u32> = addresses.iter().copied().filter(|address| length(address) <= PIVOT).collect();
    for (name, engine) in BY_LEVEL {
        let mut fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
        let Reads { most, most_on_chip, most_off_chip, .. } = reads(&fib, addresses.iter().copied());
        let memory = fib.memory();
        let point = |at, unit, value: f64| Point::new(name, at, unit, value);
        points.extend([
            point("a lookup, most", "loads", most),
            point("a lookup, most on chip", "loads", most_on_chip),
            point("a lookup, most off chip", "loads", most_off_chip),
            point("to /24, most off chip", "loads", reads(&fib, short.iter().copied()).most_off_chip),
            point("on chip", "MB", memory.total_on_chip() as f64 / MB),
        ]);
        if engine == "sail-l" {
            for (figure, at) in [("chunks, level 24", "chunks of level 24"), ("chunks, level 32", "N32")] {
                let chunks = fib.figures().iter().find(|one| one.name == figure).map_or(0.0, |one| one.value);
                let (unit, each) = if at == "N32" { ("entries", 256.0) } else { ("chunks", 1.0) };
                points.push(point(at, unit, chunks * each));
            }
        } else {
            points.push(point("an update, most on chip", "writes", most_written(lab, table, &mut fib)?));
        }
    }
    let bits = |levels: &mut dyn Iterator<Item = u8>| levels.map(|level| f64::from(1 << level)).sum::<f64>();
    let share = bits(&mut [6, 12, 18, PIVOT].into_iter()) / bits(&mut (0..=PIVOT));
    points.push(Point::computed("SAIL_U, less than SAIL_B", "on chip", "%", 100.0 * (1.0 - share)));
    points.push(Point::computed("bound", "on chip", "MB", BOUND_BYTES as f64 / MB));
    let views: Vec<_> = (0..TABLES).map(|number| super::tables::view(&table.rib, number)).collect();
    let many = SailM::<u32>::build(&views.iter().collect::<Vec<_>>(), Pages::Small)?;
    points.push(Point::new(
        "SAIL_M of 12 tables",
        "on chip",
        "MB",
        many.memory().total_on_chip() as f64 / MB,
    ));
    let within = |all: &[u32]| {
        100.0 * all.iter().filter(|address| length(address) <= PIVOT).count() as f64 / all.len().max(1) as f64
    };
    let realistic = within(&lab.trace(&lab.realistic(), &table.rib)?);
    let facts = Facts { traffic: lab.traffic()?, ..Facts::of(table) };
    points.push(Point::new("realistic traffic", "to /24", "% of addresses", realistic).on(&facts));
    let routes = table.rib.iter().filter(|route| route.prefix.len() <= PIVOT).count();
    let share = 100.0 * routes as f64 / table.rib.len().max(1) as f64;
    points.push(Point::new("prefixes", "to /24", "% of prefixes", share));
    let own = Facts::of(lab.table()?);
    let next_hops = f64::from(own.next_hops);
    points.push(Point::new("next hops", "of the table", "next hops", next_hops).on(&own));
    Ok(Finding::new("column", Plot::None, points).on(table).note(
        "Loads are the most of any address drawn from the prefixes or at random. Realistic traffic is that of \
         `--traffic`, or of Zipf's law.",
    ))
}

/// Returns the most words on chip that one of some updates writes.
fn most_written(lab: &Lab, table: &Named<u32>, fib: &mut Fib<u32>) -> Result<f64, Error> {
    let mut rib = table.rib.clone();
    let mut most = 0;
    for change in updates(&table.rib, UPDATES / lab.options.smaller, 1) {
        let Some(delta) = rib.apply(change) else { continue };
        if let Applied::InPlace(Cost { on_chip_writes, .. }) = fib.apply(&rib, &[delta])? {
            most = most.max(on_chip_writes);
        }
    }
    Ok(most as f64)
}

pub(super) fn section_6_1(lab: &Lab) -> Result<Finding, Error> {
    let engines: Vec<_> = BY_LEVEL.into_iter().chain([("SAIL_M", "sail-m")]).chain(ENGINES).collect();
    let table = table(lab)?;
    let (points, how) = if lab.options.smaller > 1 {
        (lab.differing(&table, &engines)?, "around every prefix and at random addresses: a quick look")
    } else {
        (
            lab.differing_of_all(&table, &engines)?,
            "for every address, with a flat table of all, as the paper does",
        )
    };
    let sampled = lab.differing(&table, &[("PBF", "pbf")])?;
    Ok(Finding::new("column", Plot::None, [points, sampled].concat())
        .in_part("PBF asks its filters one after the other, too slowly for all addresses")
        .note(format!(
            "Answers are compared {how}; those of PBF around every prefix and at random addresses."
        )))
}

pub(super) fn section_6_2(lab: &Lab) -> Result<Finding, Error> {
    let table = table(lab)?;
    let functions = PBF_BITS * std::f64::consts::LN_2;
    let pbf_cycles = CRC_CYCLES * KEY_BYTES * HASHES;
    let mut points = vec![
        Point::computed("PBF", "hashes of a filter", "hashes", functions.round()),
        Point::computed("PBF", "cycles of two CRC32", "cycles", pbf_cycles).beside(27.6),
        Point::computed("SAIL_L", "cycles by Figure 8", "cycles", super::speed::cycles()).beside(CYCLES),
    ];
    let fib = Fib::build_from(lab.engines, "pbf", &table.rib, Config::default())?;
    for kind in [TraceKind::Prefix, TraceKind::Random] {
        let addresses = lab.trace(&kind, &table.rib)?;
        // A probe reads the keys of a bucket, and the value of the one that is found.
        let probes = reads(&fib, addresses.iter().copied()).mean_off_chip / 2.0;
        points.push(Point::new("PBF", "probes of a lookup", "probes", probes).beside(1.003));
        let rows = lab.speed(&table, &addresses, &["sail-l", "pbf"], vec![1])?;
        if let [sail, pbf] = &rows[..] {
            let times =
                Point::new("SAIL_L / PBF", format!("{kind} traffic"), "times", mlps(sail) / mlps(pbf));
            points.push(times.beside(pbf_cycles / CYCLES));
        }
    }
    Ok(Finding::new("column", Plot::None, points)
        .on(&table)
        .note("The paper computes PBF's cycles from those of CRC32; here the engine `pbf` is measured, which asks its filters one after the other."))
}
