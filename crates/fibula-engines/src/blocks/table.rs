//! [`HashTable`]: what a Bloom filter has behind it.

use crate::blocks::hashing::{Key, Reduction};
use fibula::engine::Meter;
use fibula::parts::memory::Pages;
use zerocopy::FromZeros;

/// The values of keys. All zero bytes must be [`Default::default`], which means "no entry".
pub trait Value: Copy + Default + Eq + FromZeros + std::fmt::Debug + Send + Sync + 'static {}

impl<V: Copy + Default + Eq + FromZeros + std::fmt::Debug + Send + Sync + 'static> Value for V {}

/// A map from keys to values. Its size is fixed: the owner replaces it with a larger one in time.
///
/// It stores no hashes and chooses none. Callers pass the hash of each key, and a function that
/// computes it again where entries move.
pub trait HashTable<K: Key, V: Value>: Clone + std::fmt::Debug + Sized + Send + Sync + 'static {
    /// How hashes are reduced to its size, and to that of the filter before it.
    type Reduction: Reduction;

    /// Creates an empty table for `entries` entries.
    #[must_use]
    fn with_room_for(entries: usize, pages: Pages) -> Self;

    /// Returns the number of entries.
    #[must_use]
    fn len(&self) -> usize;

    /// Returns whether there are no entries.
    #[must_use]
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of places to which hashes lead, or of slots where several share one.
    #[must_use]
    fn slots(&self) -> usize;

    /// Returns the bytes the table occupies, free room included.
    #[must_use]
    fn bytes(&self) -> usize;

    /// Prefetches what a lookup of `hash` reads first.
    fn prefetch(&self, hash: u32);

    /// Returns the value of `key`, or the default if it has none.
    #[must_use]
    fn get(&self, hash: u32, key: K, meter: &mut impl Meter) -> V;

    /// Sets the value of `key`, which must not be the default, and returns the previous one.
    fn set(&mut self, hash: u32, key: K, value: V) -> V;

    /// Removes `key` and returns its value, or the default if it had none.
    fn remove(&mut self, key: K, hash: impl Fn(K) -> u32) -> V;

    /// Returns every key with its value, in no particular order.
    fn iter(&self) -> impl Iterator<Item = (K, V)>;

    /// Returns the same entries in a table with room for `entries`.
    #[must_use]
    fn resized(&self, entries: usize, pages: Pages, hash: impl Fn(K) -> u32) -> Self {
        let mut resized = Self::with_room_for(entries, pages);
        for (key, value) in self.iter() {
            resized.set(hash(key), key, value);
        }
        resized
    }

    /// Checks that every entry can be found, and that the count includes all of them.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    fn validate(&self, hash: impl Fn(K) -> u32) -> Result<(), String>;
}
