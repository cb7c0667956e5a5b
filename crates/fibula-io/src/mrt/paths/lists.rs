//! [`Lists`]: the paths to each prefix.
//!
//! ```text
//!   prefix ──Rib──▶ number ──▶ List: 16 bytes ──▶ one path, or the address of several
//! ```
//!
//! A router tells millions of prefixes, most of them by one path. So that path is in the list
//! itself, and the map is one of some ten bytes a prefix.

use super::Held;
use fibula::{IpPrefix, NextHop, Prefix, Rib};
use std::ops::{Deref, DerefMut};
use std::slice;

/// The paths to a prefix, in the order in which they came.
#[derive(Debug)]
#[allow(clippy::box_collection, reason = "a vector here would make each list larger than a path")]
pub(super) enum List {
    One(Held),
    /// Several, or none without a vector.
    Several(Option<Box<Vec<Held>>>),
}

impl List {
    const EMPTY: Self = Self::Several(None);

    pub(super) fn push(&mut self, new: Held) {
        match self {
            Self::Several(None) => *self = Self::One(new),
            Self::One(held) => *self = Self::Several(Some(Box::new(vec![*held, new]))),
            Self::Several(Some(paths)) => push(paths, new),
        }
    }

    /// Adds a path and drops those for which `is_old` returns true.
    pub(super) fn put(&mut self, new: Held, mut is_old: impl FnMut(&Held) -> bool) {
        match self {
            Self::One(held) if is_old(held) => *held = new,
            Self::Several(Some(_)) => self.edit(|paths| {
                paths.retain(|held| !is_old(held));
                push(paths, new);
            }),
            Self::One(_) | Self::Several(None) => self.push(new),
        }
    }

    /// Drops the paths for which `is_gone` returns true.
    pub(super) fn drop_if(&mut self, mut is_gone: impl FnMut(&Held) -> bool) {
        match self {
            Self::One(held) if is_gone(held) => *self = Self::EMPTY,
            Self::Several(Some(_)) => self.edit(|paths| paths.retain(|held| !is_gone(held))),
            Self::One(_) | Self::Several(None) => {}
        }
    }

    /// Changes several paths. One path alone, or none, stays as it is.
    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut Vec<Held>)) {
        let Self::Several(Some(paths)) = self else { return };
        edit(paths);
        match paths.as_slice() {
            [] => *self = Self::EMPTY,
            &[one] => *self = Self::One(one),
            _ => {}
        }
    }

    /// Returns the bytes beside the list itself.
    fn bytes(&self) -> usize {
        match self {
            Self::Several(Some(paths)) => size_of::<Vec<Held>>() + paths.capacity() * size_of::<Held>(),
            Self::One(_) | Self::Several(None) => 0,
        }
    }
}

/// Adds a path. Of more than a few, room for twice as many would often be left.
fn push(paths: &mut Vec<Held>, new: Held) {
    const FEW: usize = 8;
    if paths.len() == paths.capacity() {
        let more = if paths.len() < FEW { paths.len() } else { paths.len() / 2 };
        paths.reserve_exact(more.max(2));
    }
    paths.push(new);
}

impl Deref for List {
    type Target = [Held];

    fn deref(&self) -> &[Held] {
        match self {
            Self::One(held) => slice::from_ref(held),
            Self::Several(paths) => paths.as_deref().map_or(&[], Vec::as_slice),
        }
    }
}

impl DerefMut for List {
    fn deref_mut(&mut self) -> &mut [Held] {
        match self {
            Self::One(held) => slice::from_mut(held),
            Self::Several(paths) => paths.as_deref_mut().map_or(&mut [], Vec::as_mut_slice),
        }
    }
}

/// The lists of all prefixes that have paths.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The number of the list of each prefix, and 1.
    ipv4: Rib<u32>,
    ipv6: Rib<u128>,
    all: Vec<List>,
    /// The lists that no prefix has.
    free: Vec<u32>,
    /// When the table was dumped that has the prefix of a list, in seconds; 0 if none has. Those
    /// after the last that is known are not there: only dumps have times.
    dumped: Vec<u32>,
    /// The bytes of paths that are not in `all`.
    apart: usize,
}

impl Lists {
    /// Returns the number of the list of a prefix.
    pub(super) fn get(&self, prefix: IpPrefix) -> Option<u32> {
        let number = match prefix {
            IpPrefix::V4(prefix) => self.ipv4.get(prefix),
            IpPrefix::V6(prefix) => self.ipv6.get(prefix),
        };
        number.map(of)
    }

