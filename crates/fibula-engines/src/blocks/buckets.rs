//! A hash table of buckets: each is one cache line with a few slots, filled from the front.
//!
//! An entry is stored in its home bucket or, if that is full, in the next bucket that is not. A
//! lookup compares the keys of one bucket without a branch and continues only past a full bucket.
//! With two slots of three in use, 96 of 100 entries are at home in buckets of 7, and 95 in buckets
//! of 6.
//!
//! ```text
//! +-------+-------+-----+-------+---------+---------+-----+---------+
//! | key 0 | key 1 | ... | key n | value 0 | value 1 | ... | value n |    64 bytes
//! +-------+-------+-----+-------+---------+---------+-----+---------+
//! ```
//! A removal leaves no tombstone: an entry that is stored after the hole because its home was full
//! moves into it.

use super::table::{HashTable, Value};
use crate::blocks::hashing::{Key, Reduction, Scaled};
use fibula::engine::{Meter, Unmetered};
use fibula::parts::arch::prefetch;
use fibula::parts::memory::{Array, CACHE_LINE, Pages};
use std::marker::PhantomData;
use zerocopy::FromZeros;

/// A bucket. The slots from the first default value on are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
struct Bucket<K, V, const SLOTS: usize> {
    keys: [K; SLOTS],
    values: [V; SLOTS],
}

impl<K: Key, V: Value, const SLOTS: usize> Bucket<K, V, SLOTS> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.values[SLOTS - 1] != V::default()
    }

    /// Returns the number of slots in use.
    fn len(&self) -> usize {
        (0..SLOTS).find(|&slot| self.values[slot] == V::default()).unwrap_or(SLOTS)
    }

    fn entries(&self) -> impl Iterator<Item = (K, V)> {
        (0..self.len()).map(|slot| (self.keys[slot], self.values[slot]))
    }

    /// Returns the slot of `key`.
    fn slot_of(&self, key: K) -> Option<usize> {
        (0..self.len()).find(|&slot| self.keys[slot] == key)
    }

    fn put(&mut self, slot: usize, (key, value): (K, V)) {
        self.keys[slot] = key;
        self.values[slot] = value;
    }
}

/// A hash table of buckets of `SLOTS` slots. Its size is fixed: the owner replaces it with a larger
/// one in time.
///
/// ```
/// use fibula_engines::blocks::{buckets::Buckets, table::HashTable};
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// let hash = |key: u32| key.wrapping_mul(0x9E37_79B1);
/// let mut table: Buckets<u32, u16, 7> = Buckets::with_room_for(100, Pages::Small);
/// assert_eq!(table.set(hash(7), 7, 1), 0); // there was none
/// assert_eq!(table.set(hash(7), 7, 2), 1);
/// assert_eq!(table.get(hash(7), 7, &mut Unmetered), 2);
/// assert_eq!(table.remove(7, hash), 2);
/// assert!(table.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Buckets<K, V, const SLOTS: usize, R = Scaled>
where
    K: Key,
    V: Value,
{
    all: Array<Bucket<K, V, SLOTS>>,
    len: usize,
    reduction: PhantomData<R>,
}

impl<K: Key, V: Value, const SLOTS: usize, R: Reduction> HashTable<K, V> for Buckets<K, V, SLOTS, R> {
    type Reduction = R;

