//! Figures 6 and 7, section 7: the bytes on chip.

use crate::{Error, Finding, Lab, Named, Plot, Point};
use fibula::engine::Config;
use fibula::{Fib, Rib};
use fibula_io::generate::{NextHopModel, Size, internet};

/// The bits of PBF's Bloom filters for a prefix (section 6.2): 13 hash functions at the optimal
/// load.
const PBF_BITS: f64 = 18.755;

/// The paper's table rrc00: prefixes, and megabytes on chip.
const RRC00: (usize, f64) = (476_311, 0.759);

/// The bound on the bytes on chip (section 4.3): 17 bits for each entry of level 16, and one for
/// each of level 24.
const BOUND_BYTES: usize = ((1 << 16) * 17 + (1 << 24)) / 8;

/// What the paper's text says of section 7: megabytes on chip, for some 14,000 prefixes.
const IPV6_MB: f64 = 2.2;

/// The sizes of the made tables of Figure 6, in thousands of prefixes.
const THOUSANDS: [usize; 8] = [250, 300, 350, 400, 450, 500, 750, 1000];

const MB: f64 = 1e6;

/// Returns the bytes on chip of SAIL_L with the paper's 16-bit entries of level 16, and with ours.
fn on_chip(lab: &Lab, rib: &Rib<u32>) -> Result<(usize, usize), Error> {
    let memory = Fib::build_from(lab.engines, "sail-l", rib, Config::default())?.memory();
    let parts = memory.parts.iter().filter(|part| part.on_chip);
    let paper =
        parts.clone().map(|part| if part.name == "BCN16" { part.bytes / 2 } else { part.bytes }).sum();
    Ok((paper, parts.map(|part| part.bytes).sum()))
}

/// Returns the megabytes that the paper computes for PBF's filters.
fn pbf(prefixes: usize) -> f64 {
    PBF_BITS * prefixes as f64 / 8.0 / MB
}

/// Adds the points of a table.
fn add(
    points: &mut Vec<Point>,
    lab: &Lab,
    at: &str,
    rib: &Rib<u32>,
    paper: Option<f64>,
) -> Result<(), Error> {
    let (sixteen, ours) = on_chip(lab, rib)?;
    points.push(Point::new("SAIL_L, 16-bit entries", at, "MB", sixteen as f64 / MB).beside_any(paper));
    points.push(Point::new("SAIL_L, 32-bit entries", at, "MB", ours as f64 / MB));
    let filters = Fib::build_from(lab.engines, "pbf", rib, Config::default())?.memory().total_on_chip();
    points.push(Point::new("PBF", at, "MB", filters as f64 / MB).beside(pbf(rib.len())));
    Ok(())
}

/// What both figures say below.
fn explained(finding: Finding) -> Finding {
    finding
        .note(format!(
            "On chip are BCN16 and B24. The bound for any table is {BOUND_BYTES} bytes. PBF is the engine `pbf`; the paper computes {PBF_BITS} bits a prefix for it."
        ))
        .note("The paper's entries of level 16 have 16 bits: a flag, and a next hop of 8 bits or a chunk id of 15. Ours have 32, so that no table is refused.")
}

pub(super) fn figure_6(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for thousands in THOUSANDS {
        let size = Size::ipv4(thousands * 1000 / lab.options.smaller);
        let rib = internet(size, NextHopModel::Near(200), 1)?.ipv4;
        add(&mut points, lab, &format!("{thousands}K"), &rib, None)?;
    }
    points.push(Point::of_paper("SAIL_L, 16-bit entries", "476K", "MB", RRC00.1));
    points.push(Point::of_paper("PBF", "476K", "MB", pbf(RRC00.0)));
    Ok(explained(Finding::new("prefixes", Plot::Lines, points)).note(
        "Made tables stand for the six years of the paper, whose tables it does not print numbers for.",
    ))
}

pub(super) fn figure_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for Named { name, rib } in &lab.ipv4 {
        // A table of about the size of rrc00 is set beside it.
        let alike = rib.len().abs_diff(RRC00.0) < RRC00.0 / 10;
        add(&mut points, lab, name, rib, alike.then_some(RRC00.1))?;
    }
    points.push(Point::of_paper("SAIL_L, 16-bit entries", "rrc00, 476,311 prefixes", "MB", RRC00.1));
    Ok(explained(Finding::new("table", Plot::Bars, points)))
}

pub(super) fn section_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for Named { name, rib } in &lab.ipv6 {
        let fib = Fib::<u128>::build_from(lab.engines, "sail-l6", rib, Config::default())?;
        let bytes: usize = fib.memory().parts.iter().filter(|part| part.on_chip).map(|part| part.bytes).sum();
        let at = format!("{name}, {} prefixes", rib.len());
        points.push(Point::new("SAIL_L for IPv6", at, "MB", bytes as f64 / MB).beside(IPV6_MB));
    }
    if points.is_empty() {
        return Err(Error::none("the tables have no IPv6 routes"));
    }
    Ok(Finding::new("table", Plot::Bars, points)
        .note("The paper's figure is for some 14,000 prefixes of 2013. Maps on chip grow with the chunks of levels 24 to 48, so tables of today take more."))
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
        let (paper, ours) = on_chip(&lab, &rib).unwrap();
        assert!(paper < BOUND_BYTES && ours == paper + (2 << 16), "{paper} {ours}");
    }
}
