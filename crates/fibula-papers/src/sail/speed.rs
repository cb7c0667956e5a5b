//! Figures 8 to 10 and 15, Table 2: speed beside the other algorithms, by level and by cores.

use super::NEXT_HOPS;
use super::memory::AS_PRINTED;
use crate::dxr::layouts;
use crate::lab::{mlps, mlps_of, narrow, ns};
use crate::{Error, Facts, Finding, Lab, Plot, Point, Span};
use fibula::Fib;
use fibula::engine::Config;
use fibula_engines::parallel::{Model, Order};
use fibula_io::trace::TraceKind;
use fibula_lab::study::count_accesses;

/// The engines of the figures: the paper's name of each, and ours.
pub(super) const ENGINES: [(&str, &str); 4] =
    [("SAIL_L", "sail-l"), ("LC-trie", "lc-trie"), ("Tree Bitmap", "tree-bitmap"), ("Lulea", "lulea")];

/// Later engines beside them.
const LATER: [&str; 3] = ["dxr18", "poptrie", "best"];

/// What the paper's text says of a kind of traffic.
struct Said {
    /// The range of SAIL_L's million lookups a second.
    mlps: (f64, f64),
    /// SAIL_L's speed divided by that of LC-trie, Tree Bitmap and Lulea: both ends of each range.
    times: [(f64, f64); 3],
}

const REAL: Said = Said { mlps: (673.22, 708.71), times: [(34.53, 58.88), (29.56, 31.44), (6.62, 7.66)] };
const PREFIX: Said = Said { mlps: (589.08, 624.65), times: [(56.58, 68.46), (26.68, 23.79), (7.61, 7.27)] };
const RANDOM: Said = Said { mlps: (231.47, 236.08), times: [(46.22, 54.86), (6.73, 6.95), (4.24, 4.81)] };

/// The cycles of a lookup that the paper derives from Figure 8, and its processor's clock in GHz.
pub(super) const CYCLES: f64 = 4.08;
const GHZ: f64 = 2.82;

/// Measures the figures' engines on all tables with 8-bit answers, and all engines with the answers
/// of the first table.
fn compared(lab: &Lab, kind: &TraceKind, said: &Said) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table()?;
    for narrow in lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)) {
        let facts = Facts::of(&narrow);
        let addresses = lab.trace(kind, &narrow.rib)?;
        let engines: Vec<&str> = ENGINES.iter().map(|(_, engine)| *engine).chain([AS_PRINTED]).collect();
        let rows = lab.speed(&narrow, &addresses, &engines, vec![1])?;
        let speeds: Vec<Span> = rows.iter().map(mlps).collect();
        if let Some(&printed) = speeds.last() {
            points.push(Point::new("SAIL_L, 16-bit entries", &narrow.name, "Mlps", printed).on(&facts));
        }
        let middle = |(a, b): (f64, f64)| f64::midpoint(a, b);
        let papers = [Some(middle(said.mlps)), None, None, None];
        for (((name, _), &speed), paper) in ENGINES.iter().zip(&speeds).zip(papers) {
            points.push(Point::new(*name, &narrow.name, "Mlps", speed).beside_any(paper).on(&facts));
        }
        for (((name, _), &speed), paper) in ENGINES.iter().zip(&speeds).skip(1).zip(said.times) {
            let times = Point::new(format!("SAIL_L / {name}"), &narrow.name, "times", speeds[0] / speed);
            points.push(times.beside(middle(paper)).on(&facts));
        }
    }
    let table = lab.table()?;
    let addresses = lab.trace(kind, &table.rib)?;
    let engines: Vec<&str> = ENGINES.iter().map(|(_, engine)| *engine).chain(LATER).collect();
    for row in lab.speed(table, &addresses, &engines, vec![1])? {
        points.push(Point::new(row.engine.clone(), &table.name, "Mlps, the table's own answers", mlps(&row)));
    }
    Ok(Finding::new("table", Plot::Bars, points)
        .on(table)
        .note(layouts(&table.rib)?)
        .note("The paper's values are the middle of the range that its text names. Answers have 8 bits as in the paper; then the table's own width, with later engines beside."))
}

pub(super) fn figure_8(lab: &Lab) -> Result<Finding, Error> {
    let finding = compared(lab, &lab.realistic(), &REAL)?
        .note("Other engines' lookups were made one by one in 2014. Here all have batch paths, so the distance between them is smaller.")
        .note("The paper's four cycles a lookup are not reached by SAIL_L here: a batch also reads its addresses from memory and writes each answer there. Whether the paper's loop does, it does not say.");
    Ok(finding.with_traffic(lab.traffic()?).in_part(
        "the provider's traffic is not public; the locality is that of `--traffic`, or of 65,536 destinations by Zipf's law",
    ))
}

pub(super) fn figure_9(lab: &Lab) -> Result<Finding, Error> {
    compared(lab, &TraceKind::Prefix, &PREFIX)
}

