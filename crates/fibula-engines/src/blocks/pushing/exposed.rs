//! [`Exposed`]: the addresses a route owns.

use fibula::{Address, Prefix, Rib, Route};

/// Returns the addresses of `prefix` that no more-specific route covers, as intervals in order.
/// Those are the addresses that an update of `prefix` changes, whether or not it has a route.
/// O(log n) to begin, then O(1) a covered route.
///
/// ```
/// use fibula_engines::blocks::pushing::exposed;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.64/26".parse()?, NextHop(2));
/// let exposed: Vec<(u32, u32)> = exposed(&rib, "10.0.0.0/24".parse()?).collect();
/// assert_eq!(exposed, [(0x0A00_0000, 0x0A00_003F), (0x0A00_0080, 0x0A00_00FF)]);
/// # Ok::<(), fibula::Error>(())
/// ```
pub fn exposed<A: Address>(rib: &Rib<A>, prefix: Prefix<A>) -> Exposed<A, impl Iterator<Item = Route<A>>> {
    Exposed { prefix, covered: rib.covered(prefix), at: Some(prefix.first()) }
}

/// The intervals of [`exposed`], as first and last address.
#[derive(Debug)]
pub struct Exposed<A: Address, I> {
    prefix: Prefix<A>,
    covered: I,
    /// The start of the next interval; `None` when all routes have been walked.
    at: Option<A>,
}

impl<A: Address, I: Iterator<Item = Route<A>>> Iterator for Exposed<A, I> {
    type Item = (A, A);

    fn next(&mut self) -> Option<(A, A)> {
        loop {
            let first = self.at?;
            let Some(route) = self.covered.next() else {
                self.at = None;
                return Some((first, self.prefix.last()));
            };
            // The prefix's own route exposes; routes inside one already passed cover nothing more.
            if route.prefix == self.prefix || route.prefix.first() < first {
                continue;
            }
            let past = route.prefix.last();
            self.at = if past == self.prefix.last() { None } else { past.next() };
            if route.prefix.first() > first {
                return route.prefix.first().previous().map(|last| (first, last));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use proptest::prelude::*;

    #[test]
    fn covered_in_full_exposes_nothing() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert(Prefix::ALL, NextHop(1));
        for half in Prefix::ALL.halves().unwrap() {
            rib.insert(half, NextHop(2));
        }
        assert_eq!(exposed(&rib, Prefix::ALL).next(), None);
        let host = Prefix::host(u32::MAX);
        assert_eq!(exposed(&rib, host).collect::<Vec<_>>(), [(u32::MAX, u32::MAX)]);
    }

    proptest! {
        #[test]
        fn every_address_is_exposed_by_its_longest_match(
            prefixes in proptest::collection::vec((any::<u32>(), 0..=8_u8), 0..20), at in any::<u32>(), len in 0..=8_u8,
        ) {
            let mut rib = Rib::new();
            for (address, len) in prefixes {
                rib.insert(Prefix::containing(address, len), NextHop(1));
            }
            let prefix = Prefix::containing(at, len);
            let intervals: Vec<(u32, u32)> = exposed(&rib, prefix).collect();
            for pair in intervals.windows(2) {
                prop_assert!(pair[0].1 < pair[1].0);
            }
            for slot in 0..1_u64 << 8 {
                let address = u32::from_bits(slot, 0, 8);
                let longer = rib.longest_match(address).is_some_and(|r| r.prefix.len() > len);
                let inside = intervals.iter().any(|&(first, last)| first <= address && address <= last);
                prop_assert_eq!(inside, prefix.contains(address) && !longer);
            }
        }
    }
}
