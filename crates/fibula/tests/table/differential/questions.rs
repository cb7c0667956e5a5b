//! Every method that reads.

use super::truth::{Truth, distance, lookup, parts};
use super::{Changed, Pair};
use fibula::{IpPrefix, PrefixSet, Table};
use std::net::IpAddr;

type Route = (IpPrefix, u64);

fn own((prefix, &value): (IpPrefix, &u64)) -> Route {
    (prefix, value)
}

/// Returns the routes of a truth for which `keep` returns true.
fn those(truth: &Truth, keep: impl Fn(&IpPrefix) -> bool) -> Vec<Route> {
    truth.iter().filter(|(prefix, _)| keep(prefix)).map(|(&prefix, &value)| (prefix, value)).collect()
}

fn set_of(truth: &Truth) -> PrefixSet {
    truth.keys().copied().collect()
}

impl<F: Changed> Pair<F> {
    pub(super) fn question(&mut self) {
        let prefix = self.prefix();
        // What compiles tables is rare.
        if self.rng.u8(..64) == 0 {
            self.sets(prefix);
            self.copies();
        }
        match self.rng.u8(..6) {
            0 => {
                let count = self.rng.usize(..70);
                let addresses: Vec<IpAddr> = (0..count).map(|_| self.address()).collect();
                self.lookups(&addresses);
            }
            1 => self.exact(prefix),
            2 => self.nested(prefix),
            3 => self.walks(),
            4 => self.together(),
            _ => self.addresses(),
        }
    }

    fn lookups(&self, addresses: &[IpAddr]) {
        let mut matches = vec![None; addresses.len()];
        self.table.lookup_batch(addresses, &mut matches);
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for (&address, found) in addresses.iter().zip(matches) {
            let expected = lookup(&self.truth, address);
            assert_eq!(self.table.lookup(address).map(own), expected, "{address}");
            assert_eq!(found.map(own), expected, "{address} in a batch");
            assert_eq!(self.table.lookup_value(address).copied(), expected.map(|(_, value)| value));
            assert_eq!(self.table.contains(address), expected.is_some());
            match address {
                IpAddr::V4(address) => ipv4.push(address),
                IpAddr::V6(address) => ipv6.push(address),
            }
        }
        let (mut matches, mut values) = (vec![None; ipv4.len()], vec![None; ipv4.len()]);
        let mut contained = vec![true; ipv4.len()];
        self.table.contains_batch_ipv4(&ipv4, &mut contained);
        self.table.lookup_values_ipv4(&ipv4, &mut values);
        self.table.lookup_batch_ipv4(&ipv4, &mut matches);
        assert!(values.into_iter().eq(matches.iter().map(|found| found.map(|(_, value)| value))));
        assert!(contained.into_iter().eq(matches.iter().map(Option::is_some)));
        let mut asked = 0;
        self.table.lookup_each_ipv4(&ipv4, |at, found| {
            assert_eq!((at, found.is_some()), (asked, matches[at].is_some()));
            assert_eq!((found.route(), found.value()), (matches[at], matches[at].map(|(_, value)| value)));
            asked += 1;
        });
        assert_eq!(asked, ipv4.len());
        for (address, found) in ipv4.into_iter().zip(matches) {
            let expected = lookup(&self.truth, address.into());
            assert_eq!(self.table.lookup_ipv4(address), found);
            assert_eq!(found.map(|(prefix, &value)| (prefix.into(), value)), expected);
        }
        let (mut matches, mut values) = (vec![None; ipv6.len()], vec![None; ipv6.len()]);
        let mut contained = vec![true; ipv6.len()];
        self.table.contains_batch_ipv6(&ipv6, &mut contained);
        self.table.lookup_values_ipv6(&ipv6, &mut values);
        self.table.lookup_batch_ipv6(&ipv6, &mut matches);
        assert!(values.into_iter().eq(matches.iter().map(|found| found.map(|(_, value)| value))));
        assert!(contained.into_iter().eq(matches.iter().map(Option::is_some)));
        let mut asked = 0;
        self.table.lookup_each_ipv6(&ipv6, |at, found| {
            assert_eq!((at, found.is_some()), (asked, matches[at].is_some()));
            assert_eq!((found.route(), found.value()), (matches[at], matches[at].map(|(_, value)| value)));
            asked += 1;
        });
        assert_eq!(asked, ipv6.len());
        for (address, found) in ipv6.into_iter().zip(matches) {
            let expected = lookup(&self.truth, address.into());
            assert_eq!(self.table.lookup_ipv6(address), found);
            assert_eq!(found.map(|(prefix, &value)| (prefix.into(), value)), expected);
        }
    }

