//! A radix tree as a kernel of 2012 used it: a lock around it, a reference to each route taken.

use fibula::Fib;
use fibula_lab::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, PoisonError, RwLock};
use std::time::Instant;

/// A table that every lookup locks for reading. The answer is a route whose references are counted.
pub(super) struct LockedTable {
    tree: RwLock<Fib<u32>>,
    references: Vec<AtomicU32>,
}

impl LockedTable {
    /// Puts a lock around a table with next hops up to `max`.
    pub(super) fn new(tree: Fib<u32>, max: u32) -> Self {
        Self { tree: RwLock::new(tree), references: (0..=max).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Looks an address up, and takes and returns a reference to its route.
    fn lookup(&self, address: u32) -> u32 {
        let next_hop = {
            let tree = self.tree.read().unwrap_or_else(PoisonError::into_inner);
            let next_hop = tree.lookup_index(address).0;
            self.references[next_hop as usize].fetch_add(1, Ordering::AcqRel);
            next_hop
        };
        self.references[next_hop as usize].fetch_sub(1, Ordering::AcqRel);
        next_hop
    }

    /// Returns the million lookups a second of `threads` threads, each over its own part of the
    /// addresses.
    pub(super) fn mlps(&self, addresses: &[u32], threads: usize) -> Result<f64, Error> {
        let barrier = Barrier::new(threads + 1);
        let parts: Vec<&[u32]> = addresses.chunks(addresses.len().div_ceil(threads).max(1)).collect();
        let part = |number: usize| parts.get(number).copied().unwrap_or_default();
        let elapsed = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|number| {
                    let (barrier, addresses) = (&barrier, part(number));
                    scope.spawn(move || {
                        barrier.wait();
                        black_box(
                            addresses.iter().map(|&address| u64::from(self.lookup(address))).sum::<u64>(),
                        )
                    })
                })
                .collect();
            barrier.wait();
            let start = Instant::now();
            let ended = workers.into_iter().all(|worker| worker.join().is_ok());
            ended.then(|| start.elapsed())
        });
        let elapsed = elapsed.ok_or_else(|| Error::elsewhere("a lookup thread panicked"))?;
        Ok(addresses.len() as f64 / elapsed.as_secs_f64().max(1e-9) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Rib};

    #[test]
    fn every_reference_is_returned() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(3));
        let table = LockedTable::new(Fib::build("radix", &rib).unwrap(), 3);
        assert_eq!((table.lookup(0x0A00_0001), table.lookup(0x0B00_0001)), (3, 0));
        let addresses: Vec<u32> = (0..1000).map(|at| 0x0A00_0000 + at).collect();
        assert!(table.mlps(&addresses, 3).unwrap() > 0.0);
        assert!(table.references.iter().all(|count| count.load(Ordering::Acquire) == 0));
    }
}
