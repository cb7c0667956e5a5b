//! [`PrefixSet`]: prefixes of both families without values.

#[cfg(doc)]
use super::Table;
use super::{IntoKeys, IpPrefix, Keys, ValueTable};
use crate::rib::AddressSet;
use crate::{Prefix, Views};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// A set of prefixes of both families, with longest-prefix match: a [`ValueTable`] without values.
///
/// A set is seen in two ways. As a set of prefixes, each is one element: [`insert`](Self::insert),
/// [`contains_prefix`](Self::contains_prefix), [`union`](Self::union) and its kin. As the set of
/// the addresses that they match: [`contains`](Self::contains), [`covers`](Self::covers),
/// [`aggregate`](Self::aggregate), [`unite`](Self::unite), [`intersect`](Self::intersect),
/// [`exclude`](Self::exclude), [`differ`](Self::differ), [`invert`](Self::invert),
/// [`addresses`](Self::addresses).
///
/// Costs are those of the table, which [`as_table`](Self::as_table) returns: it has batches, memory
/// and what else only reads.
///
/// ```
/// use fibula::{IpPrefix, PrefixSet};
/// let text = ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"];
/// let mut set: PrefixSet = text.map(|text| text.parse::<IpPrefix>().unwrap()).into();
/// assert!(set.contains([10, 9, 9, 9]) && !set.contains([192, 0, 2, 1]));
/// assert_eq!(set.lookup([10, 1, 2, 3]), Some("10.1.0.0/16".parse()?));
/// assert!(!set.insert("10.0.0.0/8".parse::<IpPrefix>()?));
/// assert_eq!(set.len(), 3);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PrefixSet(ValueTable<()>);

impl PrefixSet {
    /// Returns an empty set. Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the addresses of each family.
    pub(super) fn address_sets(&self) -> (AddressSet<u32>, AddressSet<u128>) {
        (self.0.ipv4.rib().addresses(), self.0.ipv6.rib().addresses())
    }

    /// Returns the fewest prefixes of the addresses that `ipv4` and `ipv6` make of those of both
    /// sets.
    fn combined(
        &self,
        other: &Self,
        ipv4: fn(&AddressSet<u32>, &AddressSet<u32>) -> AddressSet<u32>,
        ipv6: fn(&AddressSet<u128>, &AddressSet<u128>) -> AddressSet<u128>,
    ) -> Self {
        let (here, there) = (self.address_sets(), other.address_sets());
        let (ipv4, ipv6) = (ipv4(&here.0, &there.0), ipv6(&here.1, &there.1));
        ipv4.prefixes().map(IpPrefix::from).chain(ipv6.prefixes().map(IpPrefix::from)).collect()
    }

    /// Returns the set as a table.
    #[must_use]
    pub fn as_table(&self) -> &ValueTable<()> {
        &self.0
    }