    fn exact(&self, prefix: IpPrefix) {
        let (table, expected) = (&self.table, self.truth.get(&prefix));
        assert_eq!((table.get(prefix), table.contains_key(prefix)), (expected, expected.is_some()));
        assert_eq!(table.get_key_value(prefix), expected.map(|value| (prefix, value)));
        let from = those(&self.truth, |other| *other >= prefix);
        assert!(table.iter_from(prefix).map(own).eq(from.iter().copied()));
        assert!(table.iter_from(prefix).rev().map(own).eq(from.into_iter().rev()));
        for (&prefix, &value) in &self.truth {
            assert_eq!(table[prefix], value);
        }
    }

    fn nested(&self, prefix: IpPrefix) {
        let (table, truth) = (&self.table, &self.truth);
        let mut covering = those(truth, |other| other.covers(prefix));
        covering.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        let covered = those(truth, |other| prefix.covers(*other));
        assert_eq!(table.covering(prefix).map(own).collect::<Vec<_>>(), covering);
        assert_eq!(table.covered(prefix).map(own).collect::<Vec<_>>(), covered);
        assert!(table.covered(prefix).rev().map(own).eq(covered.iter().rev().copied()));
        assert_eq!(table.get_lpm(prefix).map(own), covering.first().copied());
        assert_eq!(table.get_spm(prefix).map(own), covering.last().copied());
        assert_eq!(table.is_covered(prefix), !covering.is_empty());
        assert_eq!(table.overlaps_prefix(prefix), !covering.is_empty() || !covered.is_empty());
    }

    fn walks(&self) {
        let (table, truth) = (&self.table, &self.truth);
        assert_eq!((table.len(), table.is_empty()), (truth.len(), truth.is_empty()));
        assert_eq!(table.len_ipv4() + table.len_ipv6(), truth.len());
        let routes = those(truth, |_| true);
        assert!(table.iter().map(own).eq(routes.iter().copied()));
        assert!(table.iter().rev().map(own).eq(routes.iter().rev().copied()));
        assert!(table.keys().eq(truth.keys().copied()) && table.values().eq(truth.values()));
        let ipv4 = table.iter_ipv4().map(|(prefix, value)| own((prefix.into(), value)));
        let ipv6 = table.iter_ipv6().map(|(prefix, value)| own((prefix.into(), value)));
        assert!(ipv4.eq(those(truth, |prefix| matches!(prefix, IpPrefix::V4(_)))));
        assert!(ipv6.eq(those(truth, |prefix| matches!(prefix, IpPrefix::V6(_)))));
        assert!(table.memory().total() >= truth.len() * 9);
    }

    fn copies(&self) {
        let (table, truth) = (&self.table, &self.truth);
        let clone = table.clone();
        assert_eq!(&clone, table);
        assert!(clone.clone().into_keys().eq(truth.keys().copied()));
        assert!(clone.clone().into_values().eq(truth.values().copied()));
        assert!(clone.into_iter().eq(those(truth, |_| true)));

        // Ranges become prefixes, and these the ranges.
        let mut again = Table::new();
        for (range, value) in table.ranges() {
            let prefixes = IpPrefix::fewest(*range.start(), *range.end()).unwrap();
            again.extend(prefixes.map(|prefix| (prefix, *value)));
        }
        assert!(again.ranges().eq(table.ranges()));
    }

