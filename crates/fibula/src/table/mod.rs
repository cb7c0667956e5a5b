//! [`Table`]: a map from prefixes of both address families to values of any type, with
//! longest-prefix match at the speed of a compiled engine. The front door of this crate.
//!
//! ```text
//!            IpAddr ──family──▶ engine ──next hop──▶ store ──▶ (prefix, value)
//! insert, remove ─────▶ Rib ──delta──▶ │               ▲
//!                        └───────────next hop──────────┘
//! ```
//! A table keeps three things for each family: the routes in order ([`Rib`](crate::Rib)), the
//! engine that was compiled from them ([`Fib`](crate::Fib)), and its values by next hop. The
//! [`form`] of the table says which routes have a next hop in common: none, those with equal
//! values and lengths ([`InternedTable`]), or those with equal values ([`ValueTable`]). So a lookup
//! walks no tree: the engine answers a next hop, which leads to the value and to the length of the
//! prefix.
//!
//! ```
//! use fibula::{IpPrefix, Table};
//! use std::net::IpAddr;
//!
//! let mut table = Table::new();
//! table.insert("198.51.100.0/24".parse::<IpPrefix>()?, "Antwerp");
//! table.insert("198.51.100.128/25".parse::<IpPrefix>()?, "Bruges");
//! table.insert("2001:db8::/32".parse::<IpPrefix>()?, "Ghent");
//!
//! let address: IpAddr = "198.51.100.200".parse().unwrap();
//! let (prefix, city) = table.lookup(address).unwrap();
//! assert_eq!((prefix.to_string().as_str(), *city), ("198.51.100.128/25", "Bruges"));
//!
//! table.remove(prefix);
//! assert_eq!(table.lookup(address).unwrap().1, &"Antwerp");
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! # Costs
//! For *n* routes of the address's family:
//!
//! | | |
//! | --- | --- |
//! | `lookup` | the engine's, and one read; of a [`ValueTable`], a walk of the `Rib` too |
//! | `lookup_value`, `contains` | that of the engine, and one read of the value or none |
//! | `lookup_batch` and its kin | the same, with the reads for many addresses overlapped |
//! | `get`, a new value for a prefix | O(log n); if values are stored once, also a change |
//! | `insert` of a new prefix, `remove` | O(log n), and one change of the engine |
//! | `collect`, `extend`, `retain` | O(log n) a route; the engine changes or is built once |
//! | `iter`, `covering`, `covered` | as the [`Rib`](crate::Rib)'s |
//! | `union` and its kin, `diff` | O(n + m), one walk over both tables |
//! | `addresses`, `ranges`, `address_count` | O(n) |
//!
//! A family is compiled by the engine that [`best`](crate::engine::BEST) chooses: a few routes by
//! their sorted intervals. It is built again at four times the routes of its last build, when
//! another engine costs clearly less for what it has become, and when the engine refuses a change.
//! That costs O(1) a route amortised, as the growth of a vector does.
//!
//! [`PrefixSet`] is a [`ValueTable`] without values.
//!
//! # Limits
//! A family has at most 2^32 - 2 next hops, fewer in an [`InternedTable`] ([`form`] says how many):
//! one more panics.
//!
//! # Threads
//! Lookups take `&self` and run on any number of threads; changes take `&mut self`.
//! [`live::LiveTable`] changes a table while other threads look up.

mod addresses;
mod algebra;
mod batch;
mod changes;
mod classes;
mod collect;
#[doc(hidden)]
pub mod compiled;
#[cfg(any(feature = "cidr", feature = "ip_network", feature = "ipnet", feature = "ipnetwork"))]
mod conversions;
mod editing;
mod entry;
pub mod form;
mod half;
pub(crate) mod ip_prefix;
mod iter;
pub mod live;
mod nested;
#[cfg(feature = "serde")]
mod serde;
mod set;
mod settings;
mod slots;
mod store;

pub use batch::Match;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
use form::{Form, Interned, PerRoute, ValuesAlone};
pub use iter::{IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, Values, ValuesMut};
pub use set::PrefixSet;
pub use settings::Settings;

use crate::Prefix;
use crate::memory::Memory;
use half::Half;
use ip_prefix::IpPrefix;
use settings::Shared;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use store::Store;

