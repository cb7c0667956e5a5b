//! A hash table behind a counting Bloom filter: the pair that Bloom-filter engines keep for each
//! prefix length.
//!
//! Dharmapurikar, Krishnamurthy and Taylor, "Longest Prefix Matching Using Bloom Filters" (2006).
//! The small filter rejects most keys that are absent. The table is searched for all others and
//! always decides.
//!
//! Filter and table are sized for the entries they are built with, and rebuilt when that number has
//! changed by [one part in 16](SPARE). An update thus moves at most 16 entries on average for each
//! one added or removed. Memory and false positives drift no further than that from a fresh
//! build's.

use super::bloom::{Aim, CountingFilter, Parameters};
use super::buckets::Buckets;
use super::probing::{Hashing, Probes};
use super::table::{HashTable, Value};
use crate::blocks::hashing::Key;
use fibula::engine::{Cost, Figure, Meter, Unmetered};
use fibula::parts::memory::Pages;
use std::marker::PhantomData;

/// Filter and table are rebuilt when the number of entries is a `SPARE`th more or less than they
/// were built for.
pub const SPARE: usize = 16;

/// The number of entries that the smallest filter and table are sized for.
const ENTRIES_MIN: usize = 16;

/// A map from keys to values behind a filter; the default value means "no entry". `T` is the table;
/// where it is not said, it has buckets of `SLOTS` slots.
///
/// ```
/// use fibula_engines::blocks::hashing::HashFunction;
/// use fibula_engines::blocks::{bloom::Aim, filtered::Filtered, probing::Combined};
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// let hashing = Combined(HashFunction::Murmur);
/// let mut pair: Filtered<u32, u8, Combined, 7> =
///     Filtered::new(hashing, Aim::Percent(10), 1000, Pages::Small);
/// for key in 0..1000 {
///     pair.set(key, 7);
/// }
/// assert_eq!([999, 1000].map(|key| pair.get(key, &mut Unmetered)), [7, 0]);
/// assert!(pair.false_positives(1000..50_000).unwrap() < 0.2);
/// ```
#[derive(Clone, Debug)]
pub struct Filtered<K: Key, V: Value, H, const SLOTS: usize, T: HashTable<K, V> = Buckets<K, V, SLOTS>> {
    filter: CountingFilter<T::Reduction>,
    table: T,
    hashing: H,
    entries: PhantomData<(K, V)>,
    /// What the filter is sized for.
    aim: Aim,
    /// The number of entries that filter and table are sized for.
    planned: usize,
    pages: Pages,
}

/// The filter's result for a block of `N` keys.
#[derive(Clone, Copy, Debug)]
pub struct Survivors<const N: usize> {
    /// The keys that may have an entry: bit *i* for key *i*.
    pub passed: u64,
    /// For each of those, the hash that gives the entry's home bucket.
    homes: [u32; N],
}

impl<const N: usize> Default for Survivors<N> {
    fn default() -> Self {
        Self { passed: 0, homes: [0; N] }
    }
}

impl<const N: usize> Survivors<N> {
    /// Returns the indexes of the keys that passed, ascending.
    #[must_use]
    #[inline(always)]
    pub fn all(&self) -> Ones<N> {
        self.among(u64::MAX)
    }

    /// Returns the indexes of the keys that passed and whose bit is set in `wanted`, ascending.
    #[must_use]
    #[inline(always)]
    pub fn among(&self, wanted: u64) -> Ones<N> {
        Ones(self.passed & wanted)
    }
}

/// The positions of the set bits of a bit map of `N` bits, ascending.
#[derive(Clone, Debug)]
pub struct Ones<const N: usize>(pub u64);

impl<const N: usize> Iterator for Ones<N> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros() as usize % N;
        let any = self.0 != 0;
        self.0 &= self.0.wrapping_sub(1);
        any.then_some(at)
    }
}

