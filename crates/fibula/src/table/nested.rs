//! Routes by how they nest: what covers a prefix, and what it covers.

use super::form::Form;
use super::half::Half;
use super::slots::Slots;
use super::{IpPrefix, Table};
use crate::{Address, NextHop, Prefix, Route};

impl<V, F: Form<V>> Table<V, F> {
    /// Returns the routes that cover `prefix`, itself included, longest first. With an address as
    /// `prefix`, these are all routes that match it.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// for text in ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24"] {
    ///     table.insert(text.parse::<IpPrefix>()?, text);
    /// }
    /// let prefix: IpPrefix = "10.1.0.0/16".parse()?;
    /// let covering: Vec<&str> = table.covering(prefix).map(|(_, &text)| text).collect();
    /// assert_eq!(covering, ["10.1.0.0/16", "10.0.0.0/8", "0.0.0.0/0"]);
    /// let covered: Vec<&str> = table.covered(prefix).map(|(_, &text)| text).collect();
    /// assert_eq!(covered, ["10.1.0.0/16", "10.1.2.0/24"]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn covering(&self, prefix: impl Into<IpPrefix>) -> impl Iterator<Item = (IpPrefix, &V)> {
        let (ipv4, ipv6) = match prefix.into() {
            IpPrefix::V4(prefix) => (Some(self.ipv4.rib().covering(prefix)), None),
            IpPrefix::V6(prefix) => (None, Some(self.ipv6.rib().covering(prefix))),
        };
        let ipv4 = ipv4.into_iter().flatten().filter_map(|route| self.ipv4.value(route));
        let ipv6 = ipv6.into_iter().flatten().filter_map(|route| self.ipv6.value(route));
        ipv4.map(|(prefix, value)| (prefix.into(), value))
            .chain(ipv6.map(|(prefix, value)| (prefix.into(), value)))
    }

    /// Returns the routes that `prefix` covers, itself included, in order; see
    /// [`covering`](Table::covering).
    pub fn covered(&self, prefix: impl Into<IpPrefix>) -> impl DoubleEndedIterator<Item = (IpPrefix, &V)> {
        let (ipv4, ipv6) = match prefix.into() {
            IpPrefix::V4(prefix) => (Some(self.ipv4.rib().covered(prefix)), None),
            IpPrefix::V6(prefix) => (None, Some(self.ipv6.rib().covered(prefix))),
        };
        let ipv4 = ipv4.into_iter().flatten().filter_map(|route| self.ipv4.value(route));
        let ipv6 = ipv6.into_iter().flatten().filter_map(|route| self.ipv6.value(route));
        ipv4.map(|(prefix, value)| (prefix.into(), value))
            .chain(ipv6.map(|(prefix, value)| (prefix.into(), value)))
    }

    /// Returns the longest prefix that covers `prefix`, itself included, and its value. As a
    /// longest match, `O(b log n)`: see [`Rib`](crate::Rib). [`lookup`](Table::lookup) is faster
    /// for an address.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// for text in ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24"] {
    ///     table.insert(text.parse::<IpPrefix>()?, text);
    /// }
    /// let prefix: IpPrefix = "10.1.0.0/20".parse()?;
    /// assert_eq!(table.get_lpm(prefix).unwrap().1, &"10.1.0.0/16");
    /// assert_eq!(table.get_spm(prefix).unwrap().1, &"10.0.0.0/8");
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn get_lpm(&self, prefix: impl Into<IpPrefix>) -> Option<(IpPrefix, &V)> {
        self.covering(prefix).next()
    }

    /// Returns the shortest prefix that covers `prefix`, itself included, and its value; see
    /// [`get_lpm`](Table::get_lpm). Walks all that cover it.
    #[must_use]
    pub fn get_spm(&self, prefix: impl Into<IpPrefix>) -> Option<(IpPrefix, &V)> {
        self.covering(prefix).last()
    }

    /// Returns whether any prefix covers `prefix`. Costs as [`get_lpm`](Table::get_lpm).
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let table = Table::from([("10.1.0.0/16".parse::<IpPrefix>()?, ())]);
    /// let [above, below] =
    ///     ["10.0.0.0/8", "10.1.2.0/24"].map(|text| text.parse::<IpPrefix>().unwrap());
    /// assert!(table.is_covered(below) && !table.is_covered(above));
    /// assert!(table.overlaps_prefix(below) && table.overlaps_prefix(above));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn is_covered(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.get_lpm(prefix).is_some()
    }

    /// Returns whether all addresses of `prefix` have a match, by one route or by several together.
    /// Costs as [`get_lpm`](Table::get_lpm), and O(1) a route that `prefix` covers.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [low, high, all] =
    ///     ["10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/8"].map(|text| text.parse().unwrap());
    /// let table = Table::from([(low, 'a'), (high, 'b')] as [(IpPrefix, char); 2]);
    /// assert!(table.covers(all) && !table.is_covered(all));
    /// ```
    #[must_use]
    pub fn covers(&self, prefix: impl Into<IpPrefix>) -> bool {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.rib().covers(prefix),
            IpPrefix::V6(prefix) => self.ipv6.rib().covers(prefix),
        }
    }

    /// Returns whether any prefix matches an address of `prefix`; see
    /// [`is_covered`](Table::is_covered).
    #[must_use]
    pub fn overlaps_prefix(&self, prefix: impl Into<IpPrefix>) -> bool {
        let prefix = prefix.into();
        self.covered(prefix).next().is_some() || self.is_covered(prefix)
    }

    /// Returns the routes from `prefix` on, itself included, in the order of
    /// [`iter`](Table::iter): after IPv4 prefixes come all of IPv6. O(log n) to begin.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let prefixes = ["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"];
    /// let table = Table::from(prefixes.map(|text| (text.parse::<IpPrefix>().unwrap(), text)));
    /// let from = table.iter_from("11.0.0.0/8".parse::<IpPrefix>()?);
    /// assert!(from.map(|(_, &text)| text).eq(["192.0.2.0/24", "2001:db8::/32"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn iter_from(&self, prefix: impl Into<IpPrefix>) -> impl DoubleEndedIterator<Item = (IpPrefix, &V)> {
        let (ipv4, ipv6) = match prefix.into() {
            IpPrefix::V4(prefix) => (Some(self.ipv4.rib().iter_from(prefix)), Prefix::ALL),
            IpPrefix::V6(prefix) => (None, prefix),
        };
        let ipv4 = ipv4.into_iter().flatten().filter_map(|route| self.ipv4.value(route));
        let ipv6 = self.ipv6.rib().iter_from(ipv6).filter_map(|route| self.ipv6.value(route));
        ipv4.map(|(prefix, value)| (prefix.into(), value))
            .chain(ipv6.map(|(prefix, value)| (prefix.into(), value)))
    }

    /// Removes the routes that `prefix` covers, itself included. Returns their number. O(log n) a
    /// route; the engine changes once.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// for text in ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.2.0.0/16"] {
    ///     table.insert(text.parse::<IpPrefix>()?, ());
    /// }
    /// assert_eq!(table.remove_covered("10.1.0.0/16".parse::<IpPrefix>()?), 2);
    /// assert!(table.keys().map(|prefix| prefix.to_string()).eq(["10.0.0.0/8", "10.2.0.0/16"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn remove_covered(&mut self, prefix: impl Into<IpPrefix>) -> usize {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.remove_covered(prefix),
            IpPrefix::V6(prefix) => self.ipv6.remove_covered(prefix),
        }
    }
}

