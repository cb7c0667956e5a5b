//! Tables 3 and 4: counting bits by one instruction or by many, and what has no counterpart.

use super::tables::{LARGEST, table};
use crate::lab::median;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::Rib;
use fibula::arch::{Isa, Kernel, Level, dispatch};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;
use std::hint::black_box;
use std::time::Instant;

/// Table 3 as printed, for one microengine: POP_COUNT and FFS.
const TABLE_3: (f64, f64) = (8.26, 3.00);

/// The bits of an address above the slots of a TrieC15/6 entry, and those that number its slots.
const ENTRY_BITS: u32 = 18;
const SLOT_BITS: u32 = 6;

/// Returns the bit maps of TrieC15/6 by the first bits of addresses: a bit for each slot at which
/// another answer or longer prefixes begin.
fn bit_maps(rib: &Rib<u128>) -> Vec<u64> {
    let mut maps = vec![1_u64; 1 << ENTRY_BITS];
    for range in rib.ranges() {
        let (entry, slot) = position(range.first);
        maps[entry] |= 1 << slot;
    }
    maps
}

/// Returns the entry and the slot of an address.
fn position(address: u128) -> (usize, u32) {
    let slots = (address >> (u128::BITS - ENTRY_BITS - SLOT_BITS)) as usize;
    (slots >> SLOT_BITS, slots as u32 & ((1 << SLOT_BITS) - 1))
}

/// Both counts of a lookup: the bits of the map, and those up to the slot.
trait Count {
    fn both(map: u64, slot: u32) -> (u32, u32);
}

/// By POP_COUNT.
struct Population;

impl Count for Population {
    #[inline(always)]
    fn both(map: u64, slot: u32) -> (u32, u32) {
        (map.count_ones(), (map << (u64::BITS - 1 - slot)).count_ones())
    }
}

/// By a loop over FFS, which finds the next set bit.
struct FindFirst;

impl Count for FindFirst {
    #[inline(always)]
    fn both(map: u64, slot: u32) -> (u32, u32) {
        let (mut all, mut up_to, mut left) = (0, 0, map);
        while left != 0 {
            up_to += u32::from(left.trailing_zeros() <= slot);
            all += 1;
            left &= left - 1;
        }
        (all, up_to)
    }
}

/// Counts for a list of maps and slots.
struct Counting<'m, C>(&'m [(u64, u32)], std::marker::PhantomData<C>);

impl<C: Count> Kernel for Counting<'_, C> {
    type Output = u64;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> u64 {
        let mut sum = 0;
        for &(map, slot) in self.0 {
            // Each count ends in a value of its own, as it does in a lookup.
            let (all, up_to) = black_box(C::both(map, slot));
            sum += u64::from(all ^ up_to);
        }
        sum
    }
}

/// Returns the million times a second that both counts are made.
fn rate<C: Count>(lab: &Lab<'_>, work: &[(u64, u32)]) -> f64 {
    let mut passes: Vec<f64> = (0..lab.options.passes)
        .map(|_| {
            let start = Instant::now();
            black_box(dispatch(Level::best(), Counting::<C>(work, std::marker::PhantomData)));
            work.len() as f64 / start.elapsed().as_secs_f64().max(1e-9) / 1e6
        })
        .collect();
    median(&mut passes)
}

pub(super) fn table_3(lab: &Lab<'_>) -> Result<Finding, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let maps = bit_maps(&table.rib);
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let work: Vec<(u64, u32)> = addresses
        .into_iter()
        .map(|address| {
            let (entry, slot) = position(address);
            (maps[entry], slot)
        })
        .collect();
    let (population, first) = (rate::<Population>(lab, &work), rate::<FindFirst>(lab, &work));
    let (paper, paper_first) = TABLE_3;
    let improvement = |fast: f64, slow: f64| 100.0 * (fast / slow.max(1e-9) - 1.0);
    let points = vec![
        Point::of_paper("POP_COUNT", "whole lookup", "Mlps", paper),
        Point::of_paper("FFS", "whole lookup", "Mlps", paper_first),
        Point::new("POP_COUNT", "both counts", "million a second", population),
        Point::new("FFS", "both counts", "million a second", first),
        Point::new("improvement", "counts here, lookup there", "%", improvement(population, first))
            .beside(improvement(paper, paper_first)),
    ];
    Ok(Finding::new("column", Plot::None, points)
        .in_part("the counts of a lookup's first level are timed alone: the engine is built for the instruction only")
        .note("Bit maps are those of TrieC15/6 on C-400K, for addresses drawn from the prefixes. Most have few bits, so the loop over FFS ends early; the paper's packets are the worst case."))
}

#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(super) fn table_4(_: &Lab<'_>) -> Result<Finding, Error> {
    Ok(Finding::impossible(
        "its rows are ways to spread a table over the IXP2800's SRAM channels and DRAM banks; a processor has one memory behind its caches",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;

    #[test]
    fn both_ways_count_the_same() {
        let mut random = 1_u64;
        for slot in 0..64 {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let map = random | 1;
            assert_eq!(Population::both(map, slot), FindFirst::both(map, slot));
        }
        assert_eq!(Population::both(0b1011, 1), (3, 2));
    }

    #[test]
    fn a_map_has_a_bit_where_an_answer_begins() {
        let mut rib: Rib<u128> = Rib::new();
        rib.insert("2002:4000::/18".parse().unwrap(), NextHop(1));
        rib.insert("2002:5000::/20".parse().unwrap(), NextHop(2));
        let maps = bit_maps(&rib);
        let (entry, slot) = position(0x2002_5000 << 96);
        assert_eq!((slot, maps[entry]), (16, 1 | 1 << 16 | 1 << 32));
    }
}