impl<K: Key, V: Value, H: Hashing, const SLOTS: usize, T: HashTable<K, V>> Filtered<K, V, H, SLOTS, T> {
    /// Creates an empty pair for `entries` entries. `aim` decides the size of the filter.
    #[must_use]
    pub fn new(hashing: H, aim: Aim, entries: usize, pages: Pages) -> Self {
        let planned = entries.max(ENTRIES_MIN);
        Self {
            filter: CountingFilter::new(aim.parameters(planned), pages),
            table: T::with_room_for(planned, pages),
            hashing,
            entries: PhantomData,
            aim,
            planned,
            pages,
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the value of `key`, or the default if it has none. Tests the filter first.
    #[inline(always)]
    pub fn get<M: Meter>(&self, key: K, meter: &mut M) -> V {
        if self.is_empty() {
            return V::default();
        }
        let mut probes = self.hashing.probes(key, meter);
        if probes.pass(&self.filter, meter) {
            let home = probes.home(key, meter);
            self.table.get(home, key, meter)
        } else {
            V::default()
        }
    }

    /// Returns whether `key` passes the filter.
    #[inline(always)]
    pub fn passes<M: Meter>(&self, key: K, meter: &mut M) -> bool {
        !self.is_empty() && self.hashing.probes(key, meter).pass(&self.filter, meter)
    }

    /// Returns the value of `key` from the table alone. `meter` counts only the hash that is the
    /// table's own: the filter's have been counted as the key [passed](Self::passes) it.
    #[inline(always)]
    pub fn search<M: Meter>(&self, key: K, meter: &mut M) -> V {
        let home = self.hashing.probes(key, &mut Unmetered).home(key, meter);
        self.table.get(home, key, meter)
    }

    /// Returns the value of `key` from the table alone.
    #[must_use]
    pub fn peek(&self, key: K) -> V {
        self.search(key, &mut Unmetered)
    }

    /// Tests the filter for the keys of a block whose bit is set in `candidates`, and prefetches
    /// the home buckets of those that pass.
    #[inline(always)]
    pub fn survivors<const N: usize>(&self, keys: &[K; N], candidates: u64) -> Survivors<N> {
        const { assert!(N <= 64) }
        let mut survivors = Survivors::default();
        if !self.is_empty() {
            survivors.passed = self.hashing.survivors(&self.filter, keys, candidates, &mut survivors.homes);
            for at in survivors.all() {
                self.table.prefetch(survivors.homes[at]);
            }
        }
        survivors
    }

    /// Returns the value of a key that passed the filter, or the default if it was a false
    /// positive.
    #[inline(always)]
    pub fn survivor<const N: usize>(&self, survivors: &Survivors<N>, at: usize, key: K) -> V {
        self.table.get(survivors.homes[at], key, &mut Unmetered)
    }

    /// Sets the value of `key`; the default removes its entry. Returns the number of table entries
    /// written, moved ones included, and of filter words written.
    pub fn set(&mut self, key: K, value: V) -> Cost {
        let mut cost = Cost { entries_set: 1, ..Cost::default() };
        let hashing = self.hashing;
        if value == V::default() {
            if self.table.remove(key, |key| home(hashing, key)) == V::default() {
                return Cost::default();
            }
            cost.on_chip_writes = self.filter_each(key, CountingFilter::remove);
            if self.planned > ENTRIES_MIN && self.len() < self.planned - self.planned / SPARE {
                cost += self.make_again();
            }
        } else if self.table.set(home(hashing, key), key, value) == V::default() {
            cost.on_chip_writes = self.filter_each(key, CountingFilter::insert);
            if self.len() > self.planned + self.planned / SPARE {
                cost += self.make_again();
            }
        }
        cost
    }

    /// Returns the filter and the table, for readers of another form.
    #[must_use]
    pub fn parts(&self) -> (&CountingFilter<T::Reduction>, &T) {
        (&self.filter, &self.table)
    }

    /// Returns every key with its value, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.table.iter()
    }

    /// Returns the size of the filter.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.filter.parameters()
    }

