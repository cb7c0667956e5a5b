//! [`AddressSet`]: the addresses of a table as intervals, and what two such sets have together.

use super::Rib;
use crate::{Address, Prefix, Route};
use std::ops::RangeInclusive;

/// A set of addresses of one family: intervals in order, which neither overlap nor touch.
///
/// An operation on two sets of *n* and *m* intervals is one walk over both, O(n + m). An interval
/// takes 8 bytes for IPv4 and 32 for IPv6.
///
/// ```
/// use fibula::rib::AddressSet;
/// use fibula::Prefix;
/// let set = |text: &str| text.parse::<Prefix<u32>>().into_iter().collect::<AddressSet<u32>>();
/// let (all, some) = (set("10.0.0.0/8"), set("10.64.0.0/10"));
/// let rest = all.difference(&some);
/// assert!(rest.prefixes().map(|p| p.to_string()).eq(["10.0.0.0/10", "10.128.0.0/9"]));
/// assert_eq!((rest.union(&some), rest.intersection(&some)), (all, AddressSet::default()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressSet<A: Address> {
    intervals: Vec<(A, A)>,
}

impl<A: Address> Rib<A> {
    /// Returns the addresses that have a route. O(n).
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// for text in ["10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8", "192.0.2.0/24"] {
    ///     rib.insert(text.parse()?, NextHop(1));
    /// }
    /// let addresses = rib.addresses();
    /// assert!(addresses.intervals().eq([0x0A00_0000..=0x0BFF_FFFF, 0xC000_0200..=0xC000_02FF]));
    /// assert_eq!(addresses.count(), Some((2 << 24) + 256));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn addresses(&self) -> AddressSet<A> {
        self.iter().map(|route| route.prefix).collect()
    }

    /// Returns whether all addresses of `prefix` have a route: one that covers it, or several
    /// together. O(b log n), as a longest match, and O(1) a route that it covers.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// for text in ["10.0.0.0/9", "10.128.0.0/9"] {
    ///     rib.insert(text.parse()?, NextHop(1));
    /// }
    /// assert!(rib.covers("10.0.0.0/8".parse()?) && !rib.covers("10.0.0.0/7".parse()?));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn covers(&self, prefix: Prefix<A>) -> bool {
        self.longest_cover(prefix).is_some() || self.at_least(0).gaps(prefix).next().is_none()
    }

    /// Returns the table for the addresses of `set` alone: each of them keeps its longest match's
    /// next hop, and all others have no route. A route that is only in part in `set` becomes the
    /// fewest routes of the addresses that are. O(n log m + r log r) for *m* intervals and *r*
    /// routes of the result.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let (mut rib, mut half): (Rib<u32>, Rib<u32>) = (Rib::new(), Rib::new());
    /// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
    /// rib.insert("10.1.0.0/16".parse()?, NextHop(2));
    /// half.insert("10.0.0.0/9".parse()?, NextHop(1));
    /// let within = rib.within(&half.addresses());
    /// assert!(within.iter().map(|r| r.prefix.to_string()).eq(["10.0.0.0/9", "10.1.0.0/16"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn within(&self, set: &AddressSet<A>) -> Self {
        // Several routes that nest may give the same prefix. The innermost comes last, and counts.
        let parts = self.iter().flat_map(|route| {
            let prefixes = set.within(route.prefix).map(RangeInclusive::into_inner);
            let prefixes = prefixes.flat_map(|(first, last)| Prefix::fewest(first, last));
            prefixes.map(move |prefix| Route { prefix, ..route })
        });
        parts.collect()
    }
}

impl<A: Address> AddressSet<A> {
    /// Returns whether there are no addresses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the number of addresses; `None` if these are all 2^128 of IPv6. O(n).
    #[must_use]
    pub fn count(&self) -> Option<u128> {
        let counts = self.intervals.iter().map(|(first, last)| last.to_u128() - first.to_u128());
        counts.into_iter().try_fold(0_u128, |sum, count| sum.checked_add(count)?.checked_add(1))
    }

    /// Returns the intervals, the fewest that are these addresses, in order.
    #[must_use]
    pub fn intervals(&self) -> impl ExactSizeIterator<Item = RangeInclusive<A>> {
        self.intervals.iter().map(|&(first, last)| first..=last)
    }

