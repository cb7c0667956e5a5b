//! A Tofino-2: what tables take of it, where nothing is wasted.

use super::resail::{KEY_BITS, LONGEST, SHORTEST};
use crate::{Error, Finding, Lab, Plot, Point};

/// The stages (the authors' script: "21 stages > 20").
const STAGES: usize = 20;

/// The blocks of memory of a stage: of 1,024 words of 128 bits, and ternary ones of 512 words of 44
/// bits (the published compiler of the chip, and the abstract of MashUp, arXiv 2204.09813).
const BLOCKS: usize = 80;
const BLOCK_BITS: usize = 1024 * 128;
const TERNARY_BLOCKS: usize = 24;
const TERNARY_WORDS: usize = 512;
const TERNARY_BITS: usize = 44;

/// The bits of a next hop in the authors' programs.
pub(super) const NEXT_HOP_BITS: usize = 8;

/// The bits of a node of BSIC in them: endpoint, next hop, and for each child an index and whether
/// it is there.
const NODE_BITS: usize = 40 + NEXT_HOP_BITS + 2 * (16 + 1);

/// The abstract's prefixes: of RESAIL, of ternary memory alone and its share of today's table, and
/// of BSIC with how many times those of ternary memory alone.
const RESAIL_PREFIXES: f64 = 2.25e6;
const TERNARY_PREFIXES: f64 = 250e3;
const TERNARY_SHARE: f64 = 27.0;
const BSIC_PREFIXES: f64 = 390e3;
const BSIC_TIMES: f64 = 3.2;

/// The authors' sizes of RESAIL: look-aside words, slots of the hash table, and the blocks that the
/// compiler gave.
const RESAIL: [(usize, usize, usize); 5] = [
    (801, 1_167_053, 750),
    (1291, 1_876_612, 904),
    (1722, 2_502_158, 1040),
    (1829, 2_658_513, 1074),
    (1935, 2_814_902, 1108),
];

/// The authors' sizes of BSIC: prefixes, initial words, nodes by level, and blocks.
const BSIC: [(usize, usize, [usize; 14], usize); 2] = [
    (
        247_534,
        12_278,
        [
            12_206, 24_412, 28_572, 29_902, 32_810, 39_280, 48_292, 58_586, 58_082, 53_284, 46_298, 43_492,
            23_448, 8464,
        ],
        646,
    ),
    (
        389_270,
        14_925,
        [
            14_816, 29_632, 39_540, 43_176, 45_988, 53_252, 70_552, 93_548, 94_324, 84_320, 78_280, 81_884,
            46_896, 16_928,
        ],
        836,
    ),
];

/// Returns the bits of all bit maps.
pub(super) fn map_bits() -> usize {
    (SHORTEST..=LONGEST).map(|len| 1_usize << len).sum()
}

/// Returns the bits of a hash table.
pub(super) fn hash_bits(slots: usize) -> usize {
    slots * (usize::from(KEY_BITS) + NEXT_HOP_BITS)
}

/// Returns the number of blocks that hold a number of bits.
pub(super) fn blocks(bits: usize) -> f64 {
    bits.div_ceil(BLOCK_BITS) as f64
}

/// Returns the words of `bits` that all ternary blocks hold.
fn ternary_words(bits: usize) -> f64 {
    (STAGES * TERNARY_BLOCKS / bits.div_ceil(TERNARY_BITS) * TERNARY_WORDS) as f64
}

/// Returns the number of prefixes that fill 80 % of a hash table with a number of slots.
fn prefixes(slots: usize) -> f64 {
    slots as f64 / 1.25
}

#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(super) fn chip(_: &Lab) -> Result<Finding, Error> {
    let mut points = vec![
        Point::computed("Tofino-2", "blocks", "entries", (STAGES * BLOCKS) as f64),
        Point::computed("ternary alone", "IPv4 prefixes", "entries", ternary_words(32))
            .beside(TERNARY_PREFIXES),
        Point::computed("ternary alone", "IPv6 prefixes", "entries", ternary_words(64)),
    ];
    let today = prefixes(RESAIL[0].1);
    points.push(
        Point::computed("ternary alone", "of today's table", "% of all", 100.0 * TERNARY_PREFIXES / today)
            .beside(TERNARY_SHARE),
    );
    for (words, slots, compiled) in RESAIL {
        let at = prefixes(slots).round();
        let bits = map_bits() + hash_bits(slots) + words * NEXT_HOP_BITS;
        points.push(Point::computed("RESAIL", at, "entries", blocks(bits)).beside(compiled as f64));
    }
    let most = prefixes(RESAIL[RESAIL.len() - 1].1);
    points.push(
        Point::computed("RESAIL, most prefixes", "IPv4 prefixes", "entries", most).beside(RESAIL_PREFIXES),
    );
    for (prefixes, words, nodes, compiled) in BSIC {
        let bits: usize = nodes.iter().map(|nodes| nodes * NODE_BITS).sum();
        let computed = |series, value| Point::computed(series, prefixes, "entries", value);
        points.push(computed("BSIC", blocks(bits + words * NEXT_HOP_BITS)).beside(compiled as f64));
    }
    let (most, ..) = BSIC[1];
    points.push(
        Point::computed("BSIC, most prefixes", "IPv6 prefixes", "entries", most as f64).beside(BSIC_PREFIXES),
    );
    points.push(
        Point::computed("BSIC / ternary alone", "IPv6 prefixes", "times", most as f64 / ternary_words(64))
            .beside(BSIC_TIMES),
    );
    for ((prefixes, words, nodes, _), name) in BSIC.into_iter().zip(["first", "second"]) {
        let each = |count: usize| count as f64 / prefixes as f64;
        let series = format!("BSIC, the authors' {name} sizes");
        points.push(Point::computed(&series, "initial words", "% of prefixes", 100.0 * each(words)));
        points.push(Point::computed(&series, "nodes", "ranges a prefix", each(nodes.iter().sum())));
    }
    Ok(Finding::new("prefixes", Plot::None, points)
        .note("Blocks are the least that the bits take. The paper's values are what the compiler gave: it spreads tables over stages, and pads words.")
        .note("A ternary word of 64 bits takes two blocks side by side."))
}