    fn together(&self) {
        let (table, other) = (&self.table, &self.other);
        let mut expected: Vec<(IpPrefix, Option<&u64>, Option<&u64>)> = Vec::new();
        for prefix in self.truth.keys().chain(self.other_truth.keys()) {
            expected.push((*prefix, self.truth.get(prefix), self.other_truth.get(prefix)));
        }
        expected.sort_unstable();
        expected.dedup();
        let both = expected.iter().filter_map(|&(prefix, left, right)| Some((prefix, left?, right?)));
        let difference = those(&self.truth, |prefix| !self.other_truth.contains_key(prefix));
        let is_covered = |prefix: &IpPrefix| self.other_truth.keys().any(|other| other.covers(*prefix));
        let overlap = |left: &IpPrefix, right: &IpPrefix| left.covers(*right) || right.covers(*left);
        assert!(table.intersection(other).eq(both));
        assert!(table.difference(other).map(own).eq(difference));
        assert!(table.covering_difference(other).map(own).eq(those(&self.truth, |p| !is_covered(p))));
        assert!(table.diff(other).eq(expected.iter().copied().filter(|(_, left, right)| left != right)));
        assert!(table.union(other).eq(expected));
        let overlaps =
            self.truth.keys().any(|left| self.other_truth.keys().any(|right| overlap(left, right)));
        assert_eq!((table.overlaps(other), other.overlaps(table)), (overlaps, overlaps));
        assert_eq!(table == other, self.truth == self.other_truth);
    }

    fn addresses(&self) {
        let (table, keys) = (&self.table, || self.truth.keys().copied());
        let covered = parts(keys(), |address| lookup(&self.truth, address).map(|_| ()));
        let found = table.addresses().map(|range| (*range.start(), *range.end(), ()));
        assert_eq!(found.collect::<Vec<_>>(), covered);
        let ranges = parts(keys(), |address| lookup(&self.truth, address).map(|(_, value)| value));
        let found = table.ranges().map(|(range, &value)| (*range.start(), *range.end(), value));
        assert_eq!(found.collect::<Vec<_>>(), ranges);

        let count = |is_ipv4| {
            let mut parts = covered.iter().filter(|(first, ..)| first.is_ipv4() == is_ipv4);
            parts.try_fold(0_u128, |sum, &(first, last, ())| {
                sum.checked_add(distance(first, last))?.checked_add(1)
            })
        };
        for prefix in keys().chain(keys().filter_map(IpPrefix::parent)) {
            let is_all =
                covered.iter().any(|&(first, last, ())| first <= prefix.first() && prefix.last() <= last);
            assert_eq!(table.covers(prefix), is_all, "{prefix}");
        }
        assert_eq!(table.address_count(), (count(true).unwrap() as u64, count(false)));
    }