    /// Returns the fewest prefixes that are these addresses, in order.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix<A>> {
        self.intervals.iter().flat_map(|&(first, last)| Prefix::fewest(first, last))
    }

    /// Returns the parts of the intervals that are within `prefix`, in order. O(log n) to begin.
    pub fn within(&self, prefix: Prefix<A>) -> impl Iterator<Item = RangeInclusive<A>> {
        let (first, last) = (prefix.first(), prefix.last());
        let from = self.intervals.partition_point(|&(_, end)| end < first);
        let parts = self.intervals[from..].iter().take_while(move |&&(start, _)| start <= last);
        parts.map(move |&(start, end)| start.max(first)..=end.min(last))
    }

    /// Returns whether all addresses of `prefix` are in the set. O(log n).
    #[must_use]
    pub fn covers(&self, prefix: Prefix<A>) -> bool {
        self.within(prefix).next() == Some(prefix.first()..=prefix.last())
    }

    /// Returns the addresses that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combined(other, |here, there| here || there)
    }

    /// Returns the addresses that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combined(other, |here, there| here && there)
    }

    /// Returns the addresses that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combined(other, |here, there| here && !there)
    }

    /// Returns the addresses that are in one set and not in the other.
    #[must_use]
    pub fn symmetric_difference(&self, other: &Self) -> Self {
        self.combined(other, |here, there| here != there)
    }

    /// Returns all other addresses of the family.
    #[must_use]
    pub fn complement(&self) -> Self {
        self.combined(&Self::default(), |here, _| !here)
    }

    /// Returns the addresses for which `keep` returns true of whether each set has them.
    fn combined(&self, other: &Self, keep: impl Fn(bool, bool) -> bool) -> Self {
        let (mut left, mut right) = (self.edges().peekable(), other.edges().peekable());
        let (mut is_left, mut is_right) = (false, false);
        let (mut intervals, mut open) = (Vec::new(), None);
        let mut edge = Some(A::ZERO);
        while let Some(at) = edge {
            is_left ^= left.next_if_eq(&at).is_some();
            is_right ^= right.next_if_eq(&at).is_some();
            match (open, keep(is_left, is_right)) {
                (None, true) => open = Some(at),
                (Some(first), false) => {
                    intervals.extend(at.previous().map(|last| (first, last)));
                    open = None;
                }
                (None, false) | (Some(_), true) => {}
            }
            edge = match (left.peek(), right.peek()) {
                (Some(&left), Some(&right)) => Some(left.min(right)),
                (left, right) => left.or(right).copied(),
            };
        }
        intervals.extend(open.map(|first| (first, A::MAX)));
        Self { intervals }
    }

    /// Returns the addresses at which the set begins or ends, in order.
    fn edges(&self) -> impl Iterator<Item = A> {
        self.intervals.iter().flat_map(|&(first, last)| [Some(first), last.next()]).flatten()
    }
}

impl<A: Address> FromIterator<RangeInclusive<A>> for AddressSet<A> {
    /// Joins intervals, which may overlap and come in any order. O(n) if their first addresses are
    /// in order, O(n log n) if not. One that ends before it begins is empty.
    fn from_iter<I: IntoIterator<Item = RangeInclusive<A>>>(intervals: I) -> Self {
        let mut joined: Vec<(A, A)> = Vec::new();
        // Those that begin before one that came earlier are sorted first.
        let mut waiting: Vec<(A, A)> = Vec::new();
        for (first, last) in intervals.into_iter().map(RangeInclusive::into_inner) {
            match joined.last() {
                _ if last < first => {}
                Some(&(start, _)) if first < start => waiting.push((first, last)),
                _ => join(&mut joined, (first, last)),
            }
        }
        let set = Self { intervals: joined };
        if waiting.is_empty() {
            return set;
        }
        waiting.sort_unstable();
        let mut others = Vec::new();
        for interval in waiting {
            join(&mut others, interval);
        }
        set.union(&Self { intervals: others })
    }
}

/// Adds an interval that does not begin before the last of `joined`.
fn join<A: Address>(joined: &mut Vec<(A, A)>, (first, last): (A, A)) {
    match joined.last_mut() {
        Some((_, end)) if end.next().is_none_or(|after| first <= after) => *end = last.max(*end),
        _ => joined.push((first, last)),
    }
}

impl<A: Address> FromIterator<Prefix<A>> for AddressSet<A> {
    fn from_iter<I: IntoIterator<Item = Prefix<A>>>(prefixes: I) -> Self {
        prefixes.into_iter().map(|prefix| prefix.first()..=prefix.last()).collect()
    }
}
