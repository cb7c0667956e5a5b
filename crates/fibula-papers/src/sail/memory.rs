//! Figures 6 and 7, section 7: the bytes on chip.

use super::NEXT_HOPS;
use crate::lab::narrow;
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point};
use fibula::engine::{Config, Figure};
use fibula::{Fib, Rib};
use fibula_io::generate::{NextHopModel, Size, internet};

/// The bits of PBF's Bloom filters for a prefix (section 6.2): 13 hash functions at the optimal
/// load.
pub(super) const PBF_BITS: f64 = 18.755;

/// The paper's table rrc00: prefixes, and megabytes on chip.
const RRC00: (usize, f64) = (476_311, 0.759);
const PAPERS_BITS: f64 = 8.0 * MB * RRC00.1 / RRC00.0 as f64;

/// The bound on the bytes on chip (section 4.3): 17 bits for each entry of level 16, and one for
/// each of level 24.
pub(super) const BOUND_BYTES: usize = ((1 << 16) * 17 + (1 << 24)) / 8;

/// What the paper's text says of section 7: megabytes on chip, for some 14,000 prefixes.
const IPV6_MB: f64 = 2.2;
const IPV6_PREFIXES: f64 = 14_000.0;

/// The entries of a chunk.
const CHUNK: usize = 256;

/// The sizes of the made tables of Figure 6, in thousands of prefixes.
const THOUSANDS: [usize; 8] = [250, 300, 350, 400, 450, 500, 750, 1000];

pub(super) const MB: f64 = 1e6;

/// Returns the bytes on chip of SAIL_L with the paper's 16-bit entries of level 16, and with ours.
fn on_chip(lab: &Lab, rib: &Rib<u32>) -> Result<[usize; 2], Error> {
    let bytes = |engine| -> Result<usize, Error> {
        Ok(Fib::build_from(lab.engines, engine, rib, Config::default())?.memory().total_on_chip())
    };
    Ok([bytes(AS_PRINTED)?, bytes("sail-l")?])
}

/// SAIL_L with the paper's entries of level 16.
pub(super) const AS_PRINTED: &str = "sail-l/bcn16=16";

/// Returns the megabytes that the paper computes for PBF's filters.
fn pbf(prefixes: usize) -> f64 {
    PBF_BITS * prefixes as f64 / 8.0 / MB
}

/// Adds the points of a table.
fn add(
    points: &mut Vec<Point>,
    lab: &Lab,
    at: &str,
    table: &Named<u32>,
    paper: Option<f64>,
) -> Result<(), Error> {
    let rib = &narrow(table, NEXT_HOPS).rib;
    let [sixteen, ours] = on_chip(lab, rib)?;
    let bits = |bytes: usize| 8.0 * bytes as f64 / rib.len().max(1) as f64;
    let filters = Fib::build_from(lab.engines, "pbf", rib, Config::default())?.memory().total_on_chip();
    let new = [
        Point::new("SAIL_L, 16-bit entries", at, "MB", sixteen as f64 / MB).beside_any(paper),
        Point::new("SAIL_L, 16-bit entries", at, "bits a prefix", bits(sixteen)).beside(PAPERS_BITS),
        Point::new("SAIL_L, 32-bit entries", at, "MB", ours as f64 / MB),
        Point::new("PBF", at, "MB", filters as f64 / MB).beside(pbf(rib.len())),
        Point::new("PBF", at, "bits a prefix", bits(filters)).beside(PBF_BITS),
        Point::new("PBF", at, "prefixes", rib.len() as f64),
        Point::new("PBF / SAIL_L", at, "times", filters as f64 / sixteen.max(1) as f64),
    ];
    points.extend(new.map(|point| point.on(&Facts::of(table))));
    Ok(())
}

/// Returns the bits that section 7 keeps on chip: of each entry of levels 16 to 40 a bit of the map
/// and a chunk id of 16 bits, and of each entry of level 48 a bit.
fn papers_bits(figures: &[Figure]) -> usize {
    let chunks = |level: u8| {
        let name = format!("chunks of level {level}");
        figures.iter().find(|figure| figure.name == name).map_or(0, |figure| figure.value as usize)
    };
    let entries: usize = [24, 32, 40].into_iter().map(chunks).sum::<usize>() * CHUNK + (1 << 16);
    17 * entries + chunks(48) * CHUNK
}