    /// Returns the false-positive ratio of the filter: the share of those `keys` without an entry
    /// that pass. Returns `None` if all have an entry.
    #[must_use]
    pub fn false_positives(&self, keys: impl IntoIterator<Item = K>) -> Option<f64> {
        let (mut absent, mut passed) = (0_u32, 0_u32);
        for key in keys {
            if self.peek(key) == V::default() {
                absent += 1;
                let mut probes = self.hashing.probes(key, &mut Unmetered);
                passed += u32::from(probes.pass(&self.filter, &mut Unmetered));
            }
        }
        (absent > 0).then(|| f64::from(passed) / f64::from(absent))
    }

    /// Returns the figures that papers print of a pair called `name`. False positives are measured
    /// with `keys`.
    #[must_use]
    pub fn figures(&self, name: &str, keys: impl IntoIterator<Item = K>) -> Vec<Figure> {
        let Parameters { bits, hashes } = self.parameters();
        let mut figures = vec![
            Figure::count(format!("{name} filter: bits (m)"), bits as usize),
            Figure::count(format!("{name} filter: hashes (k)"), hashes as usize),
            Figure::count(format!("{name} filter: keys (n)"), self.len()),
            Figure::new(format!("{name} filter: false positives asked for, %"), self.aim.percent()),
        ];
        if let Some(met) = self.false_positives(keys) {
            figures.push(Figure::new(format!("{name} filter: false positives met, %"), met * 100.0));
        }
        figures.push(Figure::count(format!("{name} table: slots"), self.table.slots()));
        figures
    }

    /// Returns the bytes of the filter's bits, of its counters, and of the table.
    #[must_use]
    pub fn bytes(&self) -> [usize; 3] {
        [self.filter.bytes(), self.filter.counter_bytes(), self.table.bytes()]
    }

    /// Checks the table, the filter, and each against the other.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        self.table.validate(|key| home(self.hashing, key))?;
        let hashes = self.filter.parameters().hashes;
        self.filter.validate(self.iter().flat_map(|(key, _)| {
            let mut probes = self.hashing.probes(key, &mut Unmetered);
            (0..hashes).map(move |_| probes.next(&mut Unmetered))
        }))
    }

    /// Applies `change` to the filter for each hash of a key. Returns the number of bits changed.
    fn filter_each(
        &mut self,
        key: K,
        change: impl Fn(&mut CountingFilter<T::Reduction>, u32) -> bool,
    ) -> u64 {
        let mut probes = self.hashing.probes(key, &mut Unmetered);
        let hashes = self.filter.parameters().hashes;
        (0..hashes).map(|_| u64::from(change(&mut self.filter, probes.next(&mut Unmetered)))).sum()
    }

    /// Rebuilds filter and table for the present number of entries.
    fn make_again(&mut self) -> Cost {
        let hashing = self.hashing;
        let entries = self.len();
        let mut fresh = Self::new(hashing, self.aim, entries, self.pages);
        fresh.table = self.table.resized(fresh.planned, self.pages, |key| home(hashing, key));
        for (key, _) in self.table.iter() {
            fresh.filter_each(key, CountingFilter::insert);
        }
        *self = fresh;
        let words = self.filter.parameters().bits.div_ceil(64).into();
        Cost { entries_set: entries as u64, on_chip_writes: words, ..Cost::default() }
    }
}

