//! Controlled prefix expansion: prefixes of many lengths written as prefixes of a few.
//!
//! Srinivasan and Varghese, "Fast Address Lookups Using Controlled Prefix Expansion" (1999). A
//! prefix of length *l* becomes the 2^(*L* - *l*) prefixes of the next level *L* that it covers.
//! Where a longer prefix of the same level already exists, the longer one wins. Walking a
//! [`Rib`](fibula::Rib) in order and overwriting gives this result, because every prefix comes
//! after its covers.

use fibula::{Address, Prefix, Route};
use std::ops::RangeInclusive;

/// Returns the slots of a level that a prefix covers: the values of the first `level` bits. O(1).
///
/// The prefix must not be longer than `level`, and `level` is at most 64.
///
/// ```
/// use fibula::Prefix;
/// use fibula_engines::blocks::expansion::slots;
/// let prefix: Prefix<u32> = "10.128.0.0/9".parse()?;
/// assert_eq!(slots(prefix, 16), 0x0A80..=0x0AFF);
/// # Ok::<(), fibula::Error>(())
/// ```
#[must_use]
#[inline]
pub fn slots<A: Address>(prefix: Prefix<A>, level: u8) -> RangeInclusive<u64> {
    debug_assert!(prefix.len() <= level && level <= 64);
    prefix.first().bits(0, level)..=prefix.last().bits(0, level)
}

/// Returns the index in the ascending `levels` of the level that length `len` is expanded to: the
/// first that is not shorter. Returns `None` if `len` is past the last.
///
/// ```
/// use fibula_engines::blocks::expansion::level_of;
/// let levels = [6, 12, 18, 24];
/// let found = [0, 6, 7, 24, 25].map(|len| level_of(len, &levels));
/// assert_eq!(found, [Some(0), Some(0), Some(1), Some(3), None]);
/// ```
#[must_use]
pub fn level_of(len: u8, levels: &[u8]) -> Option<usize> {
    let level = levels.partition_point(|&level| level < len);
    (level < levels.len()).then_some(level)
}

/// Returns the prefixes of length `level` that a prefix is expanded to, in order.
///
/// ```
/// use fibula::Prefix;
/// use fibula_engines::blocks::expansion::expand;
/// let prefix: Prefix<u32> = "10.0.0.0/7".parse()?;
/// let expanded: Vec<String> = expand(prefix, 8).map(|p| p.to_string()).collect();
/// assert_eq!(expanded, ["10.0.0.0/8", "11.0.0.0/8"]);
/// # Ok::<(), fibula::Error>(())
/// ```
pub fn expand<A: Address>(prefix: Prefix<A>, level: u8) -> impl Iterator<Item = Prefix<A>> {
    slots(prefix, level).map(move |slot| Prefix::containing(A::from_bits(slot, 0, level), level))
}

/// The result of expanding a table to one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelCount {
    /// The length expanded to.
    pub level: u8,
    /// The number of routes expanded to it: those longer than the previous level.
    pub routes: u64,
    /// The number of prefixes if none overlapped: what dynamic programming estimates with.
    pub estimated: u128,
    /// The number of distinct prefixes.
    pub expanded: u128,
}

/// Returns the result of expanding `routes`, in the order of a table, to the ascending `levels`.
/// Routes longer than the last level are left out. O(n).
///
/// ```
/// use fibula_engines::blocks::expansion::counts;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/14".parse()?, NextHop(1));
/// rib.insert("10.1.0.0/16".parse()?, NextHop(2)); // one of the four that the /14 becomes
/// rib.insert("10.1.2.0/23".parse()?, NextHop(3));
/// let counts = counts(&rib, &[16, 24]);
/// assert_eq!((counts[0].routes, counts[0].estimated, counts[0].expanded), (2, 5, 4));
/// assert_eq!((counts[1].routes, counts[1].estimated, counts[1].expanded), (1, 2, 2));
/// # Ok::<(), fibula::Error>(())
/// ```
#[must_use]
pub fn counts<A: Address>(routes: impl IntoIterator<Item = Route<A>>, levels: &[u8]) -> Vec<LevelCount> {
    let mut counts: Vec<LevelCount> =
        levels.iter().map(|&level| LevelCount { level, routes: 0, estimated: 0, expanded: 0 }).collect();
    // In order, a route of the same level is either inside the last outermost one or after it.
    let mut outermost: Vec<Option<Prefix<A>>> = vec![None; levels.len()];
    for route in routes {
        let Some(at) = level_of(route.prefix.len(), levels) else { continue };
        let expanded = 1_u128.checked_shl((levels[at] - route.prefix.len()).into()).unwrap_or(u128::MAX);
        counts[at].routes += 1;
        counts[at].estimated = counts[at].estimated.saturating_add(expanded);
        if !outermost[at].is_some_and(|outer| outer.covers(route.prefix)) {
            outermost[at] = Some(route.prefix);
            counts[at].expanded = counts[at].expanded.saturating_add(expanded);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Rib};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn both_ends_of_the_space_and_the_whole_of_it() {
        assert_eq!(slots(Prefix::<u32>::ALL, 24), 0..=0xFF_FFFF);
        assert_eq!(slots(Prefix::<u128>::ALL, 64), 0..=u64::MAX);
        assert_eq!(slots(Prefix::host(u32::MAX), 32), 0xFFFF_FFFF..=0xFFFF_FFFF);
        assert_eq!(slots(Prefix::<u32>::ALL, 0), 0..=0);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_expanded_set(
            prefixes in proptest::collection::vec((any::<u32>(), 0..=16_u8), 0..40),
        ) {
            let levels = [5, 9, 14];
            let mut rib = Rib::new();
            for (address, len) in prefixes {
                rib.insert(Prefix::containing(address, len), NextHop(1));
            }
            for (at, count) in counts(&rib, &levels).into_iter().enumerate() {
                let here = || rib.iter().filter(|r| level_of(r.prefix.len(), &levels) == Some(at));
                let set: BTreeSet<Prefix<u32>> = here().flat_map(|r| expand(r.prefix, count.level)).collect();
                let repeated: usize = here().map(|r| expand(r.prefix, count.level).count()).sum();
                prop_assert_eq!(count.routes, here().count() as u64);
                prop_assert_eq!(count.expanded, set.len() as u128);
                prop_assert_eq!(count.estimated, repeated as u128);
            }
        }
    }
}
