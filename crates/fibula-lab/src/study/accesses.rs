//! Counts the memory accesses of lookups.

use fibula::engine::Accesses;
use fibula::{Address, Fib};
use serde::Serialize;

/// The accesses of some lookups to the engine's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccessCount {
    /// Elements read in a lookup: the mean.
    pub loads: f64,
    /// Of these, elements of what the paper keeps on chip: the mean. 0 where a paper places
    /// nothing.
    pub loads_on_chip: f64,
    /// The most elements read in a lookup.
    pub loads_most: u32,
    /// The most elements read in a lookup before its first hash, or in all where it computes none.
    pub loads_before_hash_most: u32,
    /// Different cache lines touched in a lookup: the mean.
    pub lines: f64,
    /// Hashes computed in a lookup: the mean.
    pub hashes: f64,
    /// The most hashes computed in a lookup.
    pub hashes_most: u32,
}

/// Counts the accesses of the scalar lookup of each address. All zero for no addresses.
///
/// ```
/// use fibula::{Fib, Rib};
/// use fibula_lab::study::count_accesses;
/// let fib = Fib::build("dir24-8", &Rib::<u32>::new()).unwrap();
/// let count = count_accesses(&fib, &[0, 1, u32::MAX]);
/// assert_eq!((count.loads, count.loads_most, count.lines, count.hashes), (1.0, 1, 1.0, 0.0));
/// ```
#[must_use]
pub fn count_accesses<A: Address>(fib: &Fib<A>, addresses: &[A]) -> AccessCount {
    let (mut loads, mut on_chip, mut lines, mut hashes) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut count = AccessCount::default();
    let mut accesses = Accesses::new();
    for &address in addresses {
        accesses.clear();
        fib.lookup_counted(address, &mut accesses);
        loads += u64::from(accesses.loads());
        on_chip += u64::from(accesses.loads_on_chip());
        lines += accesses.lines() as u64;
        hashes += u64::from(accesses.hashes());
        count.loads_most = count.loads_most.max(accesses.loads());
        count.loads_before_hash_most = count.loads_before_hash_most.max(accesses.loads_before_hash());
        count.hashes_most = count.hashes_most.max(accesses.hashes());
    }
    let mean = |sum: u64| sum as f64 / addresses.len().max(1) as f64;
    AccessCount {
        loads: mean(loads),
        loads_on_chip: mean(on_chip),
        lines: mean(lines),
        hashes: mean(hashes),
        ..count
    }
}
