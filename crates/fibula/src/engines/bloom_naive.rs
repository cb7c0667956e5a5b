//! `bloom-naive`: a Bloom filter and a hash table for each prefix length.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom filters based approach"
//! (Journal of Internet Services and Applications 9, 2018), section 3.1, Algorithms 1 and 2; after Dharmapurikar,
//! Krishnamurthy and Taylor (2006).
//!
//! # Layout
//! ```text
//! default route    next hop
//! length 1         filter: m1 bits    ->  table: key a >> 31   ->  next hop
//! length 2         filter: m2 bits    ->  table: key a >> 30   ->  next hop
//!    ...
//! length 32        filter: m32 bits   ->  table: key a         ->  next hop
//! ```
//! Storing a prefix (Algorithm 1) sets the k bits of its filter, counts them in the filter's counters, and writes the
//! table. A lookup (Algorithm 2) goes from length 32 down: where all k bits of the first bits of the address are set,
//! the table is searched; the first entry found is the longest match. Where none is, the default route answers.
//! Hashes are draws of C's `rand` seeded with the key ([`Drawn`]), one for each bit and one for the table.
//!
//! # Updates
//! Each touches one table entry and at most k bits of one filter ([`filtered`](crate::blocks::filtered)).
//!
//! # Worked example
//! 0.0.0.0/0 to 1, 10.0.0.0/8 to 2 and 10.1.0.0/16 to 3: lengths 8 and 16 have one key each, 0x0A and 0x0A01. 10.1.2.3
//! asks the filter of length 16 about 0x0A01 and finds 3; 10.2.0.0 asks it about 0x0A02, then that of length 8 about 0x0A
//! and finds 2; 11.0.0.0 ends at the default route.
//!
//! # What differs from the paper
//! - Lengths without any route are passed over without hashing.
//! - Filters have sizes of their own from the beginning; the paper brings that up with its Baseline.

use crate::arch::Isa;
use crate::blocks::filtered::{Filtered, random_keys};
use crate::blocks::probing::Drawn;
use crate::engine::{
    About, Config, Cost, Engine, Figure, Meter, ParameterInfo, Unmetered, Update, Updates, Width,
};
use crate::memory::Memory;
use crate::{Delta, Error, NextHop, Prefix, Rib};

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "bloom-naive",
    paper: "Lucchesi, Drummond, Teodoro, High-performance IP lookup using Intel Xeon Phi: a Bloom filters based \
            approach, JISA 9 (2018) (naive algorithm)",
    year: 2018,
    updates: Updates::InPlace,
    limits: &[],
    parameters: &[ParameterInfo {
        name: "fpr",
        meaning: "false positives of every filter in percent, 1 to 90, default 10",
    }],
    preset: &[],
};

/// The ratio of false positives in percent where nothing else is asked for.
const PERCENT: u8 = 10;

/// The addresses that a batch takes down the lengths together.
const BLOCK: usize = 64;

/// A filter and a table. Keys are the first bits of addresses, right-aligned.
type Pair<W> = Filtered<u32, W, Drawn, 8>;

/// The pairs of the lengths 1 to 32, and the default route.
#[derive(Clone, Debug)]
pub struct BloomNaive<W: Width> {
    pairs: [Pair<W>; 32],
    default: W,
}

/// The first bits of an address, `len` of them, 1 to 32.
#[inline(always)]
fn segment(address: u32, len: u8) -> u32 {
    address >> (32 - len)
}

impl<W: Width> BloomNaive<W> {
    /// The pairs that have any entry, longest first, with their lengths.
    #[inline(always)]
    fn longest_first(&self) -> impl Iterator<Item = (u8, &Pair<W>)> {
        (1..=32).zip(&self.pairs).rev().filter(|(_, pair)| !pair.is_empty())
    }

    /// Algorithm 2.
    #[inline(always)]
    fn look_up<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        for (len, pair) in self.longest_first() {
            let next_hop = pair.get(segment(address, len), meter);
            if next_hop != W::default() {
                return next_hop;
            }
        }
        meter.load(&self.default)
    }

    /// Algorithm 2 for a block, in step: each length for all addresses that no longer one has answered.
    #[inline(always)]
    fn look_up_block(&self, addresses: &[u32; BLOCK], next_hops: &mut [W; BLOCK]) {
        let mut open = u64::MAX >> (64 - BLOCK);
        *next_hops = [self.default; BLOCK];
        for (len, pair) in self.longest_first() {
            let keys = addresses.map(|address| segment(address, len));
            let survivors = pair.survivors(&keys, open);
            for at in survivors.iter() {
                let next_hop = pair.survivor(&survivors, at, keys[at]);
                if next_hop != W::default() {
                    next_hops[at] = next_hop;
                    open &= !(1 << at);
                }
            }
        }
    }

    fn set(&mut self, prefix: Prefix<u32>, next_hop: NextHop) -> Cost {
        let next_hop = W::narrow(next_hop);
        let Some(at) = prefix.len().checked_sub(1) else {
            self.default = next_hop;
            return Cost { entries_set: 1, ..Cost::default() };
        };
        self.pairs[at as usize].set(segment(prefix.first(), prefix.len()), next_hop)
    }
}

