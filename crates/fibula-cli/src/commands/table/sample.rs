//! `fibula table sample`: some of a table's routes.

use crate::exit::Verdict;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::Source;
use fibula_io::table::Tables;

/// Write a random part of a table, each route with the same chance
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many routes, both families together; all if the table has no more
    #[arg(value_name = "N")]
    count: usize,
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    /// What decides which routes: the same seed takes the same ones
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read(&Source::from(self.input.as_str()))?;
        let Tables { ipv4, ipv6, next_hops } = &loaded.tables;
        let mut choice = Choice { needed: self.count, left: ipv4.len() + ipv6.len(), state: self.seed };
        let sample = Tables { ipv4: choice.of(ipv4), ipv6: choice.of(ipv6), next_hops: next_hops.clone() };
        self.writing.write(&sample)?;
        Ok(verdict(&loaded))
    }
}

/// Selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm S): each element is taken with the
/// chance of `needed` in `left`, which takes exactly as many as are needed.
struct Choice {
    needed: usize,
    left: usize,
    state: u64,
}

impl Choice {
    fn of<A: Address>(&mut self, rib: &Rib<A>) -> Rib<A> {
        rib.iter().filter(|_| self.take()).collect()
    }

    fn take(&mut self) -> bool {
        let drawn = u128::from(self.random()) * self.left as u128 >> 64; // below `left`
        let taken = drawn < self.needed as u128;
        self.left -= 1;
        self.needed -= usize::from(taken);
        taken
    }

    /// The next number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(needed: usize, left: usize, seed: u64) -> Vec<usize> {
        let mut choice = Choice { needed, left, state: seed };
        (0..left).filter(|_| choice.take()).collect()
    }

    #[test]
    fn exactly_as_many_are_taken() {
        for (needed, left, expected) in [(0, 10, 0), (3, 10, 3), (10, 10, 10), (11, 10, 10), (5, 0, 0)] {
            assert_eq!(taken(needed, left, 7).len(), expected);
        }
        assert_ne!(taken(500, 1000, 1), taken(500, 1000, 2));
    }

    #[test]
    fn every_element_has_its_chance() {
        let mut counts = [0; 10];
        for seed in 0..1000 {
            for index in taken(5, 10, seed) {
                counts[index] += 1;
            }
        }
        assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
    }
}