/// What both figures say below.
fn explained(finding: Finding) -> Finding {
    finding
        .note(format!(
            "On chip are BCN16 and B24. The bound for any table is {BOUND_BYTES} bytes. PBF is the engine `pbf`; the paper computes {PBF_BITS} bits a prefix for it."
        ))
        .note("The paper's entries of level 16 have 16 bits: a flag, and a next hop of 8 bits or a chunk id of 15; `bcn16=16` has them. Ours have 32, so that no table is refused.")
}

pub(super) fn figure_6(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for thousands in THOUSANDS {
        let size = Size::ipv4(thousands * 1000 / lab.options.smaller);
        let rib = internet(size, NextHopModel::Near(NEXT_HOPS), 1)?.ipv4;
        let name = format!("{thousands}K");
        add(&mut points, lab, &name, &Named { name: "internet".into(), rib }, None)?;
    }
    points.push(Point::of_paper("SAIL_L, 16-bit entries", "476K", "MB", RRC00.1));
    points.push(Point::of_paper("PBF", "476K", "MB", pbf(RRC00.0)));
    Ok(explained(Finding::new("prefixes", Plot::Lines, points)).note(
        "Made tables stand for the six years of the paper, whose tables it does not print numbers for.",
    ))
}

pub(super) fn figure_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table()?;
    for table in &lab.ipv4 {
        // A table of about the size of rrc00 is set beside it.
        let alike = table.rib.len().abs_diff(RRC00.0) < RRC00.0 / 10;
        add(&mut points, lab, &table.name, table, alike.then_some(RRC00.1))?;
    }
    points.push(Point::of_paper("SAIL_L, 16-bit entries", "rrc00, 476,311 prefixes", "MB", RRC00.1));
    Ok(explained(Finding::new("table", Plot::Bars, points)))
}

pub(super) fn section_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table6()?;
    for table in &lab.ipv6 {
        let Named { name, rib } = table;
        let fib = Fib::<u128>::build_from(lab.engines, "sail-l6", rib, Config::default())?;
        let bytes: usize = fib.memory().parts.iter().filter(|part| part.on_chip).map(|part| part.bytes).sum();
        let at = format!("{name}, {} prefixes", rib.len());
        let bits = papers_bits(&fib.figures()) as f64;
        let name = "SAIL_L for IPv6";
        let paper =
            Point::new(format!("{name}, the paper's bits"), &at, "MB", bits / 8.0 / MB).beside(IPV6_MB);
        let each = bits / 8.0 / rib.len().max(1) as f64;
        let each = Point::new(format!("{name}, the paper's bits"), &at, "bytes a prefix", each);
        let own = Point::new(name, at, "MB", bytes as f64 / MB);
        points.extend(
            [paper, each.beside(MB * IPV6_MB / IPV6_PREFIXES), own].map(|point| point.on(&Facts::of(table))),
        );
    }
    Ok(Finding::new("table", Plot::Bars, points)
        .note("The paper keeps on chip the bit maps and chunk ids of levels 16 to 40, 17 bits an entry without next hops, and the bit map of level 48; entries here have 32 bits with next hops. Its figure is for some 14,000 prefixes of 2013. Maps on chip grow with the chunks of levels 24 to 48, so tables of today take more."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_on_chip_is_2_13_megabytes() {
        let mib = BOUND_BYTES as f64 / f64::from(1 << 20);
        assert_eq!(format!("{mib:.2}"), "2.13");
    }

    #[test]
    fn pbf_takes_18_755_bits_a_prefix() {
        // 24 filters share a false-positive ratio of 0.003: 13 hash functions, m / n = k / ln 2.
        let functions = (24.0_f64 / 0.003).log2().round();
        assert_eq!(
            (functions, format!("{:.3}", functions / std::f64::consts::LN_2)),
            (13.0, PBF_BITS.to_string())
        );
    }

    #[test]
    fn every_table_is_within_the_bound() {
        let options = crate::Options { smaller: 1, ..crate::Options::default() };
        let lab = Lab { engines: fibula_engines::all(), ipv4: Vec::new(), ipv6: Vec::new(), options };
        let rib = internet(Size::ipv4(20_000), NextHopModel::Near(200), 1).unwrap().ipv4;
        let [paper, ours] = on_chip(&lab, &rib).unwrap();
        assert!(paper < BOUND_BYTES && ours == paper + (2 << 16), "{paper} {ours}");
    }
}
