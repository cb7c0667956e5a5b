//! `bloom-naive` and `bloom6-naive`: a Bloom filter and a hash table for each prefix length, up to
//! /64.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom
//! filters based approach" (Journal of Internet Services and Applications 9, 2018), section 3.1,
//! Algorithms 1 and 2; after Dharmapurikar, Krishnamurthy and Taylor (2006).
//!
//! # Layout
//! ```text
//! default route    next hop
//! length 1         filter: m1 bits    ->  table: key a >> 31   ->  next hop
//! length 2         filter: m2 bits    ->  table: key a >> 30   ->  next hop
//!    ...
//! length 32        filter: m32 bits   ->  table: key a         ->  next hop
//! ```
//! Storing a prefix (Algorithm 1) sets the k bits of its filter, counts them in the filter's
//! counters, and writes the table. A lookup (Algorithm 2) goes from length 32 down. If the filter
//! has all k bits for the first bits of the address, the lookup reads the table. The first entry
//! found is the longest match. If there is none, the default route answers.
//!
//! Hashes are draws of C's `rand` seeded with the key ([`Drawn`]), one for each bit and one for the
//! table. For IPv6 there are 64 lengths, and a tree for the routes longer than /64
//! (`by_length`).
//!
//! # Updates
//! Each touches one table entry and at most k bits of one filter
//! (`filtered`).
//!
//! # Worked example
//! 0.0.0.0/0 to 1, 10.0.0.0/8 to 2 and 10.1.0.0/16 to 3: lengths 8 and 16 have one key each, 0x0A
//! and 0x0A01. 10.1.2.3 tests the filter of length 16 with 0x0A01 and finds 3. 10.2.0.0 tests it
//! with 0x0A02, then that of length 8 with 0x0A, and finds 2. 11.0.0.0 ends at the default route.
//!
//! # What differs from the paper
//! - Lengths without any route are skipped without hashing.
//! - Each filter has its own size from the beginning. The paper introduces that with its Baseline.

use crate::blocks::bloom::Aim;
use crate::blocks::by_length::{ByLength, Keyed};
use crate::blocks::probing::Drawn;
use fibula::engine::{About, Config, Engine, Figure, Lookup, Meter, ParameterInfo, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Delta, Error, Rib};

/// What the tools print about `bloom-naive`.
pub const ABOUT: About = About {
    name: "bloom-naive",
    paper: "Lucchesi, Drummond, Teodoro, High-performance IP lookup using Intel Xeon Phi: a Bloom filters based \
            approach, JISA 9 (2018) (naive algorithm)",
    year: 2018,
    updates: Updates::InPlace,
    parameters: &[ParameterInfo {
        name: "fpr",
        meaning: "false positives of every filter in percent, 1 to 90, default 10",
    }],
    ..About::DEFAULT
};

/// What the tools print about `bloom6-naive`.
pub const ABOUT6: About = About { name: "bloom6-naive", ..ABOUT };

/// The default ratio of false positives in percent.
const PERCENT: u8 = 10;

/// A table with a filter for each length; buckets have `SLOTS` slots. See the [module page](self).
#[derive(Clone, Debug)]
pub struct Naive<A: Keyed, W: Width, const SLOTS: usize>(ByLength<A, W, Drawn, SLOTS>);

/// The `bloom-naive` engine.
pub type BloomNaive<W> = Naive<u32, W, 6>;

/// The `bloom6-naive` engine.
pub type Bloom6Naive<W> = Naive<u128, W, 4>;

impl<A: Keyed, W: Width, const SLOTS: usize> Lookup<A> for Naive<A, W, SLOTS> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        self.0.look_up(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        self.0.look_up_all::<false>(addresses, next_hops);
    }
}

impl<A: Keyed, W: Width, const SLOTS: usize> Engine<A> for Naive<A, W, SLOTS> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let percent = config.parameter("fpr", 1..=90, PERCENT)?;
        let lengths: Vec<u8> = (1..=A::LONGEST).collect();
        Ok(Self(ByLength::build(rib, &lengths, Drawn, Aim::Percent(percent), config.pages)?))
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        self.0.follow(rib, deltas).map_or(Update::Rebuild, Update::Applied)
    }

    fn memory(&self) -> Memory {
        self.0.memory(Memory::off_chip)
    }

    fn figures(&self) -> Vec<Figure> {
        self.0.figures()
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.0.validate(rib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use fibula::engine::Accesses;
    use fibula::testing::{apply, rib};

    #[test]
    fn the_worked_example() {
        let rib = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.0.0/16", 3)]);
        let engine: BloomNaive<u8> = BloomNaive::build(&rib, &Config::default()).unwrap();
        let figures = engine.figures();
        for (name, count) in
            [("filters with keys", 2), ("/16 filter: keys (n)", 1), ("/8 filter: keys (n)", 1)]
        {
            assert!(figures.contains(&Figure::count(name, count)), "{name}");
        }
        assert_eq!([0x0A01_0203, 0x0A02_0000, 0x0B00_0000].map(|a| engine.lookup(a)), [3, 2, 1]);
        // Four hashes for four bits of the filter; one hash, the keys of a bucket and one value for
        // the table.
        let mut accesses = Accesses::new();
        engine.lookup_metered(0x0A01_0203, &mut accesses);
        assert_eq!((accesses.hashes(), accesses.loads()), (5, 6));
        engine.validate(&rib).unwrap();
    }

    #[test]
    fn an_update_writes_one_entry_and_at_most_k_bits() {
        let mut rib = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2)]);
        let mut engine: BloomNaive<u8> = BloomNaive::build(&rib, &Config::default()).unwrap();
        let cost = apply(&mut engine, &mut rib, &[("10.1.0.0/16", 3)]);
        assert_eq!((cost.entries_set, cost.on_chip_writes), (1, 4));
        let cost = apply(&mut engine, &mut rib, &[("10.1.0.0/16", 4)]);
        assert_eq!((cost.entries_set, cost.on_chip_writes), (1, 0));
        let cost = apply(&mut engine, &mut rib, &[("10.1.0.0/16", 0), ("0.0.0.0/0", 0)]);
        assert_eq!((cost.entries_set, cost.on_chip_writes), (2, 4));
        assert_eq!([0x0A01_0203, 0x0B00_0000].map(|a| engine.lookup(a)), [2, 0]);
    }

    #[test]
    fn every_ratio_gives_the_same_answers() {
        let rib: Rib<u32> =
            rib(&[("10.0.0.0/8", 2), ("10.1.0.0/16", 3), ("10.1.2.0/24", 4), ("10.1.2.3/32", 5)]);
        for percent in [1, 50, 90] {
            let fib = crate::build(&format!("bloom-naive/fpr={percent}"), &rib).unwrap();
            fib.validate(&rib).unwrap();
            let found =
                [0x0A01_0203, 0x0A01_0202, 0x0A01_0302, 0x0AFF_0000].map(|a: u32| fib.lookup_index(a).0);
            assert_eq!(found, [5, 4, 3, 2]);
        }
        assert_eq!(
            crate::build("bloom-naive/fpr=0", &rib).unwrap_err().to_string(),
            "parameter fpr=0: expected 1 to 90"
        );
    }
}
