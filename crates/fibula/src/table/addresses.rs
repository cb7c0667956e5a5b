//! A table by its addresses: as ranges, with the fewest routes, and without some of them.

use super::form::Form;
use super::half::Half;
use super::store::Store;
use super::{IpPrefix, PrefixSet, Table};
use crate::rib::AddressSet;
use crate::{Address, NextHop, Prefix, Rib, Route};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::ops::RangeInclusive;

impl<V, F: Form<V>> Table<V, F> {
    /// Returns the addresses that have a match as the fewest ranges, in order, IPv4 before IPv6.
    /// O(n) in all. [`IpPrefix::fewest`] makes prefixes of a range.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let prefixes = ["10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8", "2001:db8::/32"];
    /// let table = Table::from(prefixes.map(|text| (text.parse::<IpPrefix>().unwrap(), ())));
    /// let ranges: Vec<String> =
    ///     table.addresses().map(|range| format!("{}-{}", range.start(), range.end())).collect();
    /// assert_eq!(ranges[0], "10.0.0.0-11.255.255.255");
    /// assert_eq!(ranges[1], "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
    /// assert_eq!(table.address_count(), (2 << 24, Some(1 << 96)));
    /// ```
    pub fn addresses(&self) -> impl Iterator<Item = RangeInclusive<IpAddr>> {
        fn ranges<A: Address>(rib: &Rib<A>) -> Vec<RangeInclusive<IpAddr>> {
            rib.addresses().intervals().map(|range| range.start().to_ip()..=range.end().to_ip()).collect()
        }
        ranges(self.ipv4.rib()).into_iter().chain(ranges(self.ipv6.rib()))
    }

    /// Returns the numbers of IPv4 and of IPv6 addresses that have a match, each counted once. The
    /// second is `None` if these are all 2^128. O(n).
    #[must_use]
    pub fn address_count(&self) -> (u64, Option<u128>) {
        let ipv4 = self.ipv4.rib().addresses().count().unwrap_or_default();
        (ipv4 as u64, self.ipv6.rib().addresses().count())
    }

    /// Returns the table as ranges of addresses with the value of their longest match, in order,
    /// IPv4 before IPv6. Neighbours with equal values are one range; addresses without a match are
    /// in none. O(n) in all.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let routes = [("10.0.0.0/8", 'a'), ("10.1.0.0/16", 'b'), ("11.0.0.0/8", 'a')];
    /// let prefix = |text: &str| text.parse::<IpPrefix>().unwrap();
    /// let table = Table::from(routes.map(|(text, value)| (prefix(text), value)));
    /// let ranges = table
    ///     .ranges()
    ///     .map(|(range, value)| format!("{}-{} {value}", range.start(), range.end()));
    /// assert!(ranges.eq([
    ///     "10.0.0.0-10.0.255.255 a",
    ///     "10.1.0.0-10.1.255.255 b",
    ///     "10.2.0.0-11.255.255.255 a",
    /// ]));
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = (RangeInclusive<IpAddr>, &V)>
    where
        V: PartialEq,
    {
        self.ipv4.ranges().chain(self.ipv6.ranges())
    }

    /// Returns the fewest routes that give every address the same value, by
    /// [`Rib::aggregate`](crate::Rib::aggregate). Equal values are one answer, whichever routes
    /// have them. Costs as that, and the build of the new table.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let routes = [("10.0.0.0/9", 1), ("10.128.0.0/9", 1), ("10.1.0.0/16", 1), ("::/0", 2)];
    /// let prefix = |text: &str| text.parse::<IpPrefix>().unwrap();
    /// let table = Table::from(routes.map(|(text, value)| (prefix(text), value)));
    /// let aggregate = table.aggregate();
    /// assert!(aggregate.keys().map(|prefix| prefix.to_string()).eq(["10.0.0.0/8", "::/0"]));
    /// ```
    #[must_use]
    pub fn aggregate(&self) -> Self
    where
        V: Clone + Eq + Hash,
    {
        Self { ipv4: self.ipv4.aggregate(), ipv6: self.ipv6.aggregate() }
    }