/// A map from prefixes of both families to values, with longest-prefix match; see the [module
/// page](self).
///
/// Prefixes are anything that converts to [`IpPrefix`]: [`Prefix<u32>`](crate::Prefix),
/// [`Prefix<u128>`](crate::Prefix), an address (its host prefix), with the feature `ipnet` also
/// `IpNet`, `Ipv4Net` and `Ipv6Net`. Addresses are anything that converts to [`IpAddr`].
///
/// The second parameter is the [`form`] of the table: how it keeps values, and what costs least.
pub struct Table<V, F: Form<V> = PerRoute> {
    ipv4: Half<u32, F::Store>,
    ipv6: Half<u128, F::Store>,
}

/// A [`Table`] that stores equal values once, for next hops and the like; see [`Interned`].
pub type InternedTable<V> = Table<V, Interned>;

/// A [`Table`] that stores equal values once and whose engine answers the value alone: the smallest
/// and the fastest for [`lookup_value`](Table::lookup_value) and [`contains`](Table::contains); see
/// [`ValuesAlone`].
pub type ValueTable<V> = Table<V, ValuesAlone>;

impl<V> Table<V> {
    /// Returns an empty table. Allocates nothing. [`Table::default`] is one of any form.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty table with slots for `ipv4` and `ipv6` routes.
    #[must_use]
    pub fn with_capacity(ipv4: usize, ipv6: usize) -> Self {
        let mut table = Self::new();
        table.reserve(ipv4, ipv6);
        table
    }

    /// Reserves slots for `ipv4` and `ipv6` more routes.
    pub fn reserve(&mut self, ipv4: usize, ipv6: usize) {
        self.ipv4.store.reserve(ipv4);
        self.ipv6.store.reserve(ipv6);
    }

    /// Keeps the routes for which `keep` returns true, and removes the others. Calls `keep` in
    /// order. If it panics, no route is removed.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::from([([10, 0, 0, 0], 8), ([10, 1, 0, 0], 16)].map(|(address, len)| {
    ///     (IpPrefix::new(address, len).unwrap(), len)
    /// }));
    /// table.retain(|prefix, _| prefix.len() > 8);
    /// assert_eq!(table.len(), 1);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(IpPrefix, &mut V) -> bool) {
        let ipv4 = self.ipv4.rejected_mut(|prefix, value| keep(prefix.into(), value));
        let ipv6 = self.ipv6.rejected_mut(|prefix, value| keep(prefix.into(), value));
        self.remove_all(ipv4, ipv6);
    }

    /// Removes the routes for which `take` returns true, and returns them in order. Calls `take` in
    /// order, for all routes before the first is removed. If it panics, no route is removed.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let routes = [("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("192.0.2.0/24", 3)];
    /// let routes = routes.map(|(text, value)| (text.parse::<IpPrefix>().unwrap(), value));
    /// let mut table = Table::from(routes);
    /// assert!(table.extract_if(|_, value| *value % 2 == 1).eq([routes[0], routes[2]]));
    /// assert!(table.into_iter().eq([routes[1]]));
    /// ```
    pub fn extract_if(
        &mut self,
        mut take: impl FnMut(IpPrefix, &mut V) -> bool,
    ) -> impl DoubleEndedIterator<Item = (IpPrefix, V)> + ExactSizeIterator {
        let ipv4 = self.ipv4.rejected_mut(|prefix, value| !take(prefix.into(), value));
        let ipv6 = self.ipv6.rejected_mut(|prefix, value| !take(prefix.into(), value));
        let mut taken: Vec<(IpPrefix, V)> = Vec::with_capacity(ipv4.len() + ipv6.len());
        taken.extend(self.ipv4.extract(&ipv4).map(|(prefix, value)| (prefix.into(), value)));
        taken.extend(self.ipv6.extract(&ipv6).map(|(prefix, value)| (prefix.into(), value)));
        taken.into_iter()
    }

    /// Returns the value of exactly this prefix, to change it.
    #[must_use]
    pub fn get_mut(&mut self, prefix: impl Into<IpPrefix>) -> Option<&mut V> {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.get_mut(prefix),
            IpPrefix::V6(prefix) => self.ipv6.get_mut(prefix),
        }
    }

    /// Returns the entry of a prefix, to look at it and change it with one search.
    pub fn entry(&mut self, prefix: impl Into<IpPrefix>) -> Entry<'_, V> {
        Entry::of(self, prefix.into())
    }

    /// Returns the longest matching prefix of an address, and its value to change.
    #[inline]
    #[must_use]
    pub fn lookup_mut(&mut self, address: impl Into<IpAddr>) -> Option<(IpPrefix, &mut V)> {
        match address.into() {
            IpAddr::V4(address) => {
                self.ipv4.lookup_mut(address.to_bits()).map(|(prefix, value)| (prefix.into(), value))
            }
            IpAddr::V6(address) => {
                self.ipv6.lookup_mut(address.to_bits()).map(|(prefix, value)| (prefix.into(), value))
            }
        }
    }
}