/// Returns pseudo-random keys of `bits` bits, 1 to 64, the same every time, to measure false
/// positives with. They come from SplitMix64, which none of the [hash
/// functions](super::hashing) resembles.
pub fn random_keys(bits: u8) -> impl Iterator<Item = u64> {
    const COUNT: u64 = 1 << 16;
    (1..=COUNT).map(move |index| {
        let mut key = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        key = (key ^ key >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        key = (key ^ key >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (key ^ key >> 31) >> (64 - bits)
    })
}

fn home<K: Key>(hashing: impl Hashing, key: K) -> u32 {
    hashing.probes(key, &mut Unmetered).home(key, &mut Unmetered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::hashing::HashFunction;
    use crate::blocks::probing::{Combined, Drawn};

    type Pair<K, H> = Filtered<K, u16, H, 6>;

    /// Distinct 64-bit keys without a pattern.
    fn key(index: u32) -> u64 {
        u64::from(index).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ 0x94D0_49BB_1331_11EB
    }

    #[test]
    fn false_positives_are_about_as_many_as_asked_for() {
        for percent in [1, 10, 30] {
            for (_, function) in HashFunction::NAMED {
                let mut pair: Pair<u64, _> =
                    Filtered::new(Combined(function), Aim::Percent(percent), 5000, Pages::Small);
                for index in 0..5000 {
                    pair.set(key(index), 1);
                }
                let met = pair.false_positives((5000..55_000).map(key)).unwrap();
                let asked = f64::from(percent) / 100.0;
                assert!(met > asked * 0.5 && met < asked * 1.5, "{function:?}: {met} for {asked}");
            }
        }
    }

    fn grows_and_shrinks(hashing: impl Hashing) {
        let mut pair: Pair<u64, _> = Filtered::new(hashing, Aim::Percent(10), 0, Pages::Small);
        let empty = pair.bytes();
        let mut moved = 0;
        for index in 0..3000 {
            moved += pair.set(key(index), 1 + index as u16).entries_set;
        }
        assert!(moved <= 3000 * (SPARE as u64 + 2), "{moved} entries written");
        let fresh: Pair<u64, _> = Filtered::new(hashing, Aim::Percent(10), 3000, Pages::Small);
        for (lived, fresh) in pair.bytes().into_iter().zip(fresh.bytes()) {
            assert!(lived.abs_diff(fresh) <= fresh / 10, "{lived} bytes, {fresh} when made for it");
        }
        pair.validate().unwrap();
        for index in 0..3000 {
            assert_eq!(pair.get(key(index), &mut Unmetered), 1 + index as u16);
            pair.set(key(index), 0);
            assert_eq!(pair.get(key(index), &mut Unmetered), 0);
        }
        assert_eq!((pair.len(), pair.bytes(), pair.set(key(0), 0)), (0, empty, Cost::default()));
        pair.validate().unwrap();
    }

    #[test]
    fn filter_and_table_follow_the_number_of_entries() {
        grows_and_shrinks(Drawn);
        grows_and_shrinks(Combined(HashFunction::Knuth));
    }

    #[test]
    fn a_block_is_asked_as_key_by_key() {
        fn check(hashing: impl Hashing) {
            let mut pair: Pair<u32, _> = Filtered::new(hashing, Aim::Percent(20), 200, Pages::Small);
            for index in 0..200 {
                pair.set(index * 3, 1);
            }
            for first in 0..600 {
                let keys: [u32; 32] = std::array::from_fn(|at| first + at as u32);
                let candidates = 0x0FFF_FFF5;
                let survivors = pair.survivors(&keys, candidates);
                assert_eq!(survivors.passed & !candidates, 0);
                for (at, &key) in keys.iter().enumerate() {
                    let found = survivors.all().find(|&survivor| survivor == at);
                    let found = found.map_or(0, |at| pair.survivor(&survivors, at, key));
                    let asked = candidates >> at & 1 == 1;
                    assert_eq!(found, if asked { pair.get(key, &mut Unmetered) } else { 0 });
                }
            }
        }
        check(Drawn);
        check(Combined(HashFunction::H2));
    }

    #[test]
    fn an_entry_that_its_filter_denies_is_found() {
        let mut pair: Pair<u32, _> = Filtered::new(Drawn, Aim::Percent(1), 0, Pages::Small);
        pair.set(1, 1);
        pair.filter_each(1, CountingFilter::remove);
        assert!(pair.validate().unwrap_err().contains("expected 1"));
    }
}
