//! A hash table of buckets: each a few slots that lie together, filled from the front.
//!
//! An entry stands in its home bucket; if that is full, in the next that is not. So a search is one bucket, compared as
//! a whole without a branch, and goes on only past a full one. With two slots of three in use, 97 of 100 entries
//! are at home in buckets of 8; a bucket of 8 slots of 8 bytes is one cache line.
//!
//! A removal leaves no mark: an entry that stands after the hole because its home was full moves into it.
//!
//! The table stores no hashes and chooses none: callers give the hash of each key, and a way to get it again where
//! entries move.

use super::hashing::{Key, reduce};
use crate::arch::prefetch;
use crate::engine::Meter;
use crate::memory::{Array, Pages};
use zerocopy::FromZeros;

/// What keys lead to. All zero bytes must be [`Default::default`], which stands for "no entry".
pub trait Value: Copy + Default + Eq + FromZeros + std::fmt::Debug + Send + Sync + 'static {}

impl<V: Copy + Default + Eq + FromZeros + std::fmt::Debug + Send + Sync + 'static> Value for V {}

/// A slot: an entry, or free if its value is the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
struct Slot<K, V> {
    key: K,
    value: V,
}

type Bucket<K, V, const SLOTS: usize> = [Slot<K, V>; SLOTS];

/// A hash table of buckets of `SLOTS` slots, of a fixed size: its owner makes a greater one in time.
///
/// ```
/// use fibula::blocks::buckets::Buckets;
/// use fibula::engine::Unmetered;
/// use fibula::memory::Pages;
/// let hash = |key: u32| key.wrapping_mul(0x9E37_79B1);
/// let mut table: Buckets<u32, u16, 8> = Buckets::with_room_for(100, Pages::Small);
/// assert_eq!(table.set(hash(7), 7, 1), 0); // there was none
/// assert_eq!(table.set(hash(7), 7, 2), 1);
/// assert_eq!(table.get(hash(7), 7, &mut Unmetered), 2);
/// assert_eq!(table.remove(7, hash), 2);
/// assert!(table.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Buckets<K, V, const SLOTS: usize>
where
    K: Key,
    V: Value,
{
    buckets: Array<Bucket<K, V, SLOTS>>,
    len: usize,
}

impl<K: Key, V: Value, const SLOTS: usize> Buckets<K, V, SLOTS> {
    /// An empty table: three slots for every two of `entries`, and a bucket more.
    #[must_use]
    pub fn with_room_for(entries: usize, pages: Pages) -> Self {
        let buckets = (entries + entries / 2) / SLOTS + 1;
        Self { buckets: Array::zeroed(buckets, pages), len: 0 }
    }

    /// The number of entries.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of slots, the free ones included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.buckets.len() * SLOTS
    }

    /// The bytes it occupies, free slots included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    /// Asks for the home bucket of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u32) {
        prefetch(&self.buckets, self.home(hash));
    }

    /// The value of a key; the default if it has none.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, hash: u32, key: K, meter: &mut impl Meter) -> V {
        let mut at = self.home(hash);
        loop {
            let bucket = meter.load(&self.buckets[at]);
            let value = find(&bucket, key).map_or(V::default(), |slot| bucket[slot].value);
            if value != V::default() || !is_full(&bucket) {
                return value;
            }
            at = self.after(at);
        }
    }

    /// Gives a key a value, which must not be the default, and returns the one before.
    ///
    /// # Panics
    /// If the key is new and no slot is free.
    pub fn set(&mut self, hash: u32, key: K, value: V) -> V {
        debug_assert!(value != V::default(), "the default stands for no entry");
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(slot) = occupied(bucket).iter().position(|slot| slot.key == key) {
                return std::mem::replace(&mut bucket[slot].value, value);
            }
            if !is_full(bucket) {
                break;
            }
            at = self.after(at);
        }
        assert!(self.len + 1 < self.slots(), "a full hash table"); // a search ends at a free slot
        let bucket = &mut self.buckets[at];
        bucket[occupied(bucket).len()] = Slot { key, value };
        self.len += 1;
        V::default()
    }

    /// Takes a key out and returns its value; the default if it had none.
    pub fn remove(&mut self, key: K, hash: impl Fn(K) -> u32) -> V {
        let mut at = self.home(hash(key));
        let slot = loop {
            let bucket = occupied(&self.buckets[at]);
            if let Some(slot) = bucket.iter().position(|slot| slot.key == key) {
                break slot;
            }
            if bucket.len() < SLOTS {
                return V::default();
            }
            at = self.after(at);
        };
        let value = self.buckets[at][slot].value;
        self.vacate(at, slot, &hash);
        self.len -= 1;
        value
    }

    /// The same entries in a table with room for `entries`. In hash order, so that both are walked front to back.
    #[must_use]
    pub fn resized(&self, entries: usize, pages: Pages, hash: impl Fn(K) -> u32) -> Self {
        let mut resized = Self::with_room_for(entries, pages);
        for (key, value) in self.iter() {
            resized.set(hash(key), key, value);
        }
        resized
    }

    /// Every key with its value, in no order of theirs.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.buckets.iter().flat_map(occupied).map(|slot| (slot.key, slot.value))
    }

    /// Checks that every entry can be found, and that none is lost from the count.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, hash: impl Fn(K) -> u32) -> Result<(), String> {
        let free = Slot { key: K::new_zeroed(), value: V::default() };
        for (at, bucket) in self.buckets.iter().enumerate() {
            if bucket[occupied(bucket).len()..].iter().any(|slot| *slot != free) {
                return Err(format!("bucket {at} has an entry after a free slot"));
            }
            for &Slot { key, value } in occupied(bucket) {
                if self.get(hash(key), key, &mut crate::engine::Unmetered) != value {
                    return Err(format!("the entry of {key:?} in bucket {at} cannot be found"));
                }
            }
        }
        let entries = self.iter().count();
        if entries == self.len { Ok(()) } else { Err(format!("{entries} entries, {} counted", self.len)) }
    }

    /// Frees a slot: an entry further on that is not at home moves in, whose slot is freed in the same way; if there is
    /// none, the last of the bucket does.
    fn vacate(&mut self, mut hole: usize, mut slot: usize, hash: &impl Fn(K) -> u32) {
        while let Some((from, moved)) = self.displaced_past(hole, hash) {
            self.buckets[hole][slot] = self.buckets[from][moved];
            (hole, slot) = (from, moved);
        }
        let bucket = &mut self.buckets[hole];
        let last = occupied(bucket).len() - 1;
        bucket[slot] = bucket[last];
        bucket[last] = Slot { key: K::new_zeroed(), value: V::default() };
    }

    /// The first entry after a bucket that is there because this bucket was full.
    fn displaced_past(&self, full: usize, hash: &impl Fn(K) -> u32) -> Option<(usize, usize)> {
        let (mut at, mut distance) = (full, 0);
        while is_full(&self.buckets[at]) {
            (at, distance) = (self.after(at), distance + 1);
            let displaced = |slot: &Slot<K, V>| {
                let home = self.home(hash(slot.key));
                (at + self.buckets.len() - home) % self.buckets.len() >= distance
            };
            if let Some(slot) = occupied(&self.buckets[at]).iter().position(displaced) {
                return Some((at, slot));
            }
        }
        None
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        reduce(hash, self.buckets.len() as u64)
    }

    /// The bucket after one; the first after the last.
    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.buckets.len() { at + 1 } else { 0 }
    }
}

