//! [`Slots`]: values by index. The index is what an engine answers, so a lookup leads here at once.

use super::store::{Replaced, Store};
use crate::arch::prefetch;
use crate::{Address, Error, Limit, NextHop, Prefix, Rib};

/// How many slots before its own a slot is prefetched. Prefetching all of a batch first was slower:
/// the processor keeps fewer outstanding loads than that.
const AHEAD: usize = 32;

/// The bytes of slots that are not worth a prefetch: the near caches hold them.
const NEAR: usize = 1 << 20;

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

/// Values by index. The last bits of an index may tell something else, and do not count. The value
/// of an index whose other bits are `i` is stored in slot `i - 1`, beside a length.
#[derive(Clone, Debug)]
pub struct Slots<V> {
    values: Vec<Slot<V>>,
    /// The first free slot, which leads to the others.
    free: NextHop,
    /// The number of last bits that do not count.
    other_bits: u32,
}

impl<V> Slots<V> {
    pub(super) fn new(other_bits: u32) -> Self {
        Self { values: Vec::new(), free: NextHop::NONE, other_bits }
    }

    /// Returns the most values: one for each index except those of 0, which say "no route", and
    /// the greatest.
    fn most(&self) -> usize {
        (u32::MAX >> self.other_bits) as usize - 1
    }

    /// Returns the slot of an index. [`NextHop::NONE`] has one past the end of any table.
    #[inline]
    pub(super) fn position(&self, index: NextHop) -> usize {
        ((index.0 >> self.other_bits) as usize).wrapping_sub(1)
    }

    /// Returns the index of a slot, whose other bits are 0.
    fn index(&self, position: usize) -> NextHop {
        NextHop((position as u32 + 1) << self.other_bits)
    }

    /// Returns the number of slots in use. O(slots).
    #[cfg(any(test, feature = "engines"))]
    pub(super) fn used(&self) -> usize {
        self.values.iter().filter(|slot| matches!(slot, Slot::Used { .. })).count()
    }

    /// Gives back the room behind the last slot.
    pub(super) fn shrink(&mut self) {
        self.values.shrink_to_fit();
    }

