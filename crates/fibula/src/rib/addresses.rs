//! The addresses that have a route, as intervals: [`Rib::addresses`].

use super::Rib;
use crate::{Address, Prefix};
use std::ops::RangeInclusive;

impl<A: Address> Rib<A> {
    /// Returns the addresses that have a route as the fewest intervals, in order. O(n) in all.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// for text in ["10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8", "192.0.2.0/24"] {
    ///     rib.insert(text.parse()?, NextHop(1));
    /// }
    /// assert!(rib.addresses().eq([0x0A00_0000..=0x0BFF_FFFF, 0xC000_0200..=0xC000_02FF]));
    /// assert_eq!(rib.address_count(), Some((2 << 24) + 256));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn addresses(&self) -> impl Iterator<Item = RangeInclusive<A>> {
        joined(self.iter().map(|route| (route.prefix.first(), route.prefix.last())))
    }

    /// Returns the number of addresses that have a route, each counted once. `None` if these are
    /// all 2^128 of IPv6. O(n).
    #[must_use]
    pub fn address_count(&self) -> Option<u128> {
        let count = |range: RangeInclusive<A>| range.end().to_u128() - range.start().to_u128();
        self.addresses().try_fold(0_u128, |sum, range| sum.checked_add(count(range))?.checked_add(1))
    }

    /// Returns the fewest prefixes that are the addresses with a route here and none in `excluded`,
    /// in order. O(m log m) for *m* routes in both tables.
    pub(crate) fn fewest_without(&self, excluded: &Rib<A>) -> Vec<Prefix<A>> {
        let mut others: Vec<(A, A)> =
            outside(self.addresses()).chain(excluded.addresses()).map(RangeInclusive::into_inner).collect();
        others.sort_unstable();
        outside(joined(others))
            .map(RangeInclusive::into_inner)
            .flat_map(|(a, b)| Prefix::fewest(a, b))
            .collect()
    }
}

/// Joins intervals, ordered by their first address, that overlap or touch.
fn joined<A: Address>(
    intervals: impl IntoIterator<Item = (A, A)>,
) -> impl Iterator<Item = RangeInclusive<A>> {
    let mut intervals = intervals.into_iter().peekable();
    std::iter::from_fn(move || {
        let (first, mut last) = intervals.next()?;
        let joins = |first: A, last: A| last.next().is_none_or(|after| first <= after);
        while let Some((_, end)) = intervals.next_if(|&(start, _)| joins(start, last)) {
            last = last.max(end);
        }
        Some(first..=last)
    })
}

/// Returns what is in none of `intervals`, which are in order and do not overlap.
fn outside<A: Address>(
    intervals: impl Iterator<Item = RangeInclusive<A>>,
) -> impl Iterator<Item = RangeInclusive<A>> {
    let (mut from, mut intervals) = (Some(A::ZERO), intervals.fuse());
    std::iter::from_fn(move || {
        loop {
            let start = from?;
            let Some(interval) = intervals.next() else {
                from = None;
                return Some(start..=A::MAX);
            };
            from = interval.end().next();
            if let Some(end) = interval.start().previous().filter(|&end| end >= start) {
                return Some(start..=end);
            }
        }
    })
}
