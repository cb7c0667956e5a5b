//! `fibula table sample`: some of a table's routes.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::Source;
use fibula_io::table::Tables;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Write a random part of a table, each route with the same chance
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many routes, both families together; all if the table has no more
    #[arg(value_name = "N")]
    count: usize,
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    /// The seed: the same one takes the same routes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read(&Source::from(self.input.as_str()))?;
        let Tables { ipv4, ipv6, next_hops } = &loaded.tables;
        let mut choice = Choice::new(self.count, ipv4.len() + ipv6.len(), self.seed);
        let sample = Tables { ipv4: choice.of(ipv4), ipv6: choice.of(ipv6), next_hops: next_hops.clone() };
        self.writing.write(&sample, output)?;
        Ok(verdict(&loaded))
    }
}

/// Selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm S). Each element
/// is taken with probability `needed / left`, which takes exactly as many as are needed.
struct Choice {
    needed: usize,
    left: usize,
    random: SplitMix64,
}

impl Choice {
    fn new(needed: usize, left: usize, seed: u64) -> Self {
        Self { needed, left, random: SplitMix64::seed_from_u64(seed) }
    }

    fn of<A: Address>(&mut self, rib: &Rib<A>) -> Rib<A> {
        rib.iter().filter(|_| self.take()).collect()
    }

    fn take(&mut self) -> bool {
        let drawn = (u128::from(self.random.next_u64()) * self.left as u128) >> 64; // below `left`
        let taken = drawn < self.needed as u128;
        self.left -= 1;
        self.needed -= usize::from(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(needed: usize, left: usize, seed: u64) -> Vec<usize> {
        let mut choice = Choice::new(needed, left, seed);
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