impl<V> Table<V> {
    /// Returns the routes that `prefix` covers, itself included, in order, with the values to
    /// change. O(k log k) for *k* of them.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let prefix = |text: &str| text.parse::<IpPrefix>().unwrap();
    /// let routes = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16"];
    /// let mut table = Table::from(routes.map(|text| (prefix(text), 0)));
    /// table.covered_mut(prefix("10.0.0.0/8")).for_each(|(_, value)| *value += 1);
    /// for (at, (_, value)) in table.covering_mut(prefix("10.1.0.0/16")).rev().enumerate() {
    ///     *value += 10 * at; // from the shortest on
    /// }
    /// assert!(table.values().eq(&[0, 11, 21, 1]));
    /// ```
    pub fn covered_mut(
        &mut self,
        prefix: impl Into<IpPrefix>,
    ) -> impl DoubleEndedIterator<Item = (IpPrefix, &mut V)> {
        let (ipv4, ipv6) = match prefix.into() {
            IpPrefix::V4(prefix) => (self.ipv4.rib().covered(prefix).collect(), Vec::new()),
            IpPrefix::V6(prefix) => (Vec::new(), self.ipv6.rib().covered(prefix).collect()),
        };
        self.several_mut(ipv4, ipv6)
    }

    /// Returns the routes that cover `prefix`, itself included, longest first, with the values to
    /// change; see [`covered_mut`](Table::covered_mut).
    pub fn covering_mut(
        &mut self,
        prefix: impl Into<IpPrefix>,
    ) -> impl DoubleEndedIterator<Item = (IpPrefix, &mut V)> {
        let (ipv4, ipv6) = match prefix.into() {
            IpPrefix::V4(prefix) => (self.ipv4.rib().covering(prefix).collect(), Vec::new()),
            IpPrefix::V6(prefix) => (Vec::new(), self.ipv6.rib().covering(prefix).collect()),
        };
        self.several_mut(ipv4, ipv6)
    }

    fn several_mut(
        &mut self,
        ipv4: Vec<Route<u32>>,
        ipv6: Vec<Route<u128>>,
    ) -> impl DoubleEndedIterator<Item = (IpPrefix, &mut V)> {
        let ipv4 = self.ipv4.several_mut(ipv4).map(|(prefix, value)| (prefix.into(), value));
        ipv4.chain(self.ipv6.several_mut(ipv6).map(|(prefix, value)| (prefix.into(), value)))
    }
}

impl<A: Address, V> Half<A, Slots<V>> {
    /// Returns some routes, each once, in their order, with the values to change.
    fn several_mut(&mut self, routes: Vec<Route<A>>) -> impl DoubleEndedIterator<Item = (Prefix<A>, &mut V)> {
        let indices: Vec<NextHop> = routes.iter().map(|route| route.next_hop).collect();
        let values = self.store.several_mut(&indices);
        routes.into_iter().zip(values).filter_map(|(route, value)| Some((route.prefix, value?)))
    }
}