impl<W: Width> Engine<u32, W> for BloomNaive<W> {
    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let percent = config.parameter("fpr", 1..=90, PERCENT)?;
        let mut lengths = [0; 33];
        for route in rib {
            lengths[usize::from(route.prefix.len())] += 1;
        }
        let pair = |at: usize| Pair::new(Drawn, percent, lengths[at + 1], config.pages);
        let mut engine = Self { pairs: std::array::from_fn(pair), default: W::default() };
        for route in rib {
            engine.set(route.prefix, route.next_hop);
        }
        Ok(engine)
    }

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.look_up(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        let (blocks, rest) = addresses.as_chunks::<BLOCK>();
        let (answers, answers_rest) = next_hops.as_chunks_mut::<BLOCK>();
        for (block, answers) in blocks.iter().zip(answers) {
            self.look_up_block(block, answers);
        }
        for (&address, answer) in rest.iter().zip(answers_rest) {
            *answer = self.look_up(address, &mut Unmetered);
        }
    }

    fn apply(&mut self, _: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let mut cost = Cost::default();
        for delta in deltas {
            cost += self.set(delta.prefix, delta.after);
        }
        Update::Applied(cost)
    }

    fn memory(&self) -> Memory {
        let sum = |part: usize| self.pairs.iter().map(|pair| pair.bytes()[part]).sum();
        Memory::new()
            .on_chip("filters", sum(0))
            .off_chip("tables", sum(2))
            .off_chip("default route", size_of::<W>())
            .off_chip("filter counters", sum(1))
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![Figure::count("filters with keys", self.longest_first().count())];
        for (len, pair) in self.longest_first() {
            figures.extend(pair.figures(&format!("/{len}"), random_keys(len).map(|key| key as u32)));
        }
        figures
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        let default = rib.get(Prefix::ALL).unwrap_or_default();
        if self.default.widen() != default {
            return Err(format!("default route to {:?}, expected {default:?}", self.default));
        }
        let mut entries = usize::from(default.is_some());
        for (len, pair) in (1..=32).zip(&self.pairs) {
            pair.validate().map_err(|contradiction| format!("length {len}: {contradiction}"))?;
            entries += pair.len();
            for (key, next_hop) in pair.iter() {
                let prefix = Prefix::containing(key << (32 - len), len);
                if rib.get(prefix) != Some(next_hop.widen()) {
                    return Err(format!("{prefix} to {next_hop:?} is not a route"));
                }
            }
        }
        if entries == rib.len() { Ok(()) } else { Err(format!("{entries} entries for {} routes", rib.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fib;
    use crate::engine::Accesses;
    use crate::engines::testing::{apply, rib};

    #[test]
    fn the_worked_example() {
        let rib = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.0.0/16", 3)]);
        let engine: BloomNaive<u8> = BloomNaive::build(&rib, &Config::default()).unwrap();
        let lengths: Vec<u8> = engine.longest_first().map(|(len, _)| len).collect();
        assert_eq!(lengths, [16, 8]);
        assert_eq!(engine.pairs[15].iter().collect::<Vec<_>>(), [(0x0A01, 3)]);
        assert_eq!(engine.pairs[7].iter().collect::<Vec<_>>(), [(0x0A, 2)]);
        assert_eq!([0x0A01_0203, 0x0A02_0000, 0x0B00_0000].map(|a| engine.lookup(a)), [3, 2, 1]);
        // Four hashes for the bits, four words of the filter; one hash and one bucket for the table.
        let mut accesses = Accesses::new();
        engine.lookup_metered(0x0A01_0203, &mut accesses);
        assert_eq!((accesses.hashes(), accesses.loads()), (5, 5));
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
    fn what_is_not_the_tables_is_found() {
        let rib = rib(&[("10.0.0.0/8", 2), ("10.1.0.0/16", 3)]);
        let fresh: BloomNaive<u8> = BloomNaive::build(&rib, &Config::default()).unwrap();
        let mut engine = fresh.clone();
        engine.pairs[15].set(0x0A01, 4);
        assert_eq!(engine.validate(&rib).unwrap_err(), "10.1.0.0/16 to 4 is not a route");
        engine.pairs[15].set(0x0A01, 0);
        assert_eq!(engine.validate(&rib).unwrap_err(), "1 entries for 2 routes");
        let mut engine = fresh;
        engine.default = 9;
        assert!(engine.validate(&rib).unwrap_err().starts_with("default route to 9"));
    }

    #[test]
    fn every_ratio_gives_the_same_answers() {
        let rib: Rib<u32> =
            rib(&[("10.0.0.0/8", 2), ("10.1.0.0/16", 3), ("10.1.2.0/24", 4), ("10.1.2.3/32", 5)]);
        for percent in [1, 50, 90] {
            let fib = Fib::build(&format!("bloom-naive/fpr={percent}"), &rib).unwrap();
            fib.validate(&rib).unwrap();
            let found = [0x0A01_0203, 0x0A01_0202, 0x0A01_0302, 0x0AFF_0000].map(|a: u32| fib.lookup(a).0);
            assert_eq!(found, [5, 4, 3, 2]);
        }
        assert_eq!(
            Fib::build("bloom-naive/fpr=0", &rib).unwrap_err().to_string(),
            "parameter fpr=0: expected 1 to 90"
        );
    }
}
