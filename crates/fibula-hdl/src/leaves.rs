//! What the /24s of a prefix answer.

use crate::far::Answers;
use fibula::{Prefix, Rib};

/// The level that ends in the near memory.
pub(crate) const PIVOT: u8 = 24;

/// The answer of a /24, or its answers where it has more-specific routes.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Answer(u32),
    Chunk(Box<Answers>),
}

/// Returns `prefix`, or the /24 that contains it.
pub(crate) fn up_to_pivot(prefix: Prefix<u32>) -> Prefix<u32> {
    Prefix::containing(prefix.first(), prefix.len().min(PIVOT))
}

/// Returns the /24s of `prefix` that have more-specific routes, in order.
pub(crate) fn internal(rib: &Rib<u32>, prefix: Prefix<u32>) -> Vec<u32> {
    let longer = rib.covered(prefix).filter(|route| route.prefix.len() > PIVOT);
    let mut slots: Vec<u32> = longer.map(|route| route.prefix.first() >> 8).collect();
    slots.dedup();
    slots
}

/// Returns the answers of a /24.
pub(crate) fn answers(rib: &Rib<u32>, slot: u32) -> Box<Answers> {
    let mut answers = Box::new([0; 256]);
    for range in rib.ranges_within(Prefix::containing(slot << 8, PIVOT)) {
        let (first, last) = ((range.first & 255) as usize, (range.last & 255) as usize);
        answers[first..=last].fill(range.next_hop.0);
    }
    answers
}

/// Returns the leaves of all /24s of `prefix`, which has at most 24 bits, in order.
pub(crate) fn leaves(rib: &Rib<u32>, prefix: Prefix<u32>) -> Vec<Leaf> {
    let first = prefix.first() >> 8;
    let mut leaves = vec![Leaf::Answer(0); 1 << (PIVOT - prefix.len())];
    for range in rib.ranges_within(prefix) {
        let (from, to) = ((range.first >> 8) - first, (range.last >> 8) - first);
        leaves[from as usize..=to as usize].fill(Leaf::Answer(range.next_hop.0));
    }
    for slot in internal(rib, prefix) {
        leaves[(slot - first) as usize] = Leaf::Chunk(answers(rib, slot));
    }
    leaves
}

/// Returns the prefixes of length `level` that `prefix` covers, or the one that covers it.
pub(crate) fn at_level(prefix: Prefix<u32>, level: u8) -> impl Iterator<Item = Prefix<u32>> {
    let shift = u32::from(32 - level);
    // Level 0 has one slot, and 32 bits cannot be shifted by 32.
    let (first, last) = (u64::from(prefix.first()) >> shift, u64::from(prefix.last()) >> shift);
    (first..=last).map(move |slot| Prefix::containing((slot << shift) as u32, level))
}
