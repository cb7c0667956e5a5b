//! Speed: one lookup after the other, and in batches.

use super::{ENGINES, tables};
use crate::lab::mlps;
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point, Span};
use fibula::{Address, Rib};
use fibula_io::trace::TraceKind;
use fibula_lab::bench::BenchRow;

/// Million lookups a second that the abstract names: the least and the greatest of the peaks.
const PEAKS: f64 = f64::midpoint(174.0, 240.0);

/// The longest prefixes that SAIL and DXR answer without their last level.
const LONG: u8 = 24;

/// What both ways of lookup say.
const WAYS: &str = "One by one, each lookup is a call of its own, whose address does not depend on the answer before; \
     batches are looked up together and their answers stored. The sources at hand do not tell the paper's loop.";

/// Returns million lookups a second of calls of their own, if they were measured.
pub(crate) fn one_by_one(row: &BenchRow) -> Option<Span> {
    row.ns_single.filter(|&ns| ns > 0.0).map(|ns| Span::from(1e3 / ns))
}

/// Measures engines with these addresses. Returns for each its speed in both ways, and for each but
/// the first how many times as fast as it the first is.
pub(crate) fn compared<A: Address>(
    lab: &Lab,
    table: &Named<A>,
    trace: &str,
    addresses: &[A],
    engines: &[(&str, &str)],
) -> Result<Vec<Point>, Error> {
    let names: Vec<&str> = engines.iter().map(|&(_, engine)| engine).collect();
    let rows = lab.speed(table, addresses, &names, vec![1])?;
    let facts = Facts::of(table);
    let mut points = Vec::new();
    for (way, speed) in
        [("batches", (|row| Some(mlps(row))) as fn(&BenchRow) -> _), ("one by one", one_by_one)]
    {
        let at = format!("{trace}, {way}");
        let speeds: Vec<(&str, Span)> =
            engines.iter().zip(&rows).filter_map(|(&(name, _), row)| Some((name, speed(row)?))).collect();
        points.extend(speeds.iter().map(|&(name, speed)| Point::new(name, &at, "Mlps", speed).on(&facts)));
        if let Some((&(first, fastest), others)) = speeds.split_first() {
            points.extend(others.iter().map(|&(name, speed)| {
                Point::new(format!("{first} / {name}"), &at, "times", fastest / speed).on(&facts)
            }));
        }
    }
    Ok(points)
}

pub(super) fn speed(lab: &Lab) -> Result<Finding, Error> {
    let mut points = vec![
        Point::computed("100 Gbit/s", "frames of 64 bytes", "Mlps", 100e9 / (84.0 * 8.0) / 1e6).beside(148.8),
        Point::computed("100 Gbit/s", "frames of 64 bytes", "ns", 84.0 * 8.0 / 100.0).beside(6.7),
    ];
    for table in tables(lab)? {
        for (name, kind) in [("random", TraceKind::Random), ("real", lab.realistic())] {
            let addresses = lab.trace(&kind, &table.rib)?;
            let mut compared = compared(lab, &table, name, &addresses, &ENGINES)?;
            for point in &mut compared {
                if point.series == "Poptrie" && name == "random" {
                    point.paper = Some(PEAKS);
                }
                if let Some(facts) = point.facts.as_mut().filter(|_| name == "real") {
                    facts.traffic = lab.traffic()?;
                }
            }
            points.extend(compared);
        }
    }
    Ok(Finding::new("addresses and way", Plot::None, points)
        .note(WAYS)
        .note("The paper's value is the middle of 174 and 240 million, which its abstract names for tables of 500,000 to 800,000 routes.")
        .note("Values above the 65,534 next hops of leaves of 16 bits are folded by the remainder. All engines give answers of the same width.")
        .note("Real destinations have the locality of `--traffic` on the table's prefixes, or are 65,536 destinations by Zipf's law."))
}

pub(super) fn longer_prefixes(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        let longer: Rib<u32> = table.rib.iter().filter(|route| route.prefix.len() > LONG).collect();
        if longer.is_empty() {
            continue;
        }
        let addresses = lab.trace(&TraceKind::Prefix, &longer)?;
        points.extend(compared(lab, &table, "longer than /24", &addresses, &ENGINES)?);
    }
    Ok(Finding::new("addresses and way", Plot::None, points).note(WAYS).note(
        "Addresses are drawn from the table's prefixes longer than /24 alone, and looked up in the whole table: SAIL and \
         DXR answer them in their last level.",
    ))
}

pub(super) fn ipv6(lab: &Lab) -> Result<Finding, Error> {
    lab.table6()?;
    let engines = [ENGINES[0], ENGINES[1], ("SAIL", "sail-l6")];
    let mut points = Vec::new();
    for table in lab.ipv6.iter().map(|table| crate::lab::narrow(table, super::NEXT_HOPS)) {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        points.extend(compared(lab, &table, "prefixes", &addresses, &engines)?);
    }
    Ok(Finding::new("addresses and way", Plot::None, points).note(WAYS).note(
        "SAIL's IPv6 is what the SAIL paper's section 7 describes; whether Poptrie's authors measured it, the sources at \
         hand do not tell.",
    ))
}