    /// Returns only what answers for addresses: the compiled tables of both families, without the
    /// prefixes. That is a sixth of the bytes of an Internet table. An address is in the set if its
    /// answer is a next hop.
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// use std::net::IpAddr;
    /// let set = PrefixSet::from(["192.0.2.0/24".parse::<IpPrefix>()?]);
    /// let frozen = set.freeze();
    /// let addresses = ["192.0.2.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap());
    /// assert_eq!(addresses.map(|address| frozen.lookup(address).is_some()), [true, false]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn freeze(self) -> Views {
        let ValueTable { ipv4, ipv6 } = self.0;
        (ipv4.compiled.into_view(), ipv6.compiled.into_view()).into()
    }

    /// Returns the number of prefixes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no prefixes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Inserts a prefix. Returns whether it is new.
    ///
    /// # Panics
    /// As [`Table::insert`].
    pub fn insert(&mut self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.insert(prefix, ()).is_none()
    }

    /// Removes a prefix. Returns whether it was there.
    pub fn remove(&mut self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.remove(prefix).is_some()
    }

    /// Removes the prefixes that `prefix` covers, itself included. Returns their number; see
    /// [`Table::remove_covered`].
    pub fn remove_covered(&mut self, prefix: impl Into<IpPrefix>) -> usize {
        self.0.remove_covered(prefix)
    }

    /// Removes all prefixes.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the prefixes for which `keep` returns true; see [`Table::retain`].
    pub fn retain(&mut self, mut keep: impl FnMut(IpPrefix) -> bool) {
        self.0.retain(|prefix, &()| keep(prefix));
    }

    /// Returns whether exactly this prefix is an element. O(log n).
    #[must_use]
    pub fn contains_prefix(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.contains_key(prefix)
    }

    /// Returns whether any prefix matches an address.
    #[inline]
    #[must_use]
    pub fn contains(&self, address: impl Into<IpAddr>) -> bool {
        self.0.contains(address)
    }

    /// Returns the longest matching prefix of an address. A walk of the routes, O(b log n): see
    /// [`Rib`](crate::Rib). An [`InternedTable`](super::InternedTable) of `()` answers it as fast
    /// as any.
    #[inline]
    #[must_use]
    pub fn lookup(&self, address: impl Into<IpAddr>) -> Option<IpPrefix> {
        self.0.lookup(address).map(|(prefix, ())| prefix)
    }

    /// Returns the longest prefix that covers `prefix`, itself included; see [`Table::get_lpm`].
    #[must_use]
    pub fn get_lpm(&self, prefix: impl Into<IpPrefix>) -> Option<IpPrefix> {
        self.0.get_lpm(prefix).map(|(prefix, ())| prefix)
    }

    /// Returns the shortest prefix that covers `prefix`, itself included; see [`Table::get_spm`].
    #[must_use]
    pub fn get_spm(&self, prefix: impl Into<IpPrefix>) -> Option<IpPrefix> {
        self.0.get_spm(prefix).map(|(prefix, ())| prefix)
    }

    /// Returns whether any prefix covers `prefix`; see [`Table::is_covered`].
    #[must_use]
    pub fn is_covered(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.is_covered(prefix)
    }

    /// Returns the prefixes that cover `prefix`, itself included, longest first; see
    /// [`Table::covering`].
    pub fn covering(&self, prefix: impl Into<IpPrefix>) -> impl Iterator<Item = IpPrefix> {
        self.0.covering(prefix).map(|(prefix, ())| prefix)
    }

    /// Returns the prefixes that `prefix` covers, itself included, in order; see
    /// [`Table::covered`].
    pub fn covered(&self, prefix: impl Into<IpPrefix>) -> impl DoubleEndedIterator<Item = IpPrefix> {
        self.0.covered(prefix).map(|(prefix, ())| prefix)
    }

    /// Returns the prefixes in order: IPv4 before IPv6, by address, then by length.
    #[must_use]
    pub fn iter(&self) -> Keys<'_, ()> {
        self.0.keys()
    }

    /// Returns the prefixes that are in either set, in order. One walk over both, O(n + m).
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let [all, half, other] = ["10.0.0.0/8", "10.128.0.0/9", "192.0.2.0/24"]
    ///     .map(|text| text.parse::<IpPrefix>().unwrap());
    /// let (left, right) = (PrefixSet::from([half, other]), PrefixSet::from([all, other]));
    /// assert!(left.union(&right).eq([all, half, other]));
    /// assert!(left.intersection(&right).eq([other]));
    /// assert!(left.difference(&right).eq([half])); // by prefix, not by address
    /// assert!(left.covering_difference(&right).next().is_none());
    /// ```
    pub fn union<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = IpPrefix> {
        self.0.union(&other.0).map(|(prefix, ..)| prefix)
    }

    /// Returns the prefixes that are in both sets, in order; see [`union`](Self::union).
    pub fn intersection<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = IpPrefix> {
        self.0.intersection(&other.0).map(|(prefix, ..)| prefix)
    }

    /// Returns the prefixes that are not in `other`, in order; see [`union`](Self::union).
    pub fn difference<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = IpPrefix> {
        self.0.difference(&other.0).map(|(prefix, ())| prefix)
    }

    /// Returns the prefixes that no prefix of `other` covers, in order; see
    /// [`union`](Self::union).
    pub fn covering_difference<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = IpPrefix> {
        self.0.covering_difference(&other.0).map(|(prefix, ())| prefix)
    }

    /// Returns whether any address is in both sets; see [`Table::overlaps`].
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.overlaps(&other.0)
    }

    /// Returns whether any address of `prefix` is in the set; see [`Table::overlaps_prefix`].
    #[must_use]
    pub fn overlaps_prefix(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.overlaps_prefix(prefix)
    }

    /// Returns the addresses as the fewest ranges, in order; see [`Table::addresses`].
    /// [`IpPrefix::fewest`] makes prefixes of a range.
    pub fn addresses(&self) -> impl Iterator<Item = RangeInclusive<IpAddr>> {
        self.0.addresses()
    }

    /// Returns the numbers of IPv4 and of IPv6 addresses; see [`Table::address_count`].
    #[must_use]
    pub fn address_count(&self) -> (u64, Option<u128>) {
        self.0.address_count()
    }

    /// Returns the fewest prefixes of the same addresses. O(n), and the build of the new set.
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let text = ["10.0.0.0/9", "10.128.0.0/9", "10.1.0.0/16"];
    /// let set = PrefixSet::from(text.map(|text| text.parse::<IpPrefix>().unwrap()));
    /// assert_eq!(set.aggregate(), PrefixSet::from(["10.0.0.0/8".parse::<IpPrefix>()?]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn aggregate(&self) -> Self {
        self.unite(&Self::new())
    }

    /// Returns the fewest prefixes of the addresses that are in either set. O(m) for *m* prefixes
    /// in both, and the build of the new set. [`union`](Self::union) is by prefix.
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let set = |text: &str| PrefixSet::from([text.parse::<IpPrefix>().unwrap()]);
    /// let (low, high, all) = (set("10.0.0.0/9"), set("10.128.0.0/9"), set("10.0.0.0/8"));
    /// assert_eq!((low.unite(&high), all.intersect(&high)), (all.clone(), high.clone()));
    /// assert_eq!(all.differ(&low), high);
    /// ```
    #[must_use]
    pub fn unite(&self, other: &Self) -> Self {
        self.combined(other, AddressSet::union, AddressSet::union)
    }

    /// Returns the fewest prefixes of the addresses that are in both sets; see
    /// [`unite`](Self::unite).
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        self.combined(other, AddressSet::intersection, AddressSet::intersection)
    }

    /// Returns the fewest prefixes of the addresses that are in one set and not in the other; see
    /// [`unite`](Self::unite).
    #[must_use]
    pub fn differ(&self, other: &Self) -> Self {
        self.combined(other, AddressSet::symmetric_difference, AddressSet::symmetric_difference)
    }

    /// Returns whether all addresses of `prefix` are in the set, of one prefix or of several
    /// together; see [`Table::covers`].
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let [low, high, all] =
    ///     ["10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/8"].map(|text| text.parse().unwrap());
    /// let set: PrefixSet = PrefixSet::from([low, high] as [IpPrefix; 2]);
    /// assert!(set.covers(all) && !set.is_covered(all));
    /// ```
    #[must_use]
    pub fn covers(&self, prefix: impl Into<IpPrefix>) -> bool {
        self.0.covers(prefix)
    }

    /// Returns the fewest prefixes of the addresses that are here and not in `excluded`; see
    /// [`unite`](Self::unite).
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let set = |text: &str| PrefixSet::from([text.parse::<IpPrefix>().unwrap()]);
    /// let (all, some) = (set("10.0.0.0/8"), set("10.64.0.0/10"));
    /// let rest: PrefixSet = all.exclude(&some);
    /// assert!(rest.iter().map(|prefix| prefix.to_string()).eq(["10.0.0.0/10", "10.128.0.0/9"]));
    /// // The addresses that are in both sets:
    /// assert_eq!(all.exclude(&some.invert()), some);
    /// ```
    #[must_use]
    pub fn exclude(&self, excluded: &Self) -> Self {
        self.combined(excluded, AddressSet::difference, AddressSet::difference)
    }

    /// Returns the fewest prefixes of the addresses that are not in the set, of both families.
    /// Costs as [`exclude`](Self::exclude).
    ///
    /// ```
    /// use fibula::{IpPrefix, PrefixSet};
    /// let quarters = [[0, 0, 0, 0], [192, 0, 0, 0]];
    /// let set = PrefixSet::from(quarters.map(|first| IpPrefix::new(first, 2).unwrap()));
    /// let text = set.invert().iter().map(|prefix| prefix.to_string()).collect::<Vec<_>>();
    /// assert_eq!(text, ["64.0.0.0/2", "128.0.0.0/2", "::/0"]);
    /// assert_eq!(set.invert().invert(), set);
    /// ```
    #[must_use]
    pub fn invert(&self) -> Self {
        let all = [Prefix::<u32>::ALL.into(), IpPrefix::from(Prefix::<u128>::ALL)];
        Self::from(all).exclude(self)
    }
}