pub(super) fn figure_10(lab: &Lab) -> Result<Finding, Error> {
    compared(lab, &TraceKind::Random, &RANDOM)
}

/// Returns the cycles of a lookup by the middle of Figure 8's range.
pub(super) fn cycles() -> f64 {
    1e3 * GHZ / f64::midpoint(REAL.mlps.0, REAL.mlps.1)
}

/// What the ratios of the text come to, without any measurement.
#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(super) fn section_6_3(_: &Lab) -> Result<Finding, Error> {
    let ratios = [REAL, PREFIX, RANDOM].into_iter().flat_map(|said| said.times);
    let largest = ratios.flat_map(|(low, high)| [low, high]).fold(0.0, f64::max);
    let point = Point::computed("largest ratio", "the paper's text", "times", largest);
    Ok(Finding::new("column", Plot::None, vec![point])
        .note("The text's largest ratio is SAIL_L's speed over LC-trie's with prefix-based traffic."))
}

/// Splits addresses by the level that answers them: 16, 24 or 32.
fn by_level(fib: &Fib<u32>, addresses: Vec<u32>) -> [Vec<u32>; 3] {
    let mut levels: [Vec<u32>; 3] = Default::default();
    for address in addresses {
        // BCN16 alone; BN24 too; C24 and N32 too.
        let loads = count_accesses(fib, &[address]).loads_most;
        levels[if loads >= 3 { 2 } else { loads as usize - 1 }].push(address);
    }
    levels
}

pub(super) fn table_2(lab: &Lab) -> Result<Finding, Error> {
    let narrow = super::table(lab)?;
    let fib = Fib::build_from(lab.engines, "sail-l", &narrow.rib, Config::default())?;
    let mut points = Vec::new();
    let addresses = lab.trace(&TraceKind::Prefix, &narrow.rib)?;
    for (level, of) in [16, 24, 32].into_iter().zip(by_level(&fib, addresses)) {
        if of.is_empty() {
            continue;
        }
        let loads = count_accesses(&fib, &of);
        let addresses: Vec<u32> = of.iter().cycle().take(lab.options.addresses).copied().collect();
        let rows = lab.speed(&narrow, &addresses, &["sail-l"], vec![1])?;
        let Some(row) = rows.first() else { continue };
        let series = format!("level {level}");
        points.push(Point::new(&series, "loads on chip", "loads", loads.loads_on_chip));
        points.push(Point::new(&series, "loads off chip", "loads", loads.loads - loads.loads_on_chip));
        points.push(Point::new(&series, "batch", "ns", ns(row)));
        points.push(Point::new(&series, "single call", "ns", row.ns_single.unwrap_or_default()));
    }
    points.push(Point::of_paper("all levels, real traffic", "batch", "ns", CYCLES / GHZ));
    Ok(Finding::new("column", Plot::None, points)
        .on(&narrow)
        .in_part("instructions depend on the compiler: `cargo xtask instructions` counts those of every engine")
        .note("The paper's text: 3 instructions where level 16 answers, 10 where level 24 does; 4.08 cycles a lookup, which are set here as time at 2.82 GHz."))
}

pub(super) fn figure_15(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let rows = lab.speed(table, &addresses, &["sail-l"], lab.threads())?;
    let alone = rows.first().map_or(Span::from(1.0), mlps);
    let mut points = Vec::new();
    for row in &rows {
        let linear = mlps(row) / alone * (1.0 / row.threads as f64);
        points.push(Point::new("SAIL_L", row.threads, "Mlps", mlps(row)));
        let linear = Point::new("SAIL_L", row.threads, "of linear", linear).beside(1.0);
        points.extend((row.threads > 1).then_some(linear));
    }
    let shared = lab.shared("sail-l", &table.rib, &addresses)?;
    for &threads in &lab.options.threads {
        let at = format!("main thread and {}", threads - 1);
        for (way, model) in [("one by one", Model::RoundRobin), ("in chunks", Model::ByBatch)] {
            let mlps = mlps_of(&shared, threads, model, Order::Free);
            points.extend(mlps.map(|mlps| Point::new(format!("SAIL_L, dealt out {way}"), &at, "Mlps", mlps)));
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points).on(table).note(
        "The paper's text: the rate grows linearly to 35 cores, with one more that deals out the addresses.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Rib};

    #[test]
    fn addresses_are_split_by_the_level_that_answers() {
        let mut rib: Rib<u32> = Rib::new();
        for (prefix, next_hop) in [("10.0.0.0/8", 1), ("10.1.2.0/24", 2), ("10.2.3.4/32", 3)] {
            rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        let fib = fibula_engines::build("sail-l", &rib).unwrap();
        let levels = by_level(&fib, vec![0x0A00_0001, 0x0A01_0203, 0x0A02_0304, 0x0A02_0305, 0x0A01_FFFF]);
        assert_eq!(
            levels,
            [vec![0x0A00_0001], vec![0x0A01_0203, 0x0A01_FFFF], vec![0x0A02_0304, 0x0A02_0305]]
        );
    }
}