    /// Returns the table for the addresses of `set` alone: each of them keeps its match's value,
    /// and all others have no match. A route that is only in part in `set` becomes the fewest
    /// routes of the addresses that are, with clones of its value. O(r log r) for *r* such routes,
    /// and the build of the new table.
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet, Table};
    /// let prefix = |text: &str| text.parse::<IpPrefix>().unwrap();
    /// let table = Table::from([(prefix("10.0.0.0/8"), 'a'), (prefix("10.1.0.0/16"), 'b')]);
    /// let half = PrefixSet::from([prefix("10.0.0.0/9")]);
    /// let text = |table: Table<char>| table.keys().map(|p| p.to_string()).collect::<Vec<_>>();
    /// assert_eq!(text(table.within(&half)), ["10.0.0.0/9", "10.1.0.0/16"]);
    /// assert_eq!(text(table.without(&half)), ["10.128.0.0/9"]);
    /// ```
    #[must_use]
    pub fn within(&self, set: &PrefixSet) -> Self
    where
        V: Clone,
    {
        let (ipv4, ipv6) = set.address_sets();
        Self { ipv4: self.ipv4.within(&ipv4), ipv6: self.ipv6.within(&ipv6) }
    }

    /// Returns the table for the addresses that are not in `set`; see [`within`](Table::within).
    #[must_use]
    pub fn without(&self, set: &PrefixSet) -> Self
    where
        V: Clone,
    {
        let (ipv4, ipv6) = set.address_sets();
        let (ipv4, ipv6) = (ipv4.complement(), ipv6.complement());
        Self { ipv4: self.ipv4.within(&ipv4), ipv6: self.ipv6.within(&ipv6) }
    }

    /// Takes the addresses of `prefix` out of the table. All others keep their match's value. A
    /// route that covers `prefix` is replaced by the fewest routes for its other addresses, with
    /// clones of its value. O(log n) a route that is removed or inserted, and at most one is
    /// inserted for each bit of the prefix's length; the engine changes once.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::from([("10.0.0.0/8".parse::<IpPrefix>()?, "corp")]);
    /// table.exclude("10.64.0.0/10".parse::<IpPrefix>()?);
    /// assert!(table.keys().map(|prefix| prefix.to_string()).eq(["10.0.0.0/10", "10.128.0.0/9"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn exclude(&mut self, prefix: impl Into<IpPrefix>)
    where
        V: Clone,
    {
        match prefix.into() {
            IpPrefix::V4(prefix) => self.ipv4.exclude(prefix),
            IpPrefix::V6(prefix) => self.ipv6.exclude(prefix),
        }
    }
}

impl<A: Address, S: Store> Half<A, S> {
    fn ranges(&self) -> impl Iterator<Item = (RangeInclusive<IpAddr>, &S::Value)>
    where
        S::Value: PartialEq,
    {
        let pieces = self.rib().pieces();
        let pieces = pieces.filter_map(|piece| Some((piece.first, piece.last, self.value(piece.route?)?.1)));
        let mut pieces = pieces.peekable();
        std::iter::from_fn(move || {
            let (first, mut last, value) = pieces.next()?;
            let joins = |first, last: A, other: &S::Value| last.next() == Some(first) && other == value;
            while let Some((_, end, _)) = pieces.next_if(|&(start, _, other)| joins(start, last, other)) {
                last = end;
            }
            Some((first.to_ip()..=last.to_ip(), value))
        })
    }

    fn aggregate(&self) -> Self
    where
        S::Value: Clone + Eq + Hash,
    {
        let (mut indices, mut values) = (HashMap::new(), Vec::new());
        let mut index = |value| {
            *indices.entry(value).or_insert_with(|| {
                values.push(value);
                NextHop(values.len() as u32)
            })
        };
        let rib: Rib<A> =
            self.iter().map(|(prefix, value)| Route { prefix, next_hop: index(value) }).collect();
        let routes = rib.aggregate();
        Self::of(
            routes
                .iter()
                .map(|route| (route.prefix, values[route.next_hop.0 as usize - 1].clone()))
                .collect(),
            None,
        )
    }

    fn within(&self, set: &AddressSet<A>) -> Self
    where
        S::Value: Clone,
    {
        let parts = self.rib().within(set);
        let parts = parts.iter().filter_map(|part| self.value(part));
        Self::of(parts.map(|(prefix, value)| (prefix, value.clone())).collect(), None)
    }

    fn exclude(&mut self, prefix: Prefix<A>)
    where
        S::Value: Clone,
    {
        let covering: Vec<Route<A>> = self.rib().covering(prefix).collect();
        let shortest = covering.last().map_or(prefix.len(), |route| route.prefix.len());
        // The other half of each prefix on the way down from the shortest cover.
        let siblings = (shortest..prefix.len()).filter_map(|len| {
            let halves = Prefix::containing(prefix.first(), len).halves()?;
            let sibling = halves.into_iter().find(|half| !half.covers(prefix))?;
            let cover = covering.iter().find(|route| route.prefix.len() <= len)?;
            let is_filled = || self.rib().at_least(0).gaps(sibling).next().is_none();
            if self.index(sibling).is_some() || is_filled() {
                return None;
            }
            Some((sibling, self.store.slots().value(cover.next_hop)?.clone()))
        });
        let siblings: Vec<(Prefix<A>, S::Value)> = siblings.collect();
        let covered: Vec<Route<A>> = self.rib().covered(prefix).collect();
        let mut editing = self.edit();
        for route in covering.iter().chain(&covered) {
            editing.remove(route.prefix);
        }
        for (prefix, value) in siblings {
            editing.insert(prefix, value);
        }
    }
}