    /// Adds an empty list of a prefix that has none. Returns its number.
    pub(super) fn add(&mut self, prefix: IpPrefix) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            if self.all.len() == self.all.capacity() {
                self.all.reserve_exact(self.all.len() / 4 + 64);
            }
            self.all.push(List::EMPTY);
            self.all.len() as u32 - 1
        });
        let value = NextHop(number + 1);
        match prefix {
            IpPrefix::V4(prefix) => drop(self.ipv4.insert(prefix, value)),
            IpPrefix::V6(prefix) => drop(self.ipv6.insert(prefix, value)),
        }
        number
    }

    /// Removes a prefix and its empty list.
    pub(super) fn remove(&mut self, prefix: IpPrefix, number: u32) {
        match prefix {
            IpPrefix::V4(prefix) => drop(self.ipv4.remove(prefix)),
            IpPrefix::V6(prefix) => drop(self.ipv6.remove(prefix)),
        }
        if let Some(dumped) = self.dumped.get_mut(number as usize) {
            *dumped = 0;
        }
        self.free.push(number);
    }

    pub(super) fn paths(&self, number: u32) -> &[Held] {
        &self.all[number as usize]
    }

    /// Changes a list.
    pub(super) fn change<T>(&mut self, number: u32, change: impl FnOnce(&mut List) -> T) -> T {
        let list = &mut self.all[number as usize];
        let before = list.bytes();
        let returned = change(list);
        self.apart = self.apart + list.bytes() - before;
        returned
    }

    /// Gives back the room that a list does not take.
    pub(super) fn shrink(&mut self, number: u32) {
        self.change(number, |list| list.edit(Vec::shrink_to_fit));
    }

    /// Changes paths without adding or dropping any.
    pub(super) fn each_path(&mut self, change: impl FnMut(&mut Held)) {
        self.all.iter_mut().flat_map(|list| list.iter_mut()).for_each(change);
    }

    pub(super) fn dumped(&self, number: u32) -> u32 {
        self.dumped.get(number as usize).copied().unwrap_or(0)
    }

    /// Notes that a table was dumped that has the prefix of a list.
    pub(super) fn note_dump(&mut self, number: u32, seconds: u32) {
        let at = number as usize;
        if self.dumped.len() <= at {
            self.dumped.resize(self.all.len(), 0);
        }
        self.dumped[at] = self.dumped[at].max(seconds);
    }

    /// Returns prefixes and the numbers of their lists, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (IpPrefix, u32)> {
        let ipv4 = self.ipv4.iter().map(|route| (IpPrefix::V4(route.prefix), of(route.next_hop)));
        ipv4.chain(self.ipv6.iter().map(|route| (IpPrefix::V6(route.prefix), of(route.next_hop))))
    }

    /// Returns at most `most` prefixes of a family after `last`, or from the first on, whose paths
    /// are wanted, with the numbers of their lists.
    pub(super) fn some_after(
        &self,
        is_ipv6: bool,
        last: Option<IpPrefix>,
        most: usize,
        is_wanted: impl Fn(&[Held]) -> bool,
    ) -> Vec<(IpPrefix, u32)> {
        let is_one = |&(prefix, number): &(IpPrefix, u32)| {
            last.is_none_or(|last| prefix > last) && is_wanted(self.paths(number))
        };
        if is_ipv6 {
            let first = if let Some(IpPrefix::V6(last)) = last { last } else { Prefix::ALL };
            let all = self.ipv6.iter_from(first);
            all.map(|route| (IpPrefix::V6(route.prefix), of(route.next_hop)))
                .filter(is_one)
                .take(most)
                .collect()
        } else {
            let first = if let Some(IpPrefix::V4(last)) = last { last } else { Prefix::ALL };
            let all = self.ipv4.iter_from(first);
            all.map(|route| (IpPrefix::V4(route.prefix), of(route.next_hop)))
                .filter(is_one)
                .take(most)
                .collect()
        }
    }

    /// Returns the number of prefixes.
    pub(super) fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// Returns the bytes that it takes, about: those of the maps are what [`Rib`] says of tables of
    /// the Internet.
    pub(super) fn bytes(&self) -> usize {
        let of_maps = 11 * self.ipv4.len() + 16 * self.ipv6.len();
        let of_numbers = (self.free.capacity() + self.dumped.capacity()) * size_of::<u32>();
        of_maps + of_numbers + self.all.capacity() * size_of::<List>() + self.apart
    }
}

/// Returns the number of a list, of which the map has one more: 0 is no route.
fn of(value: NextHop) -> u32 {
    value.0 - 1
}

#[cfg(test)]
mod tests {
    use super::super::peers::PeerNumber;
    use super::*;

    #[test]
    fn a_list_is_as_small_as_a_path() {
        assert_eq!((size_of::<Held>(), size_of::<List>()), (16, 16));
    }

    #[test]
    fn lists_are_vectors_whatever_they_hold() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let mut lists = Lists::default();
            let prefix = "192.0.2.0/24".parse().unwrap();
            let number = lists.add(prefix);
            let mut model: Vec<(u32, u32)> = Vec::new();
            for value in 0..random.u32(..20) {
                let path_id = random.u32(..5);
                let new = Held { peer: PeerNumber::of(0), path_id, value, rank: 0 };
                match random.u8(..3) {
                    0 => {
                        lists.change(number, |list| list.push(new));
                        model.push((path_id, value));
                    }
                    1 => {
                        lists.change(number, |list| list.put(new, |held| held.path_id == path_id));
                        model.retain(|held| held.0 != path_id);
                        model.push((path_id, value));
                    }
                    _ => {
                        lists.change(number, |list| list.drop_if(|held| held.path_id == path_id));
                        model.retain(|held| held.0 != path_id);
                    }
                }
                let paths: Vec<(u32, u32)> =
                    lists.paths(number).iter().map(|held| (held.path_id, held.value)).collect();
                assert_eq!(paths, model);
                assert_eq!(lists.apart, lists.all[0].bytes());
                assert_eq!(lists.apart == 0, model.len() < 2);
            }
            lists.change(number, |list| list.drop_if(|_| true));
            lists.remove(prefix, number);
            assert_eq!((lists.len(), lists.get(prefix), lists.add(prefix)), (0, None, number));
        }
    }
}
