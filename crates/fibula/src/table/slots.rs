//! [`Slots`]: prefixes and values by index. The index is the next hop of the route, so a lookup
//! leads here at once.

use crate::arch::prefetch;
use crate::{Address, NextHop, Prefix};

/// The most routes of one family: one for each 32-bit index except 0, which says "no route", and
/// the greatest.
const MOST: usize = u32::MAX as usize - 1;

/// How many slots before its own a slot is prefetched. Prefetching all of a batch first was slower:
/// the processor keeps fewer outstanding loads than that.
const AHEAD: usize = 32;

/// What a lookup needs of a route: with the address that was looked up, the length is the prefix.
/// It is a field of the variant, which packs it with its tag.
#[derive(Clone, Debug)]
enum Slot<V> {
    Used {
        len: u8,
        value: V,
    },
    /// Holds the index of the next free slot, or [`NextHop::NONE`].
    Free(NextHop),
}

/// The routes of one family. The route of index `i` is stored in slot `i - 1`.
#[derive(Clone, Debug)]
pub(super) struct Slots<A, V> {
    values: Vec<Slot<V>>,
    /// The first address of each slot's prefix. Lookups do not read it: fewer cache lines hold the
    /// slots without it.
    firsts: Vec<A>,
    /// The first free slot, which leads to the others.
    free: NextHop,
}

impl<A: Address, V> Slots<A, V> {
    pub(super) const fn new() -> Self {
        Self { values: Vec::new(), firsts: Vec::new(), free: NextHop::NONE }
    }

    pub(super) fn with_capacity(count: usize) -> Self {
        let mut slots = Self::new();
        slots.reserve(count);
        slots
    }

    pub(super) fn reserve(&mut self, count: usize) {
        self.values.reserve(count);
        self.firsts.reserve(count);
    }

    /// Returns the number of routes. O(slots).
    pub(super) fn used(&self) -> usize {
        self.values.iter().filter(|slot| matches!(slot, Slot::Used { .. })).count()
    }

    /// Returns the bytes allocated, without what values own elsewhere.
    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<Slot<V>>() + self.firsts.capacity() * size_of::<A>()
    }

    /// Stores a route in a free slot, and returns its index. O(1) amortised.
    ///
    /// # Panics
    /// If [`MOST`] routes are stored.
    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: V) -> NextHop {
        let used = Slot::Used { len: prefix.len(), value };
        if self.free.is_some() {
            let index = self.free;
            self.firsts[position(index)] = prefix.first();
            let slot = &mut self.values[position(index)];
            if let Slot::Free(next) = *slot {
                self.free = next;
            }
            *slot = used;
            return index;
        }
        assert!(self.values.len() < MOST, "a table holds at most {MOST} routes of a family");
        self.values.push(used);
        self.firsts.push(prefix.first());
        NextHop(self.values.len() as u32)
    }

    /// Frees a slot, and returns its value. `None` if it is free already.
    pub(super) fn remove(&mut self, index: NextHop) -> Option<V> {
        let slot = self.values.get_mut(position(index))?;
        if matches!(slot, Slot::Free(_)) {
            return None;
        }
        let removed = std::mem::replace(slot, Slot::Free(self.free));
        self.free = index;
        match removed {
            Slot::Used { value, .. } => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// Returns the value of an index. `None` for [`NextHop::NONE`] and for a free slot. O(1).
    #[inline]
    pub(super) fn value(&self, index: NextHop) -> Option<&V> {
        match self.values.get(position(index))? {
            Slot::Used { value, .. } => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// As [`Slots::value`], to change it.
    #[inline]
    pub(super) fn value_mut(&mut self, index: NextHop) -> Option<&mut V> {
        match self.values.get_mut(position(index))? {
            Slot::Used { value, .. } => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// Returns the route of an index. `None` as of [`Slots::value`]. O(1).
    #[inline]
    pub(super) fn get(&self, index: NextHop) -> Option<(Prefix<A>, &V)> {
        self.matching(index, *self.firsts.get(position(index))?)
    }

    /// As [`Slots::get`], for an index whose prefix contains `address`. Reads the slot alone.
    #[inline]
    pub(super) fn matching(&self, index: NextHop, address: A) -> Option<(Prefix<A>, &V)> {
        match self.values.get(position(index))? {
            Slot::Used { len, value } => Some((Prefix::containing(address, *len), value)),
            Slot::Free(_) => None,
        }
    }

    /// As [`Slots::matching`], with the value to change.
    #[inline]
    pub(super) fn matching_mut(&mut self, index: NextHop, address: A) -> Option<(Prefix<A>, &mut V)> {
        match self.values.get_mut(position(index))? {
            Slot::Used { len, value } => Some((Prefix::containing(address, *len), value)),
            Slot::Free(_) => None,
        }
    }

    /// Calls `found` with the position and the route of each of `indices`, whose prefix contains
    /// the address at the same position.
    #[inline]
    pub(super) fn matching_all<'s>(
        &'s self,
        indices: &[NextHop],
        addresses: &[A],
        mut found: impl FnMut(usize, Option<(Prefix<A>, &'s V)>),
    ) {
        for &index in indices.iter().take(AHEAD) {
            prefetch(&self.values, position(index));
        }
        for (at, (&index, &address)) in indices.iter().zip(addresses).enumerate() {
            if let Some(&index) = indices.get(at + AHEAD) {
                prefetch(&self.values, position(index));
            }
            found(at, self.matching(index, address));
        }
    }

    /// Returns every value, that of index `i` at `i - 1`. O(slots).
    pub(super) fn values_mut(&mut self) -> Vec<Option<&mut V>> {
        let value = |slot| match slot {
            &mut Slot::Used { ref mut value, .. } => Some(value),
            Slot::Free(_) => None,
        };
        self.values.iter_mut().map(value).collect()
    }
}

/// The slot of an index. [`NextHop::NONE`] has one past the end of any table.
#[inline]
pub(super) fn position(index: NextHop) -> usize {
    (index.0 as usize).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_reused_before_new_ones() {
        let prefix = Prefix::<u32>::ALL;
        let mut slots = Slots::new();
        let indices = ["a", "b", "c"].map(|value| slots.insert(prefix, value));
        assert_eq!(indices, [1, 2, 3].map(NextHop));
        assert_eq!((slots.remove(NextHop(2)), slots.remove(NextHop(2))), (Some("b"), None));
        assert_eq!(slots.remove(NextHop(1)), Some("a"));
        assert_eq!(
            (slots.get(NextHop(1)), slots.get(NextHop::NONE), slots.get(NextHop(4))),
            (None, None, None)
        );
        let again = ["d", "e", "f"].map(|value| slots.insert(prefix, value));
        assert_eq!(again, [1, 2, 4].map(NextHop));
        assert_eq!(slots.get(NextHop(3)), Some((prefix, &"c")));
    }

    #[test]
    fn a_route_of_a_small_value_is_packed() {
        assert_eq!((size_of::<Slot<u32>>(), size_of::<Slot<u64>>()), (8, 8 + align_of::<u64>()));
    }
}
