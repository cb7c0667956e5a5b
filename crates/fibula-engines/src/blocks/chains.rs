//! A hash table of chains: each hash leads to a list of entries.
//!
//! ```text
//! heads   [hash reduced to their number]   number of the first entry of the chain, 0 for none
//! nodes   +-----+-------+------+
//!         | key | value | next |           number of the next entry, 0 for none
//!         +-----+-------+------+
//! ```
//! There are as many heads as entries that the table has room for. A lookup reads a head, and then
//! entry after entry of its chain. A removal moves the last entry into the hole.

use super::table::{HashTable, Value};
use crate::blocks::hashing::{Key, Reduction};
use fibula::engine::{Meter, Unmetered};
use fibula::parts::arch::prefetch;
use fibula::parts::memory::{Array, Pages};
use std::marker::PhantomData;

/// An entry of a chain.
#[derive(Clone, Copy, Debug)]
struct Node<K, V> {
    key: K,
    value: V,
    next: u32,
}

/// A hash table of chains; see the [module page](self).
///
/// ```
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// use fibula_engines::blocks::chains::Chains;
/// use fibula_engines::blocks::{hashing::Remainder, table::HashTable};
/// let hash = |key: u32| key;
/// let mut table: Chains<u32, u16, Remainder> = Chains::with_room_for(100, Pages::Small);
/// assert_eq!(table.set(hash(7), 7, 1), 0); // there was none
/// assert_eq!(table.set(hash(107), 107, 2), 0); // in the chain of 7
/// assert_eq!(table.get(hash(7), 7, &mut Unmetered), 1);
/// assert_eq!(table.remove(7, hash), 1);
/// assert_eq!(table.get(hash(107), 107, &mut Unmetered), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Chains<K, V, R> {
    heads: Array<u32>,
    nodes: Vec<Node<K, V>>,
    reduction: PhantomData<R>,
}

/// What holds the number of an entry.
#[derive(Clone, Copy)]
enum Link {
    Head(usize),
    Node(usize),
}

impl<K: Key, V: Value, R: Reduction> Chains<K, V, R> {
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        R::reduce(hash, self.heads.len() as u32) as usize
    }

    fn number(&self, link: Link) -> u32 {
        match link {
            Link::Head(at) => self.heads[at],
            Link::Node(at) => self.nodes[at].next,
        }
    }

    fn set_number(&mut self, link: Link, number: u32) {
        match link {
            Link::Head(at) => self.heads[at] = number,
            Link::Node(at) => self.nodes[at].next = number,
        }
    }

    /// Returns what holds the number of the entry that is `wanted`, if it is in the chain of a
    /// hash.
    fn find(&self, hash: u32, wanted: impl Fn(usize) -> bool) -> Option<Link> {
        let mut link = Link::Head(self.home(hash));
        loop {
            let at = (self.number(link) as usize).checked_sub(1)?;
            if wanted(at) {
                return Some(link);
            }
            link = Link::Node(at);
        }
    }
}

impl<K: Key, V: Value, R: Reduction> HashTable<K, V> for Chains<K, V, R> {
    type Reduction = R;

    fn with_room_for(entries: usize, pages: Pages) -> Self {
        Self {
            heads: Array::zeroed(entries.max(1), pages),
            nodes: Vec::with_capacity(entries),
            reduction: PhantomData,
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn slots(&self) -> usize {
        self.heads.len()
    }

    fn bytes(&self) -> usize {
        self.heads.bytes() + self.nodes.capacity() * size_of::<Node<K, V>>()
    }

    #[inline(always)]
    fn prefetch(&self, hash: u32) {
        prefetch(&self.heads, self.home(hash));
    }

    #[inline(always)]
    fn get(&self, hash: u32, key: K, meter: &mut impl Meter) -> V {
        let mut number = meter.load(&self.heads[self.home(hash)]);
        while let Some(at) = (number as usize).checked_sub(1) {
            let node = meter.load(&self.nodes[at]);
            if node.key == key {
                return node.value;
            }
            number = node.next;
        }
        V::default()
    }

    fn set(&mut self, hash: u32, key: K, value: V) -> V {
        debug_assert!(value != V::default(), "the default stands for no entry");
        if let Some(link) = self.find(hash, |at| self.nodes[at].key == key) {
            let at = self.number(link) as usize - 1;
            return std::mem::replace(&mut self.nodes[at].value, value);
        }
        if self.nodes.len() == self.nodes.capacity() {
            self.nodes.reserve_exact(self.nodes.len() / 32 + 1);
        }
        let head = self.home(hash);
        self.nodes.push(Node { key, value, next: self.heads[head] });
        self.heads[head] = self.nodes.len() as u32;
        V::default()
    }

    fn remove(&mut self, key: K, hash: impl Fn(K) -> u32) -> V {
        let Some(link) = self.find(hash(key), |at| self.nodes[at].key == key) else { return V::default() };
        let at = self.number(link) as usize - 1;
        self.set_number(link, self.nodes[at].next);
        let last = self.nodes.len() - 1;
        if at < last {
            let moved = self.find(hash(self.nodes[last].key), |other| other == last);
            self.set_number(moved.expect("every entry is in its chain"), at as u32 + 1);
        }
        self.nodes.swap_remove(at).value
    }

    fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.nodes.iter().map(|node| (node.key, node.value))
    }

    fn validate(&self, hash: impl Fn(K) -> u32) -> Result<(), String> {
        for (key, value) in self.iter() {
            if self.get(hash(key), key, &mut Unmetered) != value {
                return Err(format!("the entry of {key:?} cannot be found"));
            }
        }
        let linked = self.heads.iter().chain(self.nodes.iter().map(|node| &node.next));
        let linked = linked.filter(|&&number| number != 0).count();
        if linked == self.len() { Ok(()) } else { Err(format!("{linked} links to {} entries", self.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::hashing::Remainder;

    #[test]
    fn a_lost_entry_is_found() {
        let mut table: Chains<u32, u8, Remainder> = Chains::with_room_for(4, Pages::Small);
        for key in [1, 5, 2] {
            table.set(key, key, 1);
        }
        table.validate(|key| key).unwrap();
        table.heads[1] = 1;
        assert!(table.validate(|key| key).unwrap_err().contains("5 cannot be found"));
        table.heads[1] = 2;
        table.heads[3] = 1;
        assert_eq!(table.validate(|key| key).unwrap_err(), "4 links to 3 entries");
    }
}