/// The first slot with a key: of a key that is there, its entry; else a free slot or none.
#[inline(always)]
fn find<K: Key, V: Value, const SLOTS: usize>(bucket: &Bucket<K, V, SLOTS>, key: K) -> Option<usize> {
    const { assert!(SLOTS > 0 && SLOTS <= 32) }
    let mut equal = 0_u32;
    for (at, slot) in bucket.iter().enumerate() {
        equal |= u32::from(slot.key == key) << at;
    }
    (equal != 0).then_some(equal.trailing_zeros() as usize)
}

#[inline(always)]
fn is_full<K: Key, V: Value, const SLOTS: usize>(bucket: &Bucket<K, V, SLOTS>) -> bool {
    bucket[SLOTS - 1].value != V::default()
}

/// The slots in use: those from the front.
fn occupied<K: Key, V: Value, const SLOTS: usize>(bucket: &Bucket<K, V, SLOTS>) -> &[Slot<K, V>] {
    &bucket[..bucket.iter().position(|slot| slot.value == V::default()).unwrap_or(SLOTS)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Unmetered;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Few different hashes, so that buckets overflow, also from the last into the first.
    fn clumped(key: u64) -> u32 {
        [0, 1 << 30, u32::MAX][key as usize % 3]
    }

    #[test]
    fn an_entry_past_a_full_home_moves_into_the_hole() {
        let mut table: Buckets<u64, u8, 2> = Buckets::with_room_for(5, Pages::Small);
        assert_eq!(table.buckets.len(), 4);
        for key in [2, 5, 8, 0] {
            table.set(clumped(key), key, 1); // three at home in the last bucket, then one in the first
        }
        assert_eq!(occupied(&table.buckets[0]).len(), 2);
        table.remove(5, clumped);
        assert_eq!(table.buckets[3].map(|slot| slot.key), [2, 8]);
        assert_eq!(table.buckets[0].map(|slot| slot.key), [0, 0]);
        assert_eq!(table.buckets[0].map(|slot| slot.value), [1, 0]);
        table.validate(clumped).unwrap();
    }

    #[test]
    fn lost_entries_and_wrong_counts_are_found() {
        let mut table: Buckets<u64, u8, 2> = Buckets::with_room_for(9, Pages::Small);
        table.set(clumped(1), 1, 1);
        table.len = 2;
        assert_eq!(table.validate(clumped).unwrap_err(), "1 entries, 2 counted");
        assert!(table.validate(|_| u32::MAX).unwrap_err().contains("cannot be found"));
        table.buckets[0][1].value = 3;
        assert_eq!(table.validate(clumped).unwrap_err(), "bucket 0 has an entry after a free slot");
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0..40_u64, 0..4_u8), 0..300)) {
            let mut table: Buckets<u64, u8, 4> = Buckets::with_room_for(40, Pages::Small);
            let mut map = HashMap::new();
            for (key, value) in steps {
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
        }
    }
}