impl<P: Into<IpPrefix>> FromIterator<P> for PrefixSet {
    /// Compiles once, when the iterator has ended.
    fn from_iter<I: IntoIterator<Item = P>>(prefixes: I) -> Self {
        Self(prefixes.into_iter().map(|prefix| (prefix, ())).collect())
    }
}

impl<P: Into<IpPrefix>, const N: usize> From<[P; N]> for PrefixSet {
    /// See [`FromIterator`].
    fn from(prefixes: [P; N]) -> Self {
        prefixes.into_iter().collect()
    }
}

impl<P: Into<IpPrefix>> Extend<P> for PrefixSet {
    /// Compiles once, when the iterator has ended.
    fn extend<I: IntoIterator<Item = P>>(&mut self, prefixes: I) {
        self.0.extend(prefixes.into_iter().map(|prefix| (prefix, ())));
    }
}

impl<'s> IntoIterator for &'s PrefixSet {
    type Item = IpPrefix;
    type IntoIter = Keys<'s, ()>;

    fn into_iter(self) -> Keys<'s, ()> {
        self.iter()
    }
}

impl IntoIterator for PrefixSet {
    type Item = IpPrefix;
    type IntoIter = IntoKeys<()>;

    fn into_iter(self) -> IntoKeys<()> {
        self.0.into_keys()
    }
}

/// As a set of text, in order.
impl fmt::Debug for PrefixSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(super::collect::Text)).finish()
    }
}
