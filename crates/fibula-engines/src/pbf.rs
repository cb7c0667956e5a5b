//! `pbf`: parallel Bloom filters, one a prefix length on chip, and hash tables off chip.
//!
//! Dharmapurikar, Krishnamurthy and Taylor, "Longest Prefix Matching Using Bloom Filters" (SIGCOMM
//! 2003; IEEE/ACM Transactions on Networking, 2006). SAIL's paper (Yang et al., SIGCOMM 2014,
//! section 6.2) compares its memory on chip with this one's.
//!
//! # Layout
//! ```text
//!           on chip                      off chip
//! length 1  counting filter, m1 bits     table: key a >> 31   ->  next hop
//! length 2  counting filter, m2 bits     table: key a >> 30   ->  next hop
//!    ...
//! length 32 counting filter, m32 bits    table: key a         ->  next hop
//! /0                                     next hop
//! ```
//! All filters are asked for an address, which hardware does at once. The lengths that pass are
//! tried from the longest on, each with one probe of its table, until one has the key. A filter has
//! k hashes and m = n k / ln 2 bits for its n keys: the load at which half its bits are set and a
//! false positive has the probability 2^-k. SAIL's paper derives k = 13 from the 1.003 probes that
//! PBF needs for a lookup: 18.755 bits a prefix ([`Aim::Hashes`]).
//!
//! # Updates
//! Each touches one table entry off chip and at most k bits on chip (`filtered`). The counters that
//! deletions need are the host's, off chip.
//!
//! # Worked example
//! 0.0.0.0/0 to 1, 10.0.0.0/8 to 2 and 10.1.0.0/16 to 3. For 10.1.2.3 the filters of lengths 8 and
//! 16 pass; the table of 16 answers 3. For 10.2.0.0 that of length 8 passes; its table answers 2.
//! For 11.0.0.0 none passes, and the default route answers.
//!
//! # What differs from the paper
//! - A lookup asks the filters one after another, and stops in a filter at the first bit that is
//!   not set. So it takes the time that SAIL's paper reckons with, not that of hardware.
//! - Hashes are those of Kirsch and Mitzenmacher, as SAIL's paper assumes: two make all others. The
//!   paper's hardware has k functions of the class H3.
//! - Lengths without any route have no filter. The paper has one for each, of a part of the memory
//!   that is the length's share of the prefixes.
//! - The paper's third system expands the prefixes to few lengths, to ask fewer filters:
//!   [`bloom`](super::bloom) does that.

use crate::blocks::bloom::Aim;
use crate::blocks::by_length::{ByLength, Keyed};
use crate::blocks::hashing::HashFunction;
use crate::blocks::probing::Combined;
use fibula::engine::{About, Config, Engine, Figure, Lookup, Meter, ParameterInfo, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Delta, Error, Rib};

/// The hashes of a filter by default: SAIL's paper, section 6.2.
pub const HASHES: u32 = 13;

/// The most hashes of a filter.
const HASHES_MAX: u32 = 32;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "pbf",
    paper: "Dharmapurikar, Krishnamurthy, Taylor, Longest Prefix Matching Using Bloom Filters, SIGCOMM 2003",
    year: 2003,
    updates: Updates::InPlace,
    parameters: &[ParameterInfo { name: "hashes", meaning: "hashes of every filter, 1 to 32, default 13" }],
    ..About::DEFAULT
};

/// The `pbf` engine; see the [module page](self).
#[derive(Clone, Debug)]
pub struct Pbf<W: Width>(ByLength<u32, W, Combined, 6>);

impl<W: Width> Lookup<u32> for Pbf<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.0.look_up_after_all(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        self.0.look_up_all::<true>(addresses, next_hops);
    }
}

impl<W: Width> Engine<u32> for Pbf<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let hashes = config.parameter("hashes", 1..=HASHES_MAX, HASHES)?;
        let lengths: Vec<u8> = (1..=u32::LONGEST).collect();
        let hashing = Combined(HashFunction::Murmur);
        Ok(Self(ByLength::build(rib, &lengths, hashing, Aim::Hashes(hashes), config.pages)?))
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        self.0.follow(rib, deltas).map_or(Update::Rebuild, Update::Applied)
    }

    fn memory(&self) -> Memory {
        self.0.memory(Memory::on_chip)
    }

    fn figures(&self) -> Vec<Figure> {
        self.0.figures()
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.0.validate(rib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::engine::Accesses;
    use fibula::testing::{apply, rib};
    use fibula::{NextHop, Prefix};

    fn worked_example() -> (Rib<u32>, Pbf<u8>) {
        let rib = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.0.0/16", 3)]);
        let engine = Pbf::build(&rib, &Config::default()).unwrap();
        (rib, engine)
    }

    #[test]
    fn the_worked_example() {
        let (rib, engine) = worked_example();
        assert_eq!([0x0A01_0203, 0x0A02_0000, 0x0B00_0000].map(|a| engine.lookup(a)), [3, 2, 1]);
        engine.validate(&rib).unwrap();
    }

    #[test]
    fn all_filters_are_asked_before_a_table() {
        let (_, engine) = worked_example();
        let mut accesses = Accesses::new();
        engine.lookup_metered(0x0A01_0203, &mut accesses);
        // Two filters of 13 bits each; the keys of a bucket and a value.
        assert_eq!((accesses.loads(), accesses.loads_on_chip()), (2 * 13 + 2, 2 * 13));
    }

    #[test]
    fn filters_on_chip_take_18_755_bits_a_prefix() {
        let mut rib: Rib<u32> = Rib::new();
        for network in 0..100_000_u32 {
            rib.insert(Prefix::new(network << 8, 24).unwrap(), NextHop(1));
        }
        let engine: Pbf<u8> = Pbf::build(&rib, &Config::default()).unwrap();
        let bits = 8.0 * engine.memory().total_on_chip() as f64 / rib.len() as f64;
        // Lengths without routes keep a filter of the least size.
        assert!((18.755..18.9).contains(&bits), "{bits}");
        let asked = engine.figures().into_iter().find(|figure| figure.name.contains("asked for")).unwrap();
        assert!((asked.value - 0.0122).abs() < 1e-4, "{}", asked.value);
    }

    #[test]
    fn an_update_writes_one_entry_and_at_most_k_bits() {
        let (mut rib, mut engine) = worked_example();
        let cost = apply(&mut engine, &mut rib, &[("10.1.2.0/24", 4)]);
        assert!(cost.entries_set == 1 && (1..=13).contains(&cost.on_chip_writes), "{cost:?}");
        assert_eq!([0x0A01_0203, 0x0A01_0300].map(|a| engine.lookup(a)), [4, 3]);
    }
}
