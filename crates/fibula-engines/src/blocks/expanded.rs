//! The values of expanded prefixes, and how updates change them: every entry holds the length of
//! its route.
//!
//! Of the routes that are expanded to one level, the longest owns each slot
//! ([`expansion`](crate::blocks::expansion)). An announced prefix takes the slots under it whose
//! length is not greater. A withdrawn prefix gives the slots of its own length to the next route
//! above it in the same level.

use super::filtered::Filtered;
use super::probing::Hashing;
use super::table::HashTable;
use crate::blocks::expansion::slots;
use crate::blocks::hashing::Key;
use fibula::engine::{Cost, Width};
use fibula::{Address, Prefix, Rib, Route};
use zerocopy::FromZeros;

/// The value of an expanded prefix; all zeros for none.
///
/// Packed, so that six values with 32-bit keys, or four with 64-bit keys, fill a cache line at any
/// width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, packed)]
pub struct Expanded<W> {
    /// The answer; 0 for none.
    pub next_hop: W,
    /// The length of the route it is expanded from; 0 for none or for the default route.
    pub len: u8,
    /// Whether routes too long for any level begin with this prefix.
    pub longer: bool,
}

impl<W: Width> Expanded<W> {
    /// Returns the value of the prefixes that `route` is expanded to.
    #[must_use]
    pub fn of<A: Address>(route: Route<A>) -> Self {
        Self { next_hop: W::narrow(route.next_hop), len: route.prefix.len(), longer: false }
    }

    /// Returns the value that `rib` gives a prefix of a level for routes longer than `above` bits.
    /// Ignores routes too long for any level.
    #[must_use]
    pub fn expected<A: Address>(rib: &Rib<A>, prefix: Prefix<A>, above: u8) -> Self {
        let route = rib.longest_cover(prefix).filter(|route| route.prefix.len() > above);
        route.map_or(Self::default(), Self::of)
    }
}

/// The expanded prefixes of one level, each numbered by its bits.
///
/// ```
/// use fibula_engines::blocks::expanded::{Entries, Expanded};
/// use fibula_engines::blocks::{bloom::Aim, filtered::Filtered, probing::Drawn};
/// use fibula::{NextHop, Route, parts::memory::Pages};
/// let mut level: Filtered<u32, Expanded<u8>, Drawn, 8> =
///     Filtered::new(Drawn, Aim::Percent(10), 0, Pages::Small);
/// let route = |prefix: &str, hop| {
///     Route::<u32> { prefix: prefix.parse().unwrap(), next_hop: NextHop(hop) }
/// };
/// let (long, short) = (route("10.0.0.0/16", 1), route("10.0.0.0/15", 2));
/// level.announce(long, 16);
/// level.announce(short, 16);
/// assert_eq!([0x0A00, 0x0A01].map(|slot| level.entry(slot).next_hop), [1, 2]);
/// level.withdraw(long.prefix, Some(short), 16);
/// level.withdraw(short.prefix, None, 16);
/// assert!(level.is_empty());
/// ```
pub trait Entries<W: Width> {
    /// Returns the value of a prefix.
    fn entry(&self, slot: u64) -> Expanded<W>;

    /// Sets the value of a prefix.
    fn set_entry(&mut self, slot: u64, entry: Expanded<W>) -> Cost;

    /// Gives `route` all entries under it that belong to no longer route.
    fn announce<A: Address>(&mut self, route: Route<A>, level: u8) -> Cost {
        self.replace(route.prefix, level, Expanded::of(route), |len| len <= route.prefix.len())
    }

    /// Gives the entries of a withdrawn route to `heir`, the longest route of the same level that
    /// covers it.
    fn withdraw<A: Address>(&mut self, prefix: Prefix<A>, heir: Option<Route<A>>, level: u8) -> Cost {
        let entry = heir.map_or(Expanded::default(), Expanded::of);
        self.replace(prefix, level, entry, |len| len == prefix.len())
    }

    /// Replaces the entries under `prefix` whose length satisfies `replaced`.
    fn replace<A: Address>(
        &mut self,
        prefix: Prefix<A>,
        level: u8,
        entry: Expanded<W>,
        replaced: impl Fn(u8) -> bool,
    ) -> Cost {
        let mut cost = Cost::default();
        for slot in slots(prefix, level) {
            let before = self.entry(slot);
            if replaced(before.len) {
                cost += self.set_entry(slot, Expanded { longer: before.longer, ..entry });
            }
        }
        cost
    }
}

impl<K: Key, W: Width, H: Hashing, const SLOTS: usize, T: HashTable<K, Expanded<W>>> Entries<W>
    for Filtered<K, Expanded<W>, H, SLOTS, T>
{
    fn entry(&self, slot: u64) -> Expanded<W> {
        self.peek(K::of(slot))
    }

    fn set_entry(&mut self, slot: u64, entry: Expanded<W>) -> Cost {
        self.set(K::of(slot), entry)
    }
}