    /// Returns the bytes allocated, without what values own elsewhere.
    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<Slot<V>>()
    }

    /// Returns the index that the next value gets.
    ///
    /// # Errors
    /// If there are [as many](Self::most) values as indices.
    pub(super) fn next(&self) -> Result<NextHop, Error> {
        if self.free.is_some() {
            return Ok(self.free);
        }
        Limit::check("values of a family", self.values.len() as u64 + 1, self.most() as u64)?;
        Ok(self.index(self.values.len()))
    }

    /// Stores a value in a free slot, and returns its index. O(1) amortised.
    ///
    /// # Errors
    /// As [`Slots::next`].
    pub(super) fn insert(&mut self, len: u8, value: V) -> Result<NextHop, Error> {
        let (index, used) = (self.next()?, Slot::Used { len, value });
        let position = self.position(index);
        match self.values.get_mut(position) {
            Some(slot) => {
                if let Slot::Free(next) = *slot {
                    self.free = next;
                }
                *slot = used;
            }
            None => self.values.push(used),
        }
        Ok(index)
    }

    /// Frees a slot, and returns its value. `None` if it is free already.
    pub(super) fn remove(&mut self, index: NextHop) -> Option<V> {
        let position = self.position(index);
        let slot = self.values.get_mut(position)?;
        if matches!(slot, Slot::Free(_)) {
            return None;
        }
        let removed = std::mem::replace(slot, Slot::Free(self.free));
        self.free = self.index(position);
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
        match self.values.get(self.position(index))? {
            Slot::Used { len, value } => Some((*len, value)),
            Slot::Free(_) => None,
        }
    }

    /// As [`Slots::class`], with the value to change.
    #[inline]
    pub(super) fn class_mut(&mut self, index: NextHop) -> Option<(u8, &mut V)> {
        let position = self.position(index);
        match self.values.get_mut(position)? {
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

    /// Calls `found` for each of `indices` with its position and what is at that of `others`, which
    /// has as many. The slots of the next are prefetched if there are too many for the near caches.
    #[inline]
    pub(super) fn for_each<T: Copy>(
        &self,
        indices: &[NextHop],
        others: &[T],
        mut found: impl FnMut(usize, NextHop, T),
    ) {
        let both = indices.iter().zip(others).enumerate();
        if size_of_val(&self.values[..]) <= NEAR {
            return both.for_each(|(at, (&index, &other))| found(at, index, other));
        }
        for &index in indices.iter().take(AHEAD) {
            prefetch(&self.values, self.position(index));
        }
        for (at, (&index, &other)) in both {
            if let Some(&index) = indices.get(at + AHEAD) {
                prefetch(&self.values, self.position(index));
            }
            found(at, index, other);
        }
    }

    /// Returns the values of some indices, each of them once, in their order. O(k log k).
    pub(super) fn several_mut(&mut self, indices: &[NextHop]) -> Vec<Option<&mut V>> {
        // The slots are divided from the first to the last that is wanted.
        let mut order: Vec<usize> = (0..indices.len()).collect();
        order.sort_unstable_by_key(|&at| indices[at]);
        let mut values: Vec<Option<&mut V>> = indices.iter().map(|_| None).collect();
        let positions: Vec<usize> = indices.iter().map(|&index| self.position(index)).collect();
        let (mut slots, mut passed) = (self.values.iter_mut(), 0);
        for at in order {
            let position = positions[at];
            if let Some(Slot::Used { value, .. }) = slots.nth(position - passed) {
                values[at] = Some(value);
            }
            passed = position + 1;
        }
        values
    }

    /// Returns every value by its index, all bits of which count. O(slots).
    pub(super) fn values_mut(&mut self) -> Vec<Option<&mut V>> {
        debug_assert!(self.other_bits == 0);
        let value = |slot| match slot {
            &mut Slot::Used { ref mut value, .. } => Some(value),
            Slot::Free(_) => None,
        };
        std::iter::once(None).chain(self.values.iter_mut().map(value)).collect()
    }
}

/// A slot for each route, whose index is the route's next hop.
impl<V> Store for Slots<V> {
    type Value = V;

    fn new(_bits: u8) -> Self {
        Self::new(0)
    }

    fn reserve(&mut self, routes: usize) {
        self.values.reserve(routes);
    }

    fn shrink_to_fit(&mut self) {
        self.shrink();
    }

    fn try_add(&mut self, len: u8, value: V) -> Result<NextHop, Error> {
        self.insert(len, value)
    }

    fn replace(&mut self, next_hop: NextHop, value: V) -> Replaced<V> {
        match self.class_mut(next_hop) {
            Some((_, was)) => Replaced::Was(std::mem::replace(was, value)),
            None => Replaced::Apart(value),
        }
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

    #[cfg(any(test, feature = "engines"))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_reused_before_new_ones() {
        let mut slots = Slots::new(0);
        let indices = ["a", "b", "c"].map(|value| slots.insert(24, value).unwrap());
        assert_eq!(indices, [1, 2, 3].map(NextHop));
        assert_eq!((slots.remove(NextHop(2)), slots.remove(NextHop(2))), (Some("b"), None));
        assert_eq!(slots.remove(NextHop(1)), Some("a"));
        let none = [NextHop(1), NextHop::NONE, NextHop(4)].map(|index| slots.value(index));
        assert_eq!(none, [None; 3]);
        let again = ["d", "e", "f"].map(|value| slots.insert(24, value).unwrap());
        assert_eq!(again, [1, 2, 4].map(NextHop));
        assert_eq!(slots.class(NextHop(3)), Some((24, &"c")));
    }

    #[test]
    fn a_route_of_a_small_value_is_packed() {
        assert_eq!((size_of::<Slot<u32>>(), size_of::<Slot<u64>>()), (8, 8 + align_of::<u64>()));
    }
}
