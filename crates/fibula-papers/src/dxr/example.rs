//! Sections 3 and 4: the example and the bounds that the text names, and whether answers are right.

use super::{SCHEMES, table};
use crate::lab::mlps;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::{NextHop, Rib};
use fibula_io::trace::TraceKind;

/// The example's routes: section 3.1. Next hops A, B, C and D are 1 to 4.
const EXAMPLE: [(&str, u32); 5] =
    [("0.0.0.0/0", 1), ("1.0.0.0/8", 2), ("1.2.0.0/16", 3), ("1.2.3.0/24", 4), ("1.2.4.5/32", 3)];

/// The example's ranges once neighbours with one next hop are merged.
const RANGES: f64 = 7.0;

/// The bits of a packet of 64 bytes on Ethernet, with preamble and gap, and those of a second.
const PACKET_BITS: f64 = 84.0 * 8.0;
const SECOND_BITS: f64 = 100e9;

/// The bytes of a prefix of Lulea, as the text has them.
const LULEA_BYTES: f64 = 4.5;

fn example() -> Result<Rib<u32>, Error> {
    EXAMPLE.into_iter().map(|(prefix, next_hop)| Ok((prefix.parse()?, NextHop(next_hop)))).try_fold(
        Rib::new(),
        |mut rib, route: Result<_, fibula::Error>| {
            let (prefix, next_hop) = route?;
            rib.insert(prefix, next_hop);
            Ok(rib)
        },
    )
}

pub(super) fn section_3(lab: &Lab) -> Result<Finding, Error> {
    let ranges = example()?.ranges().count() as f64;
    let mut points = vec![
        Point::computed("the example", "ranges after merging", "ranges", ranges).beside(RANGES),
        Point::computed("a million ranges", "steps of a search", "steps", 1e6_f64.log2().ceil()),
        Point::computed("100 Gbit/s", "packets of 64 bytes", "Mlps", SECOND_BITS / PACKET_BITS / 1e6),
    ];
    let table = table(lab)?;
    let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
    let rows = lab.speed(&table, &addresses, &["dxr18", "lulea"], vec![1])?;
    if let [dxr, lulea] = &rows[..] {
        let bytes = lulea.bytes as f64 / table.rib.len().max(1) as f64;
        points.push(Point::new("Lulea", "total", "bytes a prefix", bytes).beside(LULEA_BYTES));
        points.push(Point::new("D18R / Lulea", "random keys", "times", mlps(dxr) / mlps(lulea)));
    }
    Ok(Finding::new("column", Plot::None, points).on(&table).note(
        "The paper takes 144 million packets a second for 100 Gbit/s, some 3 % less than packets of 84 bytes with \
         preamble and gap.",
    ))
}

pub(super) fn section_4(lab: &Lab) -> Result<Finding, Error> {
    let table = table(lab)?;
    let points = lab.differing(&table, &SCHEMES.map(|scheme| (scheme.name, scheme.engine)))?;
    Ok(Finding::new("column", Plot::None, points).note(
        "Answers beside those of the oracle, around every prefix and at random addresses; `fibula verify --exhaustive` \
         compares all 2^32.",
    ))
}
