//! [`Extent`]: the network in which nearly all routes of an IPv6 table are.

use super::InWindow;
use super::node::NEXT_HOPS_MAX;
use crate::{Prefix, Rib};

/// The least share of the routes that are in the network: seven of eight.
const SHARE: (usize, usize) = (7, 8);
/// The most bits of the number of a slot where another length would do.
const BITS_MOST: u8 = 17;
/// The routes of a slot that are in at most eight intervals, whatever they are.
const ROUTES_HELD: usize = 3;
/// The routes up to which a window is looked for.
const ROUTES_MOST: usize = 1 << 17;

/// The network in which nearly all routes of a table are, divided into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent<A: InWindow> {
    /// The network.
    pub(super) network: Prefix<A>,
    /// The length of a slot's prefix.
    pub(super) position: u8,
    /// The routes of the table that are in slots with few of them, or cover slots.
    pub(super) held: usize,
}

/// Where a prefix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It covers the network, or is outside.
    Elsewhere,
    /// It covers slots, one or more.
    OverSlots,
    /// It is inside a slot.
    InSlot(usize),
}

impl<A: InWindow> Extent<A> {
    /// Returns the extent of the window of a table, if it has a network with nearly all routes. The
    /// slots are the fewest that hold nearly as many routes as any. O(n).
    pub(super) fn of(rib: &Rib<A>) -> Option<Self> {
        if rib.len() > ROUTES_MOST || rib.max_next_hop().0 > NEXT_HOPS_MAX {
            return None;
        }
        let routes: Vec<Prefix<A>> = rib.iter().map(|route| route.prefix).collect();
        let middle = routes.get(routes.len() / 2).map_or(A::ZERO, |prefix| prefix.first());
        let networks = A::NETWORKS.rev().map(|len| Prefix::containing(middle, len));
        let inside = |network: Prefix<A>| {
            let start = routes.partition_point(|&route| route < network);
            let end = routes.partition_point(|route| route.first() <= network.last());
            &routes[start..end]
        };
        let (network, inside) = networks
            .map(|network| (network, inside(network)))
            .find(|(_, inside)| inside.len() * SHARE.1 >= routes.len() * SHARE.0)
            .filter(|_| !routes.is_empty())?;
        let fits = |&position: &u8| {
            position >= network.len()
                && (position == *A::POSITIONS.start() || position - network.len() <= BITS_MOST)
        };
        let steps = |position: &u8| position.is_multiple_of(4);
        let positions = A::POSITIONS.filter(steps).filter(fits);
        let windows = positions.map(|position| Self { network, position, held: held(inside, position) });
        let most = windows.clone().map(|window| window.held).max().unwrap_or_default();
        let holds_nearly_all = |window: &Self| window.held * 50 >= most * 49;
        windows.clone().find(holds_nearly_all)
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        1 << (self.position - self.network.len())
    }

    /// Returns the first bits of the first slot, as a number.
    pub(super) fn first_slot(&self) -> u64 {
        self.network.first().first_bits(self.position)
    }

    /// Returns the prefix of a slot.
    pub(super) fn prefix_of(&self, slot: usize) -> Prefix<A> {
        let number = self.first_slot() + slot as u64;
        Prefix::containing(A::from_bits(number, 0, self.position), self.position)
    }

    /// Returns where a prefix is.
    pub(super) fn place_of(&self, prefix: Prefix<A>) -> Place {
        if !self.network.covers(prefix) || prefix.len() == self.network.len() {
            Place::Elsewhere
        } else if prefix.len() <= self.position {
            Place::OverSlots
        } else {
            Place::InSlot(self.slot_of(prefix.first()))
        }
    }

    /// Returns whether a prefix is in no slot and is not the default route's.
    pub(super) fn is_outside(&self, prefix: Prefix<A>) -> bool {
        prefix != Prefix::ALL && self.place_of(prefix) == Place::Elsewhere
    }

    /// Returns the number of the slot of an address in the network.
    pub(super) fn slot_of(&self, address: A) -> usize {
        (address.first_bits(self.position) - self.first_slot()) as usize
    }
}

/// Returns the number of routes, given in order, that cover slots of this length, or are in slots
/// with few of them.
fn held<A: InWindow>(routes: &[Prefix<A>], position: u8) -> usize {
    let covering = routes.iter().filter(|route| route.len() <= position).count();
    let mut longer = routes.iter().filter(|route| route.len() > position).peekable();
    let mut held = covering;
    while let Some(first) = longer.next() {
        let slot = Prefix::containing(first.first(), position);
        let mut routes = 1;
        while longer.next_if(|route| slot.contains(route.first())).is_some() {
            routes += 1;
        }
        held += if routes <= ROUTES_HELD { routes } else { 0 };
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NextHop, Route};

    fn extent(prefixes: impl Iterator<Item = Prefix<u128>>) -> Option<Extent<u128>> {
        let rib: Rib<u128> = prefixes.map(|prefix| Route { prefix, next_hop: NextHop(1) }).collect();
        Extent::of(&rib)
    }

    /// Networks of `len` bits below 2001:db8::/32, the numbers of which grow by `step`.
    fn networks(count: u128, step: u128, len: u8) -> impl Iterator<Item = Prefix<u128>> {
        let place = move |at: u128| 0x2001_0DB8 << 96 | (at * step) << (128 - len);
        (0..count).map(move |at| Prefix::containing(place(at), len))
    }

    #[test]
    fn the_network_has_nearly_all_routes_and_the_slots_have_few() {
        // A /64 in each of 3,000 /48, beside a default route and routes elsewhere.
        let elsewhere = (0..300).map(|at| Prefix::containing(0xFD00_u128 << 112 | at << 80, 48));
        let routes = || networks(3000, 1 << 16, 64).chain([Prefix::ALL]).chain(elsewhere.clone());
        let found = extent(routes()).unwrap();
        assert_eq!(
            (found.network, found.position, found.slots()),
            ("2001:db8::/36".parse().unwrap(), 48, 4096)
        );
        assert_eq!((found.held, found.first_slot()), (3000, 0x2001_0DB8_0000));
        assert_eq!(found.slot_of(0x2001_0DB8_0007 << 80), 7);
        // All /64s of a /48 are slots by themselves, and every sixteenth has company enough in a
        // /60.
        assert_eq!(extent(networks(4000, 1, 64)).unwrap().position, 64);
        assert_eq!(extent(networks(4000, 16, 64)).unwrap().position, 60);
        // Hosts of one /64 are in one slot, and networks of the whole address space in no network.
        assert_eq!(extent(networks(1000, 1, 128)).unwrap().held, 0);
        let anywhere = (0..1000_u128).map(|at| Prefix::containing(at << 118, 48));
        assert_eq!([extent(anywhere), extent(std::iter::empty())], [None; 2]);
        let mut rib: Rib<u128> = networks(100, 1 << 16, 64)
            .map(|prefix| Route { prefix, next_hop: NextHop(NEXT_HOPS_MAX) })
            .collect();
        assert_eq!(Extent::of(&rib).unwrap().held, 100);
        rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1));
        assert_eq!(Extent::of(&rib), None);
    }
}