    fn sets(&mut self, prefix: IpPrefix) {
        let (mut set, other) = (set_of(&self.truth), set_of(&self.other_truth));
        let (truth, other_truth) = (&self.truth, &self.other_truth);
        assert!(set.iter().eq(truth.keys().copied()));
        assert!(IpPrefix::fewest(prefix.first(), prefix.last()).unwrap().eq([prefix]));
        assert!(set.as_table().keys().eq(self.table.keys()));
        assert_eq!(set.contains_prefix(prefix), truth.contains_key(&prefix));
        assert_eq!(set.is_covered(prefix), self.table.is_covered(prefix));
        assert_eq!(set.overlaps_prefix(prefix), self.table.overlaps_prefix(prefix));
        assert_eq!(set.get_lpm(prefix), self.table.get_lpm(prefix).map(|(prefix, _)| prefix));
        assert_eq!(set.get_spm(prefix), self.table.get_spm(prefix).map(|(prefix, _)| prefix));
        assert!(set.covering(prefix).eq(self.table.covering(prefix).map(|(prefix, _)| prefix)));
        assert!(set.covered(prefix).eq(self.table.covered(prefix).map(|(prefix, _)| prefix)));
        assert!(set.addresses().eq(self.table.addresses()));
        assert_eq!(set.address_count(), self.table.address_count());
        assert_eq!(set.overlaps(&other), self.table.overlaps(&self.other));
        let last = prefix.last();
        assert_eq!(set.lookup(last), lookup(truth, last).map(|(prefix, _)| prefix));
        assert_eq!(set.contains(last), set.lookup(last).is_some());
        assert!(set.union(&other).eq(self.table.union(&self.other).map(|(prefix, ..)| prefix)));
        assert!(set.intersection(&other).eq(self.table.intersection(&self.other).map(|(prefix, ..)| prefix)));
        assert!(set.difference(&other).eq(self.table.difference(&self.other).map(|(prefix, _)| prefix)));
        let difference = self.table.covering_difference(&self.other).map(|(prefix, _)| prefix);
        assert!(set.covering_difference(&other).eq(difference));

        let keys = || truth.keys().chain(other_truth.keys()).copied();
        let is_in = |truth: &Truth, address| lookup(truth, address).is_some();
        let of = |keep: &dyn Fn(IpAddr) -> bool| parts(keys(), |address| keep(address).then_some(()));
        assert_fewest(&set.aggregate(), &of(&|address| is_in(truth, address)));
        assert_fewest(&set.invert(), &of(&|address| !is_in(truth, address)));
        let expected = of(&|address| is_in(truth, address) && !is_in(other_truth, address));
        assert_fewest(&set.exclude(&other), &expected);
        let expected = of(&|address| is_in(truth, address) || is_in(other_truth, address));
        assert_fewest(&set.unite(&other), &expected);
        let expected = of(&|address| is_in(truth, address) && is_in(other_truth, address));
        assert_fewest(&set.intersect(&other), &expected);
        let expected = of(&|address| is_in(truth, address) != is_in(other_truth, address));
        assert_fewest(&set.differ(&other), &expected);
        let values = |table: &Table<u64, F>| {
            let ranges = table.ranges().map(|(range, &value)| (*range.start(), *range.end(), value));
            ranges.collect::<Vec<_>>()
        };
        let both = |is_other: bool| {
            let value = |address| lookup(truth, address).map(|(_, value)| value);
            parts(keys(), |address| value(address).filter(|_| is_in(other_truth, address) == is_other))
        };
        assert_eq!(values(&self.table.within(&other)), both(true));
        assert_eq!(values(&self.table.without(&other)), both(false));

        assert_eq!(set.insert(prefix), !truth.contains_key(&prefix));
        assert!(set.contains_prefix(prefix) && set.remove(prefix) && !set.remove(prefix));
        let count = those(truth, |other| prefix.covers(*other) && *other != prefix).len();
        assert_eq!(set.remove_covered(prefix), count);
        set.extend(other_truth.keys().copied());
        assert_eq!(set.len(), set.clone().into_iter().count());
        set.retain(|prefix| prefix.len() > 16);
        assert!(set.iter().all(|prefix| prefix.len() > 16));
        set.clear();
        assert!(set.is_empty() && set == PrefixSet::new());
    }
}

/// Checks that a set has exactly these addresses, and no two prefixes where one would do.
fn assert_fewest(set: &PrefixSet, expected: &[(IpAddr, IpAddr, ())]) {
    let found = parts(set.iter(), |address| set.contains(address).then_some(()));
    assert_eq!(found, expected);
    let prefixes: Vec<IpPrefix> = set.iter().collect();
    for pair in prefixes.windows(2) {
        assert!(!pair[0].covers(pair[1]), "{set:?}");
        assert!(pair[0].parent().is_none_or(|parent| pair[1].parent() != Some(parent)), "{set:?}");
    }
}
