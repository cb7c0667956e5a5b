//! [`Slots`]: values by index. The index is what an engine answers, so a lookup leads here at once.

use super::store::Store;
use crate::arch::prefetch;
use crate::{Address, NextHop, Prefix, Rib};

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

/// Values by index. The value of index `i` is stored in slot `i - 1`, beside the length of a prefix
/// that leads to it.
#[derive(Clone, Debug)]
pub struct Slots<V> {
    values: Vec<Slot<V>>,
    /// The first free slot, which leads to the others.
    free: NextHop,
}

impl<V> Default for Slots<V> {
    fn default() -> Self {
        Self { values: Vec::new(), free: NextHop::NONE }
    }
}

impl<V> Slots<V> {
    /// Returns the number of slots in use. O(slots).
    pub(super) fn used(&self) -> usize {
        self.values.iter().filter(|slot| matches!(slot, Slot::Used { .. })).count()
    }

    /// Returns the bytes allocated, without what values own elsewhere.
    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<Slot<V>>()
    }

    /// Returns the index that the next value gets.
    ///
    /// # Panics
    /// If there are [`MOST`] values.
    pub(super) fn next(&self) -> NextHop {
        if self.free.is_some() {
            return self.free;
        }
        assert!(self.values.len() < MOST, "a table holds at most {MOST} routes of a family");
        NextHop(self.values.len() as u32 + 1)
    }

    /// Stores a value in a free slot, and returns its index. O(1) amortised.
    ///
    /// # Panics
    /// As [`Slots::next`].
    pub(super) fn insert(&mut self, len: u8, value: V) -> NextHop {
        let index = self.next();
        let used = Slot::Used { len, value };
        match self.values.get_mut(position(index)) {
            Some(slot) => {
                if let Slot::Free(next) = *slot {
                    self.free = next;
                }
                *slot = used;
            }
            None => self.values.push(used),
        }
        index
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
        self.class(index).map(|(_, value)| value)
    }

    /// Returns the length and the value of an index. `None` as of [`Slots::value`]. O(1).
    #[inline]
    pub(super) fn class(&self, index: NextHop) -> Option<(u8, &V)> {
        match self.values.get(position(index))? {
            Slot::Used { len, value } => Some((*len, value)),
            Slot::Free(_) => None,
        }
    }

    /// As [`Slots::class`], with the value to change.
    #[inline]
    pub(super) fn class_mut(&mut self, index: NextHop) -> Option<(u8, &mut V)> {
        match self.values.get_mut(position(index))? {
            Slot::Used { len, value } => Some((*len, value)),
            Slot::Free(_) => None,
        }
    }

    /// Returns the route of an index whose prefix contains `address`. `None` as of
    /// [`Slots::value`]. O(1).
    #[inline]
    pub(super) fn matching<A: Address>(&self, index: NextHop, address: A) -> Option<(Prefix<A>, &V)> {
        self.class(index).map(|(len, value)| (Prefix::containing(address, len), value))
    }

    /// Calls `found` for each of `indices` with its position, with the slots of the next
    /// prefetched.
    #[inline]
    pub(super) fn for_each(&self, indices: &[NextHop], mut found: impl FnMut(usize, NextHop)) {
        for &index in indices.iter().take(AHEAD) {
            prefetch(&self.values, position(index));
        }
        for (at, &index) in indices.iter().enumerate() {
            if let Some(&index) = indices.get(at + AHEAD) {
                prefetch(&self.values, position(index));
            }
            found(at, index);
        }
    }

    /// Returns the values of some indices, each of them once, in their order. O(k log k).
    pub(super) fn several_mut(&mut self, indices: &[NextHop]) -> Vec<Option<&mut V>> {
        // The slots are divided from the first to the last that is wanted.
        let mut order: Vec<usize> = (0..indices.len()).collect();
        order.sort_unstable_by_key(|&at| indices[at]);
        let mut values: Vec<Option<&mut V>> = indices.iter().map(|_| None).collect();
        let (mut slots, mut passed) = (self.values.iter_mut(), 0);
        for at in order {
            let position = position(indices[at]);
            if let Some(Slot::Used { value, .. }) = slots.nth(position - passed) {
                values[at] = Some(value);
            }
            passed = position + 1;
        }
        values
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

/// A slot for each route, whose index is the route's next hop.
impl<V> Store for Slots<V> {
    type Value = V;

    fn new() -> Self {
        Self::default()
    }

    fn reserve(&mut self, routes: usize) {
        self.values.reserve(routes);
    }

    fn add(&mut self, len: u8, value: V) -> NextHop {
        self.insert(len, value)
    }

    fn replace(&mut self, before: NextHop, _len: u8, value: V) -> (NextHop, V) {
        let (_, was) = self.class_mut(before).expect("a route has a value");
        (before, std::mem::replace(was, value))
    }

    fn release(&mut self, next_hop: NextHop) -> Option<V> {
        self.remove(next_hop)
    }

    fn remove(&mut self, next_hop: NextHop) -> Option<V> {
        Self::remove(self, next_hop)
    }

    fn slots(&self) -> &Self {
        self
    }

    #[inline]
    fn matching<A: Address>(&self, _rib: &Rib<A>, next_hop: NextHop, address: A) -> Option<(Prefix<A>, &V)> {
        self.matching(next_hop, address)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        for route in rib {
            let found = self.class(route.next_hop).map(|(len, _)| len);
            if found != Some(route.prefix.len()) {
                return Err(format!("{} leads to the slot of a /{found:?}", route.prefix));
            }
        }
        if self.used() != rib.len() {
            return Err(format!("{} routes in {} slots", rib.len(), self.used()));
        }
        Ok(())
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
        let mut slots = Slots::default();
        let indices = ["a", "b", "c"].map(|value| slots.insert(24, value));
        assert_eq!(indices, [1, 2, 3].map(NextHop));
        assert_eq!((slots.remove(NextHop(2)), slots.remove(NextHop(2))), (Some("b"), None));
        assert_eq!(slots.remove(NextHop(1)), Some("a"));
        let none = [NextHop(1), NextHop::NONE, NextHop(4)].map(|index| slots.value(index));
        assert_eq!(none, [None; 3]);
        let again = ["d", "e", "f"].map(|value| slots.insert(24, value));
        assert_eq!(again, [1, 2, 4].map(NextHop));
        assert_eq!(slots.class(NextHop(3)), Some((24, &"c")));
    }

    #[test]
    fn a_route_of_a_small_value_is_packed() {
        assert_eq!((size_of::<Slot<u32>>(), size_of::<Slot<u64>>()), (8, 8 + align_of::<u64>()));
    }
}
