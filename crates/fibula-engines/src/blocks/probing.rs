//! How the hashes of a key are computed: those that probe a Bloom filter, and the one that gives
//! the home bucket.

use super::bloom::CountingFilter;
use crate::blocks::hashing::{HashFunction, Key, Rand, Reduction};
use fibula::engine::{Meter, Unmetered};
use std::fmt::Debug;

/// A method to compute the hashes of a key.
pub trait Hashing: Copy + Debug + Send + Sync + 'static {
    /// The hashes of one key.
    type Probes: Probes;

    /// Returns the hashes of `key`.
    fn probes<K: Key>(self, key: K, meter: &mut impl Meter) -> Self::Probes;

    /// Returns which keys of a block pass a filter: bit *i* for `keys[i]`. Only keys whose bit is
    /// set in `candidates` count. For each key that passes, writes the hash of its home bucket to
    /// `homes`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through several arrays")]
    fn survivors<K: Key, R: Reduction, const N: usize>(
        self,
        filter: &CountingFilter<R>,
        keys: &[K; N],
        candidates: u64,
        homes: &mut [u32; N],
    ) -> u64 {
        let mut passed = 0;
        for at in 0..N {
            let mut probes = self.probes(keys[at], &mut Unmetered);
            if candidates >> at & 1 == 1 && probes.pass(filter, &mut Unmetered) {
                passed |= 1 << at;
                homes[at] = probes.home(keys[at], &mut Unmetered);
            }
        }
        passed
    }
}

/// The hashes of one key, one after another.
pub trait Probes {
    /// Returns the hash that gives the home bucket of `key`, whose hashes these are.
    fn home<K: Key>(&self, key: K, meter: &mut impl Meter) -> u32;

    /// Returns the next hash for the filter.
    fn next(&mut self, meter: &mut impl Meter) -> u32;

    /// Returns whether the bits of all hashes are set in `filter`. Stops at the first that is not.
    #[inline(always)]
    fn pass<R: Reduction>(&mut self, filter: &CountingFilter<R>, meter: &mut impl Meter) -> bool {
        for _ in 0..filter.parameters().hashes {
            let position = filter.position(self.next(meter));
            if filter.bit(position, meter) == 0 {
                return false;
            }
        }
        true
    }
}

/// Every hash is an evaluation of its own, also the one for the table: draws of a [`Rand`] that the
/// key seeds.
#[derive(Clone, Copy, Debug)]
pub struct Drawn;

/// The hashes of [`Drawn`].
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    seed: Rand,
    next: Rand,
}

impl Hashing for Drawn {
    type Probes = Draws;

    #[inline(always)]
    fn probes<K: Key>(self, key: K, _: &mut impl Meter) -> Draws {
        let seed = Rand::seeded(key);
        Draws { seed, next: seed }
    }
}

impl Probes for Draws {
    #[inline(always)]
    fn home<K: Key>(&self, _: K, meter: &mut impl Meter) -> u32 {
        meter.hash();
        self.seed.clone().draw()
    }

    #[inline(always)]
    fn next(&mut self, meter: &mut impl Meter) -> u32 {
        meter.hash();
        self.next.draw()
    }
}

/// Two hashes make all others: g_i = h1 + i h2 (Kirsch and Mitzenmacher, "Less hashing, same
/// performance", 2008). h1 is the hash of the key and also serves the table; h2 is the hash of h1.
#[derive(Clone, Copy, Debug)]
pub struct Combined(pub HashFunction);

/// The hashes of [`Combined`].
#[derive(Clone, Copy, Debug)]
pub struct Combinations {
    first: u32,
    second: u32,
    current: u32,
}

impl Hashing for Combined {
    type Probes = Combinations;

    #[inline(always)]
    fn probes<K: Key>(self, key: K, meter: &mut impl Meter) -> Combinations {
        meter.hash();
        meter.hash();
        let first = self.0.hash(key);
        Combinations { first, second: self.0.hash(first), current: first }
    }

    /// Computes one hash for the whole block at a time: no branch on a bit of the filter, and
    /// arithmetic that becomes vector code.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through several arrays")]
    fn survivors<K: Key, R: Reduction, const N: usize>(
        self,
        filter: &CountingFilter<R>,
        keys: &[K; N],
        candidates: u64,
        homes: &mut [u32; N],
    ) -> u64 {
        const { assert!(N <= 64) }
        *homes = self.0.hash_all(keys);
        let seconds = self.0.hash_all(homes);
        let mut current = *homes;
        let mut positions = [0; N];
        let mut passed = candidates;
        for _ in 0..filter.parameters().hashes {
            for at in 0..N {
                current[at] = current[at].wrapping_add(seconds[at]);
                positions[at] = filter.position(current[at]);
            }
            let mut set = 0;
            for at in 0..N {
                set |= filter.bit(positions[at], &mut Unmetered) << at;
            }
            passed &= set;
        }
        passed
    }
}

impl Probes for Combinations {
    #[inline(always)]
    fn home<K: Key>(&self, _: K, _: &mut impl Meter) -> u32 {
        self.first
    }

    #[inline(always)]
    fn next(&mut self, _: &mut impl Meter) -> u32 {
        self.current = self.current.wrapping_add(self.second);
        self.current
    }
}

/// [`Combined`] for the filter, and for the table either h1 again or a hash of its own.
#[derive(Clone, Copy, Debug)]
pub struct Mixed {
    /// The hashes of the filter.
    pub filter: Combined,
    /// The hash function of the table; `None` reuses h1.
    pub table: Option<HashFunction>,
}

/// The hashes of [`Mixed`].
#[derive(Clone, Copy, Debug)]
pub struct Mixtures {
    filter: Combinations,
    table: Option<HashFunction>,
}

impl Hashing for Mixed {
    type Probes = Mixtures;

    #[inline(always)]
    fn probes<K: Key>(self, key: K, meter: &mut impl Meter) -> Mixtures {
        Mixtures { filter: self.filter.probes(key, meter), table: self.table }
    }

    /// Hashes the whole block for the table, too, also the keys that do not pass: that stays vector
    /// code without a branch.
    #[inline(always)]
    fn survivors<K: Key, R: Reduction, const N: usize>(
        self,
        filter: &CountingFilter<R>,
        keys: &[K; N],
        candidates: u64,
        homes: &mut [u32; N],
    ) -> u64 {
        let passed = self.filter.survivors(filter, keys, candidates, homes);
        if let Some(table) = self.table {
            *homes = table.hash_all(keys);
        }
        passed
    }
}

impl Probes for Mixtures {
    #[inline(always)]
    fn home<K: Key>(&self, key: K, meter: &mut impl Meter) -> u32 {
        match self.table {
            Some(table) => {
                meter.hash();
                table.hash(key)
            }
            None => self.filter.home(key, meter),
        }
    }

    #[inline(always)]
    fn next(&mut self, meter: &mut impl Meter) -> u32 {
        self.filter.next(meter)
    }
}
