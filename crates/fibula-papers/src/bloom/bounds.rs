//! Sections 3 and 7: what the text says of the structures, and the rates of its conclusion in bits.

use crate::lab::{Reads, reads};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula_io::trace::TraceKind;

/// The engines whose answers are compared.
const IPV4: [(&str, &str); 4] = [
    ("Bloomfwd", "bloom/fpr=30"),
    ("Baseline", "bloom-base/fpr=30"),
    ("MIHT", "miht"),
    ("naive", "bloom-naive"),
];
const IPV6: [(&str, &str); 2] = [("Bloomfwdv6", "bloom6/levels=7/choice=dpcpe"), ("MIHTv6", "miht6")];

/// The best rates of the conclusion: millions a second, bytes of a packet, gigabits a second.
const BEST: [(f64, f64, f64); 2] = [(169.6, 64.0, 84.8), (182.7, 84.0, 119.9)];

/// The figure of the direct array.
const DIRECT: &str = "prefixes /0../20 after expansion";

pub(super) fn section_3(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let mut points: Vec<Point> = BEST
        .into_iter()
        .map(|(millions, bytes, gigabits)| {
            let (series, at) = (format!("{millions} million"), format!("packets of {bytes} bytes"));
            Point::computed(series, at, "Gbit/s", millions * bytes * 8.0 / 1e3).beside(gigabits)
        })
        .collect();
    let lengths = table.rib.statistics().lengths().filter(|&(length, _)| length > 0).count();
    points.push(Point::new("bloom-naive", "IPv4", "filters", lengths as f64));
    let fib = Fib::build_from(lab.engines, IPV4[0].1, &table.rib, Config::default())?;
    let direct = fib.figures().iter().find(|figure| figure.name == DIRECT).map_or(0.0, |figure| figure.value);
    points.push(Point::computed("direct array", "entries", "entries", direct));
    for (at, ratio) in [("that matches", 100), ("that matches nothing", 0)] {
        // A table with a default route has no address that misses.
        let Ok(addresses) = lab.trace(&TraceKind::Miss(ratio), &table.rib) else { continue };
        let Reads { mean, hashes, .. } = reads(&fib, addresses);
        points.push(Point::new(IPV4[0].0, at, "loads", mean));
        points.push(Point::new(IPV4[0].0, format!("hashes of a lookup, mean, {at}"), "hashes", hashes));
    }
    points.extend(lab.differing(table, &IPV4)?);
    if let Ok(table) = lab.table6() {
        points.extend(lab.differing(table, &IPV6)?);
    }
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note("The conclusion's rates in bits are some 2 % less than packets times bytes.")
        .note("A filter for each length is only there where the table has the length."))
}
