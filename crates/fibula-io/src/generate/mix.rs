//! [`Size`] and [`Mix`]: the number of prefixes of a made table, and of each length.

use crate::Error;
use fibula::Limit;
use std::ops::RangeInclusive;

/// The number of prefixes of each family. A family of 0 prefixes is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// IPv4 prefixes.
    pub ipv4: usize,
    /// IPv6 prefixes.
    pub ipv6: usize,
}

impl Size {
    /// The full tables of May 2026, with the longer prefixes that are added to them.
    pub const FULL: Self = Self { ipv4: 1_043_325, ipv6: 246_475 };

    /// The largest tables. For larger ones the public IPv4 space has no room for the length mix.
    pub const MAX: Self = Self { ipv4: 8_000_000, ipv6: 8_000_000 };

    /// Only IPv4.
    #[must_use]
    pub const fn ipv4(ipv4: usize) -> Self {
        Self { ipv4, ipv6: 0 }
    }

    /// Only IPv6.
    #[must_use]
    pub const fn ipv6(ipv6: usize) -> Self {
        Self { ipv4: 0, ipv6 }
    }

    pub(crate) fn check(self, max: Self) -> Result<(), Error> {
        let pairs = [("IPv4 prefixes", self.ipv4, max.ipv4), ("IPv6 prefixes", self.ipv6, max.ipv6)];
        pairs.into_iter().try_for_each(|(what, had, max)| {
            Limit::check(what, had as u64, max as u64)
                .map_err(|limit| Error::argument("made table", &had.to_string(), limit))
        })
    }
}

/// A length mix: the number of prefixes of each length, shortest first.
pub(crate) type Mix = [(u8, u64)];

/// IPv4: the table of a RIPE RIS peer on 2026-05-11 (1,042,325 prefixes of /8../24), and 1,000
/// longer ones so that lookups meet those too. Most of the longer ones are hosts, as in providers'
/// internal tables.
#[rustfmt::skip]
pub(crate) const IPV4: &Mix = &[
    (8, 16), (9, 14), (10, 39), (11, 95), (12, 297), (13, 584), (14, 1_201), (15, 2_129), (16, 13_635),
    (17, 8_347), (18, 13_387), (19, 25_516), (20, 45_627), (21, 52_463), (22, 113_741), (23, 107_869),
    (24, 657_365),
    (25, 120), (26, 80), (27, 60), (28, 60), (29, 80), (30, 80), (31, 20), (32, 500),
];

/// IPv6: the same peer's 246,175 prefixes of /16../48, and 300 longer ones, mostly subnets and
/// point-to-point links.
#[rustfmt::skip]
pub(crate) const IPV6: &Mix = &[
    (16, 1), (19, 1), (20, 14), (21, 3), (22, 6), (23, 6), (24, 42), (25, 12), (26, 17), (27, 18), (28, 161),
    (29, 5_435), (30, 827), (31, 341), (32, 26_740), (33, 5_407), (34, 5_197), (35, 1_837), (36, 9_424),
    (37, 1_208), (38, 2_677), (39, 1_829), (40, 23_096), (41, 1_697), (42, 2_924), (43, 1_453), (44, 24_860),
    (45, 4_511), (46, 5_640), (47, 8_925), (48, 111_866),
    (49, 10), (52, 4), (56, 24), (58, 20), (60, 6), (64, 150), (112, 2), (122, 1), (124, 5), (125, 9), (126, 19),
    (127, 40), (128, 10),
];

/// Returns the number of prefixes of a mix.
pub(crate) fn total(mix: &Mix) -> u64 {
    mix.iter().map(|&(_, count)| count).sum()
}

/// Returns the mix of a table of another size. A smaller table keeps the proportions. In a larger
/// table only the lengths of `grows` grow in number: the short blocks are assigned already, and
/// tables grow by splitting them.
pub(crate) fn scaled(mix: &Mix, size: u64, grows: RangeInclusive<u8>) -> Vec<(u8, u64)> {
    let moves = |len: u8| size < total(mix) || grows.contains(&len);
    let moving: Vec<u64> = mix.iter().map(|&(len, count)| if moves(len) { count } else { 0 }).collect();
    let kept = total(mix) - moving.iter().sum::<u64>();
    let shares = apportion(&moving, size.saturating_sub(kept));
    mix.iter()
        .zip(shares)
        .map(|(&(len, count), share)| (len, if moves(len) { share } else { count }))
        .filter(|&(_, count)| count > 0)
        .collect()
}

/// Returns the lengths of a band, in the proportions of the whole mix.
pub(crate) fn within(mix: &Mix, band: RangeInclusive<u8>) -> Vec<(u8, u64)> {
    mix.iter().copied().filter(|(len, _)| band.contains(len)).collect()
}

/// Divides `size` in proportion to `weights`, exactly. What rounding down leaves goes to the
/// largest remainders.
pub(crate) fn apportion(weights: &[u64], size: u64) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum::<u128>().max(1);
    let exact = |weight: u64| u128::from(weight) * u128::from(size);
    let mut shares: Vec<u64> = weights.iter().map(|&w| (exact(w) / sum) as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(exact(weights[i]) % sum), i));
    let left = size - shares.iter().sum::<u64>();
    for &i in order.iter().take(left as usize) {
        shares[i] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mixes_are_those_of_the_peer() {
        let up_to = |mix: &Mix, len| mix.iter().filter(|&&(l, _)| l <= len).map(|&(_, n)| n).sum::<u64>();
        assert_eq!((up_to(IPV4, 24), total(IPV4)), (1_042_325, 1_043_325));
        assert_eq!((up_to(IPV6, 48), total(IPV6)), (246_175, 246_475));
    }

    #[test]
    fn growth_leaves_the_short_ones() {
        let grown = scaled(IPV4, 4_000_000, 22..=24);
        assert_eq!(total(&grown), 4_000_000);
        assert_eq!(grown[8], (16, 13_635));
        assert_eq!(scaled(IPV4, 1_043_325, 22..=24), IPV4);
    }

    proptest! {
        #[test]
        fn shares_add_up(weights in prop::collection::vec(0_u64..1 << 40, 1..40), size in 0_u64..1 << 40) {
            prop_assume!(weights.iter().any(|&w| w > 0));
            let shares = apportion(&weights, size);
            prop_assert_eq!(shares.iter().sum::<u64>(), size);
            for (share, weight) in shares.iter().zip(&weights) {
                prop_assert!(*share > 0 || *weight < 1 << 40);
                prop_assert!(*weight > 0 || *share == 0);
            }
        }

        #[test]
        fn small_tables_keep_the_size(size in 0_u64..5000) {
            prop_assert_eq!(total(&scaled(IPV6, size, 29..=48)), size);
        }
    }
}