    /// Creates an empty table with three slots for every two of `entries`, and one more bucket.
    fn with_room_for(entries: usize, pages: Pages) -> Self {
        const { assert!(SLOTS > 0 && SLOTS <= 31 && size_of::<Bucket<K, V, SLOTS>>() == CACHE_LINE) }
        let buckets = (entries + entries / 2) / SLOTS + 1;
        Self { all: Array::zeroed(buckets, pages), len: 0, reduction: PhantomData }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    fn slots(&self) -> usize {
        self.all.len() * SLOTS
    }

    fn bytes(&self) -> usize {
        self.all.bytes()
    }

    /// Prefetches the home bucket of `hash`.
    #[inline(always)]
    fn prefetch(&self, hash: u32) {
        prefetch(&self.all, self.home(hash));
    }

    #[inline(always)]
    fn get(&self, hash: u32, key: K, meter: &mut impl Meter) -> V {
        let mut at = self.home(hash);
        loop {
            let bucket = &self.all[at];
            let keys = meter.load(&bucket.keys);
            let mut equal = 0_u32;
            for (slot, &other) in keys.iter().enumerate() {
                equal |= u32::from(other == key) << slot;
            }
            // The first slot with the key is its entry, or a free one that still holds key 0. If
            // there is no such slot, the last slot says whether the bucket is full and the lookup
            // continues.
            let slot = (equal | 1 << (SLOTS - 1)).trailing_zeros() as usize;
            let value = meter.load(&bucket.values[slot]);
            if (equal != 0) | (value == V::default()) {
                return value;
            }
            at = self.after(at);
        }
    }

    /// # Panics
    /// If the key is new and no slot is free.
    fn set(&mut self, hash: u32, key: K, value: V) -> V {
        debug_assert!(value != V::default(), "the default stands for no entry");
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.all[at];
            if let Some(slot) = bucket.slot_of(key) {
                return std::mem::replace(&mut bucket.values[slot], value);
            }
            if !bucket.is_full() {
                break;
            }
            at = self.after(at);
        }
        assert!(self.len + 1 < self.slots(), "a full hash table"); // a lookup ends at a free slot
        let bucket = &mut self.all[at];
        bucket.put(bucket.len(), (key, value));
        self.len += 1;
        V::default()
    }

    fn remove(&mut self, key: K, hash: impl Fn(K) -> u32) -> V {
        let mut at = self.home(hash(key));
        let slot = loop {
            let bucket = &self.all[at];
            if let Some(slot) = bucket.slot_of(key) {
                break slot;
            }
            if !bucket.is_full() {
                return V::default();
            }
            at = self.after(at);
        };
        let value = self.all[at].values[slot];
        self.vacate(at, slot, &hash);
        self.len -= 1;
        value
    }

    /// In hash order, so that [`resized`](HashTable::resized) walks both tables front to back.
    fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.all.iter().flat_map(Bucket::entries)
    }

    fn validate(&self, hash: impl Fn(K) -> u32) -> Result<(), String> {
        for (at, bucket) in self.all.iter().enumerate() {
            let free = bucket.len()..SLOTS;
            if free.clone().any(|slot| bucket.values[slot] != V::default()) {
                return Err(format!("bucket {at} has an entry after a free slot"));
            }
            for (key, value) in bucket.entries() {
                if self.get(hash(key), key, &mut Unmetered) != value {
                    return Err(format!("the entry of {key:?} in bucket {at} cannot be found"));
                }
            }
        }
        let entries = self.iter().count();
        if entries == self.len { Ok(()) } else { Err(format!("{entries} entries, {} counted", self.len)) }
    }
}

impl<K: Key, V: Value, const SLOTS: usize, R: Reduction> Buckets<K, V, SLOTS, R> {
    /// Returns the keys and values of each bucket, free slots included: their value is the default.
    #[must_use]
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = ([K; SLOTS], [V; SLOTS])> {
        self.all.iter().map(|bucket| (bucket.keys, bucket.values))
    }

    /// Frees a slot. The next entry that is displaced past this bucket moves in, and its slot is
    /// freed in the same way. If there is none, the last entry of the bucket moves in.
    fn vacate(&mut self, mut hole: usize, mut slot: usize, hash: &impl Fn(K) -> u32) {
        while let Some((from, moved)) = self.displaced_past(hole, hash) {
            let entry = (self.all[from].keys[moved], self.all[from].values[moved]);
            self.all[hole].put(slot, entry);
            (hole, slot) = (from, moved);
        }
        let bucket = &mut self.all[hole];
        let last = bucket.len() - 1;
        bucket.put(slot, (bucket.keys[last], bucket.values[last]));
        bucket.put(last, (K::new_zeroed(), V::default()));
    }