impl<V: Clone + Eq + Hash, const LENGTHS: bool> Table<V, Interned<LENGTHS>> {
    /// Keeps the routes for which `keep` returns true, and removes the others. Calls `keep` in
    /// order. If it panics, no route is removed.
    pub fn retain(&mut self, mut keep: impl FnMut(IpPrefix, &V) -> bool) {
        let ipv4 = self.ipv4.rejected(|prefix, value| keep(prefix.into(), value));
        let ipv6 = self.ipv6.rejected(|prefix, value| keep(prefix.into(), value));
        self.remove_all(ipv4, ipv6);
    }
}

impl<V, F: Form<V>> Table<V, F> {
    /// Returns the number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len_ipv4() + self.len_ipv6()
    }

    /// Returns the number of IPv4 routes.
    #[must_use]
    pub fn len_ipv4(&self) -> usize {
        self.ipv4.rib().len()
    }

    /// Returns the number of IPv6 routes.
    #[must_use]
    pub fn len_ipv6(&self) -> usize {
        self.ipv6.rib().len()
    }

    /// Returns whether there are no routes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts a route or replaces the value of its prefix. Returns the value before.
    ///
    /// # Panics
    /// If the family has 2^32 - 2 routes already.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
    /// assert_eq!(table.insert(prefix, "red"), None);
    /// assert_eq!(table.insert(prefix, "blue"), Some("red"));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn insert(&mut self, prefix: impl Into<IpPrefix>, value: V) -> Option<V> {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.insert(prefix, value),
            IpPrefix::V6(prefix) => self.ipv6.insert(prefix, value),
        }
    }

    /// Removes the route of exactly this prefix. Returns its value.
    pub fn remove(&mut self, prefix: impl Into<IpPrefix>) -> Option<V> {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.remove(prefix),
            IpPrefix::V6(prefix) => self.ipv6.remove(prefix),
        }
    }

    /// Returns the memory that changes have left unused: the table is made again of its routes.
    /// O(n), and the build of the engine.
    pub fn shrink_to_fit(&mut self) {
        let routes = self.take();
        self.extend(routes);
    }

    fn remove_all(&mut self, ipv4: Vec<Prefix<u32>>, ipv6: Vec<Prefix<u128>>) {
        let mut changes = self.edit();
        for prefix in ipv4.into_iter().map(IpPrefix::V4).chain(ipv6.into_iter().map(IpPrefix::V6)) {
            changes.remove(prefix);
        }
    }

    /// Removes all routes. The [settings](Table::with_settings) stay.
    pub fn clear(&mut self) {
        // The table is empty before any value is dropped, which may panic.
        drop(self.take());
    }

    /// Takes the routes out, and leaves the settings.
    fn take(&mut self) -> Self {
        let empty = self.emptied();
        std::mem::replace(self, empty)
    }

    /// Returns a table of the same settings without routes.
    fn emptied(&self) -> Self {
        Self::of(self.ipv4.compiled.settings().clone())
    }

    fn of(settings: Shared) -> Self {
        Self { ipv4: Half::new(settings.clone()), ipv6: Half::new(settings) }
    }

    /// Returns the value of exactly this prefix.
    #[must_use]
    pub fn get(&self, prefix: impl Into<IpPrefix>) -> Option<&V> {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.get(prefix),
            IpPrefix::V6(prefix) => self.ipv6.get(prefix),
        }
    }

    /// Returns exactly this prefix and its value.
    #[must_use]
    pub fn get_key_value(&self, prefix: impl Into<IpPrefix>) -> Option<(IpPrefix, &V)> {
        let prefix = prefix.into();
        Some((prefix, self.get(prefix)?))
    }

    /// Returns whether the table has exactly this prefix.
    #[must_use]
    pub fn contains_key(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.get(prefix).is_some()
    }

    /// Returns the longest matching prefix of an address, and its value.
    ///
    /// An IPv4-mapped IPv6 address is looked up among the IPv6 routes.
    /// [`Ipv6Addr::to_canonical`](std::net::Ipv6Addr::to_canonical) makes it an IPv4 address.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// use std::net::Ipv6Addr;
    /// let mut table = Table::new();
    /// table.insert("::/0".parse::<IpPrefix>()?, 0);
    /// table.insert("2001:db8::/32".parse::<IpPrefix>()?, 1);
    /// let (prefix, value) = table.lookup("2001:db8::7".parse::<Ipv6Addr>().unwrap()).unwrap();
    /// assert_eq!((prefix.len(), *value), (32, 1));
    /// assert_eq!(table.lookup([192, 0, 2, 1]), None);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn lookup(&self, address: impl Into<IpAddr>) -> Option<(IpPrefix, &V)> {
        match address.into() {
            IpAddr::V4(address) => {
                self.ipv4.lookup(address.to_bits()).map(|(prefix, value)| (prefix.into(), value))
            }
            IpAddr::V6(address) => {
                self.ipv6.lookup(address.to_bits()).map(|(prefix, value)| (prefix.into(), value))
            }
        }
    }

    /// As [`lookup`](Table::lookup), for an IPv4 address: `Ipv4Addr`, or `u32` in host byte order.
    ///
    /// ```
    /// use fibula::{Prefix, Table};
    /// let table = Table::from([("192.0.2.0/24".parse::<Prefix<u32>>()?, "red")]);
    /// assert_eq!(table.lookup_ipv4(0xC000_0201), Some(("192.0.2.0/24".parse()?, &"red")));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn lookup_ipv4(&self, address: impl Into<Ipv4Addr>) -> Option<(Prefix<u32>, &V)> {
        self.ipv4.lookup(address.into().to_bits())
    }

    /// As [`lookup`](Table::lookup), for an IPv6 address: `Ipv6Addr`, or `u128` in host byte order.
    #[inline]
    #[must_use]
    pub fn lookup_ipv6(&self, address: impl Into<Ipv6Addr>) -> Option<(Prefix<u128>, &V)> {
        self.ipv6.lookup(address.into().to_bits())
    }

    /// Returns the value of the longest matching prefix of an address.
    #[inline]
    #[must_use]
    pub fn lookup_value(&self, address: impl Into<IpAddr>) -> Option<&V> {
        match address.into() {
            IpAddr::V4(address) => self.ipv4.lookup_value(address.to_bits()),
            IpAddr::V6(address) => self.ipv6.lookup_value(address.to_bits()),
        }
    }

    /// Returns whether any prefix matches an address. Reads no value.
    #[inline]
    #[must_use]
    pub fn contains(&self, address: impl Into<IpAddr>) -> bool {
        match address.into() {
            IpAddr::V4(address) => self.ipv4.compiled.lookup(address.to_bits()).is_some(),
            IpAddr::V6(address) => self.ipv6.compiled.lookup(address.to_bits()).is_some(),
        }
    }

    /// Returns the names of the engines that were chosen for IPv4 and IPv6. `None` for a family
    /// without routes.
    #[must_use]
    pub fn engines(&self) -> (Option<&'static str>, Option<&'static str>) {
        (self.ipv4.compiled.engine(), self.ipv6.compiled.engine())
    }

    /// Returns the bytes that the table occupies, by family: its routes, its slots of values, and
    /// its engine. What the values own elsewhere is not counted.
    ///
    /// ```
    /// use fibula::{Prefix, Table};
    /// let hosts = (0..10_000_u32).map(|at| (Prefix::host(at << 8), at));
    /// let memory = hosts.collect::<Table<u32>>().memory();
    /// for part in &memory.parts {
    ///     println!("{}: {} bytes", part.name, part.bytes);
    /// }
    /// assert!((200_000..2_000_000).contains(&memory.total()));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        let memory = self.ipv4.memory(["IPv4 routes", "IPv4 values", "IPv4 engine"], Memory::new());
        self.ipv6.memory(["IPv6 routes", "IPv6 values", "IPv6 engine"], memory)
    }

    /// Checks the engines against the routes; for tests. O(n) at least.
    ///
    /// # Errors
    /// With the first contradiction found.
    #[cfg(any(test, feature = "engines"))]
    pub fn validate(&self) -> Result<(), String> {
        self.ipv4.validate()?;
        self.ipv6.validate()
    }
}
