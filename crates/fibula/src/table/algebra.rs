//! Two tables together: by their prefixes, each of which is one element whatever it covers.

use super::form::Form;
use super::{IpPrefix, Table};
use crate::rib::merged;

impl<V, F: Form<V>> Table<V, F> {
    /// Returns the prefixes of either table in order, each with its value here and its value in
    /// `other`. One walk over both, O(n + m).
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [a, b, c] =
    ///     ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"].map(|text| text.parse().unwrap());
    /// let left: Table<u32> = Table::from([(a, 1), (b, 2)] as [(IpPrefix, u32); 2]);
    /// let right: Table<char> = Table::from([(b, 'x'), (c, 'y')]);
    /// let union = left.union(&right);
    /// assert!(union.eq([(a, Some(&1), None), (b, Some(&2), Some(&'x')), (c, None, Some(&'y'))]));
    /// assert!(left.intersection(&right).eq([(b, &2, &'x')]));
    /// assert!(left.difference(&right).eq([(a, &1)]));
    /// ```
    pub fn union<'t, W, G: Form<W>>(
        &'t self,
        other: &'t Table<W, G>,
    ) -> impl Iterator<Item = (IpPrefix, Option<&'t V>, Option<&'t W>)> {
        merged(self, other)
    }

    /// Returns the prefixes that are in both tables, in order, each with its value here and its
    /// value in `other`; see [`union`](Table::union).
    pub fn intersection<'t, W, G: Form<W>>(
        &'t self,
        other: &'t Table<W, G>,
    ) -> impl Iterator<Item = (IpPrefix, &'t V, &'t W)> {
        self.union(other).filter_map(|(prefix, value, other)| Some((prefix, value?, other?)))
    }

    /// Returns the routes whose prefix is not in `other`, in order; see [`union`](Table::union).
    pub fn difference<'t, W, G: Form<W>>(
        &'t self,
        other: &'t Table<W, G>,
    ) -> impl Iterator<Item = (IpPrefix, &'t V)> {
        let routes = self.union(other).filter(|(_, _, other)| other.is_none());
        routes.filter_map(|(prefix, value, _)| Some((prefix, value?)))
    }

    /// Returns the routes whose prefix no prefix of `other` covers, in order. One walk over both,
    /// O(n + m).
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [all, half, other] = ["10.0.0.0/8", "10.128.0.0/9", "192.0.2.0/24"]
    ///     .map(|text| text.parse::<IpPrefix>().unwrap());
    /// let table = Table::from([(half, 1), (other, 2)]);
    /// assert!(table.covering_difference(&Table::from([(all, ())])).eq([(other, &2)]));
    /// ```
    pub fn covering_difference<'t, W, G: Form<W>>(
        &'t self,
        other: &'t Table<W, G>,
    ) -> impl Iterator<Item = (IpPrefix, &'t V)> {
        // In this order a prefix comes before all it covers: the last that no other covers decides.
        let mut cover: Option<IpPrefix> = None;
        self.union(other).filter_map(move |(prefix, value, other)| {
            if cover.is_some_and(|cover| cover.covers(prefix)) {
                return None;
            }
            if other.is_some() {
                cover = Some(prefix);
                return None;
            }
            Some((prefix, value?))
        })
    }

    /// Returns what turns this table into `new`: each prefix that differs, in order, with its value
    /// before and its value after. One walk over both, O(n + m).
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [a, b, c] =
    ///     ["10.0.0.0/8", "10.1.0.0/16", "::/0"].map(|text| text.parse::<IpPrefix>().unwrap());
    /// let old = Table::from([(a, 1), (b, 2)]);
    /// let new = Table::from([(a, 1), (b, 3), (c, 4)]);
    /// assert!(old.diff(&new).eq([(b, Some(&2), Some(&3)), (c, None, Some(&4))]));
    /// ```
    pub fn diff<'t>(&'t self, new: &'t Self) -> impl Iterator<Item = (IpPrefix, Option<&'t V>, Option<&'t V>)>
    where
        V: PartialEq,
    {
        self.union(new).filter(|(_, before, after)| before != after)
    }

    /// Returns whether any address has a match in both tables. O(s·b·log l) for *s* routes of the
    /// smaller table and *l* of the larger; less if it has.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [net, host, other] = ["192.0.2.0/24", "192.0.2.7", "192.0.3.0/24"]
    ///     .map(|text| Table::from([(text.parse::<IpPrefix>().unwrap(), ())]));
    /// assert!(net.overlaps(&host) && !net.overlaps(&other));
    /// ```
    #[must_use]
    pub fn overlaps<W, G: Form<W>>(&self, other: &Table<W, G>) -> bool {
        if self.len() > other.len() {
            return other.overlaps(self);
        }
        self.keys().any(|prefix| other.overlaps_prefix(prefix))
    }
}