    /// Returns the first entry after bucket `full` that is displaced because that bucket was full.
    fn displaced_past(&self, full: usize, hash: &impl Fn(K) -> u32) -> Option<(usize, usize)> {
        let (mut at, mut distance) = (full, 0);
        while self.all[at].is_full() {
            (at, distance) = (self.after(at), distance + 1);
            let displaced = |(key, _)| {
                let home = self.home(hash(key));
                (at + self.all.len() - home) % self.all.len() >= distance
            };
            if let Some(slot) = self.all[at].entries().position(displaced) {
                return Some((at, slot));
            }
        }
        None
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        R::reduce(hash, self.all.len() as u32) as usize
    }

    /// Returns the index of the bucket after `at`; the first follows the last.
    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.all.len() { at + 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::chains::Chains;
    use crate::blocks::hashing::Remainder;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Few distinct hashes, so that buckets overflow, also from the last into the first.
    fn clumped(key: u64) -> u32 {
        [0, 1 << 30, u32::MAX][key as usize % 3]
    }

    #[test]
    fn an_entry_past_a_full_home_moves_into_the_hole() {
        let mut table: Buckets<u64, u8, 2> = Buckets::with_room_for(5, Pages::Small);
        assert_eq!(table.all.len(), 4);
        for key in [2, 5, 8, 0] {
            table.set(clumped(key), key, 1); // three at home in the last bucket, one in the first
        }
        assert_eq!(table.all[0].len(), 2);
        table.remove(5, clumped);
        assert_eq!(table.all[3].keys, [2, 8]);
        assert_eq!(table.all[0].keys, [0, 0]);
        assert_eq!(table.all[0].values, [1, 0]);
        table.validate(clumped).unwrap();
    }

    #[test]
    fn lost_entries_and_wrong_counts_are_found() {
        let mut table: Buckets<u64, u8, 2> = Buckets::with_room_for(9, Pages::Small);
        table.set(clumped(1), 1, 1);
        table.len = 2;
        assert_eq!(table.validate(clumped).unwrap_err(), "1 entries, 2 counted");
        assert!(table.validate(|_| u32::MAX).unwrap_err().contains("cannot be found"));
        table.all[0].values[1] = 3;
        assert_eq!(table.validate(clumped).unwrap_err(), "bucket 0 has an entry after a free slot");
    }

    fn is_a_map<T: HashTable<u64, u8>>(steps: &[(u64, u8)]) -> Result<(), TestCaseError> {
        let mut table = T::with_room_for(40, Pages::Small);
        let mut map = HashMap::new();
        for &(key, value) in steps {
            let before = if value == 0 {
                prop_assert_eq!(table.remove(key, clumped), map.remove(&key).unwrap_or(0));
                continue;
            } else {
                map.insert(key, value)
            };
            prop_assert_eq!(table.set(clumped(key), key, value), before.unwrap_or(0));
            table.validate(clumped).map_err(TestCaseError::fail)?;
        }
        let table = table.resized(50, Pages::Small, clumped);
        prop_assert_eq!(table.len(), map.len());
        for key in 0..40 {
            let found = table.get(clumped(key), key, &mut Unmetered);
            prop_assert_eq!(found, map.get(&key).copied().unwrap_or(0));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_table_is_a_map(steps in proptest::collection::vec((0..40_u64, 0..4_u8), 0..300)) {
            is_a_map::<Buckets<u64, u8, 4>>(&steps)?;
            is_a_map::<Buckets<u64, u8, 4, Remainder>>(&steps)?;
            is_a_map::<Chains<u64, u8, Remainder>>(&steps)?;
        }
    }
}
