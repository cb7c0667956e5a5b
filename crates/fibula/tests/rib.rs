//! Every operation of the table against a list of routes that is searched linearly.

use fibula::rib::Prefixes;
use fibula::{Address, Change, Delta, NextHop, Prefix, Rib, Route};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// The model: routes in no order, each prefix at most once.
#[derive(Clone, Debug, Default)]
struct List<A: Address>(Vec<Route<A>>);

impl<A: Address> List<A> {
    fn apply(&mut self, change: Change<A>) -> Option<Delta<A>> {
        let prefix = change.prefix();
        let before = self.0.iter().find(|r| r.prefix == prefix).map_or(NextHop::NONE, |r| r.next_hop);
        self.0.retain(|route| route.prefix != prefix);
        let mut after = NextHop::NONE;
        if let Change::Announce(route) = change {
            after = route.next_hop;
            self.0.push(route);
        }
        (before != after).then_some(Delta { prefix, before, after })
    }

    fn sorted(&self) -> Vec<Route<A>> {
        let mut routes = self.0.clone();
        routes.sort();
        routes
    }

    /// Returns the routes that cover a prefix, longest first.
    fn covering(&self, prefix: Prefix<A>) -> Vec<Route<A>> {
        let mut routes: Vec<_> = self.0.iter().copied().filter(|r| r.prefix.covers(prefix)).collect();
        routes.sort_by_key(|route| std::cmp::Reverse(route.prefix.len()));
        routes
    }

    fn answer(&self, address: A) -> NextHop {
        self.covering(Prefix::host(address)).first().map_or(NextHop::NONE, |route| route.next_hop)
    }

    /// Returns the intervals of a prefix: cut wherever a route begins or ends, each looked up,
    /// equal ones merged.
    fn ranges(&self, within: Prefix<A>) -> Vec<(A, A, NextHop)> {
        let ends = self.0.iter().flat_map(|r| [Some(r.prefix.first()), r.prefix.last().next()]);
        let mut firsts: Vec<A> = ends.flatten().filter(|&first| within.contains(first)).collect();
        firsts.push(within.first());
        firsts.sort_unstable();
        firsts.dedup();
        let mut ranges: Vec<(A, A, NextHop)> = Vec::new();
        for (i, &first) in firsts.iter().enumerate() {
            let last = firsts.get(i + 1).map_or(within.last(), |next| next.previous().unwrap());
            let next_hop = self.answer(first);
            match ranges.last_mut() {
                Some(range) if range.2 == next_hop => range.1 = last,
                _ => ranges.push((first, last, next_hop)),
            }
        }
        ranges
    }

    /// Returns the leaf-pushed trie by its definition: splits every node that contains a longer
    /// route.
    fn leaves(&self, node: Prefix<A>, leaves: &mut Vec<(Prefix<A>, Route<A>)>) {
        let inside = |r: &Route<A>| node.covers(r.prefix) && r.prefix != node;
        if self.0.iter().any(inside) {
            for half in node.halves().unwrap() {
                self.leaves(half, leaves);
            }
        } else if let Some(&route) = self.covering(node).first() {
            leaves.push((node, route));
        }
    }
}

/// Prefixes that nest and touch often, at both ends of the address space and everywhere between.
fn prefix<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let near_the_top = (0..8_u64, any::<bool>()).prop_map(|(bits, ones)| {
        let tail = if ones { !A::mask(3) } else { A::ZERO };
        A::from_bits(bits, 0, 3) | tail
    });
    let near_the_end = (0..16_u64, any::<bool>()).prop_map(|(bits, ones)| {
        let head = if ones { A::mask(A::BITS - 4) } else { A::ZERO };
        A::from_bits(bits, A::BITS - 4, 4) | head
    });
    let anywhere = any::<u128>().prop_map(|bits| A::from_bits(bits as u64, 0, A::BITS.min(64)));
    let address = prop_oneof![3 => near_the_top, 3 => near_the_end, 1 => anywhere];
    let len = prop_oneof![0..=4_u8, A::BITS - 4..=A::BITS, 0..=A::BITS];
    (address, len).prop_map(|(address, len)| Prefix::masked(address, len).unwrap())
}

fn change<A: Address>() -> impl Strategy<Value = Change<A>> {
    (prefix(), 1..5_u32, any::<bool>()).prop_map(|(prefix, next_hop, announce)| {
        if announce {
            Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })
        } else {
            Change::Withdraw(prefix)
        }
    })
}

fn routes<A: Address>() -> impl Strategy<Value = Vec<Route<A>>> {
    vec((prefix(), 1..4_u32).prop_map(|(prefix, n)| Route { prefix, next_hop: NextHop(n) }), 0..24)
}

fn both<A: Address>(routes: &[Route<A>]) -> (Rib<A>, List<A>) {
    let mut list = List::default();
    for &route in routes {
        list.apply(Change::Announce(route));
    }
    (routes.iter().copied().collect(), list)
}

/// Returns the addresses at which answers can change.
fn probes<A: Address>(routes: &[Route<A>]) -> Vec<A> {
    let mut probes = vec![A::ZERO, A::MAX];
    for Route { prefix, .. } in routes {
        let (first, last) = (prefix.first(), prefix.last());
        probes.extend([first.previous(), Some(first), first.next()].into_iter().flatten());
        probes.extend([last.previous(), Some(last), last.next()].into_iter().flatten());
    }
    probes
}

fn changes_follow_the_list<A: Address>(changes: &[Change<A>]) -> Result<(), TestCaseError> {
    let (mut rib, mut list) = (Rib::new(), List::default());
    for &change in changes {
        let before = rib.clone();
        let delta = rib.apply(change);
        prop_assert_eq!(delta, list.apply(change));
        prop_assert_eq!(rib.len(), list.0.len());
        prop_assert_eq!(rib.is_empty(), list.0.is_empty());
        prop_assert_eq!(
            rib.get(change.prefix()).unwrap_or_default(),
            list.0
                .iter()
                .find(|route| route.prefix == change.prefix())
                .map(|route| route.next_hop)
                .unwrap_or_default()
        );
        if let Some(delta) = delta {
            let mut undone = rib.clone();
            prop_assert_eq!(undone.apply(delta.inverse().change()), Some(delta.inverse()));
            prop_assert_eq!(undone, before);
        }
    }
    prop_assert_eq!(rib.iter().collect::<Vec<_>>(), list.sorted());
    let mut backwards: Vec<_> = rib.iter().rev().collect();
    backwards.reverse();
    prop_assert_eq!(&backwards, &list.sorted());
    prop_assert_eq!(rib.max_next_hop(), list.0.iter().map(|r| r.next_hop).max().unwrap_or_default());
    prop_assert_eq!(&backwards.into_iter().collect::<Rib<A>>(), &rib);
    let mut extended = Rib::new();
    extended.extend(list.0);
    prop_assert_eq!(extended, rib);
    Ok(())
}

fn nesting_follows_the_list<A: Address>(
    routes: &[Route<A>],
    prefixes: &[Prefix<A>],
) -> Result<(), TestCaseError> {
    let (rib, list) = both(routes);
    for address in probes(routes) {
        let covers = list.covering(Prefix::host(address));
        prop_assert_eq!(rib.longest_match(address), covers.first().copied());
    }
    let asked = routes.iter().map(|route| route.prefix).chain(prefixes.iter().copied());
    for prefix in asked.chain([Prefix::ALL, Prefix::host(A::MAX), Prefix::host(A::ZERO)]) {
        let covers = list.covering(prefix);
        prop_assert_eq!(rib.longest_cover(prefix), covers.first().copied());
        prop_assert_eq!(rib.parent(prefix), covers.iter().copied().find(|r| r.prefix != prefix));
        prop_assert_eq!(rib.covering(prefix).collect::<Vec<_>>(), covers);
        let covered: Vec<_> = list.sorted().into_iter().filter(|r| prefix.covers(r.prefix)).collect();
        prop_assert_eq!(rib.covered(prefix).collect::<Vec<_>>(), covered);
        let ranges: Vec<_> = rib.ranges_within(prefix).map(|r| (r.first, r.last, r.next_hop)).collect();
        prop_assert_eq!(ranges, list.ranges(prefix));
    }
    let ranges: Vec<_> = rib.ranges().map(|r| (r.first, r.last, r.next_hop)).collect();
    prop_assert_eq!(ranges, list.ranges(Prefix::ALL));
    Ok(())
}

fn leaves_follow_the_list<A: Address>(routes: &[Route<A>]) -> Result<(), TestCaseError> {
    let (rib, list) = both(routes);
    let mut expected = Vec::new();
    list.leaves(Prefix::ALL, &mut expected);
    let leaves: Vec<_> = rib.leaves().map(|leaf| (leaf.prefix, leaf.route)).collect();
    prop_assert_eq!(leaves, expected);
    Ok(())
}

fn statistics_follow_the_list<A: Address>(routes: &[Route<A>]) -> Result<(), TestCaseError> {
    let (rib, list) = both(routes);
    let statistics = rib.statistics();
    let depths = list.0.iter().map(|route| list.covering(route.prefix).len());
    prop_assert_eq!(statistics.routes, list.0.len());
    prop_assert_eq!(statistics.nested, depths.clone().filter(|&depth| depth > 1).count());
    prop_assert_eq!(statistics.max_depth, depths.max().unwrap_or(0));
    for len in 0..=A::BITS {
        let count = list.0.iter().filter(|route| route.prefix.len() == len).count();
        prop_assert_eq!(statistics.by_length[usize::from(len)], count);
        prop_assert_eq!(statistics.lengths().any(|length| length == (len, count)), count > 0);
    }
    let count = |next_hop| list.0.iter().filter(|route| route.next_hop == NextHop(next_hop)).count();
    let most = (1..5).max_by_key(|&next_hop| (count(next_hop), std::cmp::Reverse(next_hop))).unwrap();
    let expected = (count(most) > 0).then(|| (NextHop(most), count(most)));
    prop_assert_eq!(statistics.most_frequent, expected);
    let share = if list.0.is_empty() { 0.0 } else { count(most) as f64 / list.0.len() as f64 };
    prop_assert!((statistics.most_frequent_share() - share).abs() < 1e-12);
    prop_assert_eq!(statistics.next_hops, (1..5).filter(|&next_hop| count(next_hop) > 0).count());
    prop_assert_eq!(statistics.default_route, rib.get(Prefix::ALL));
    prop_assert_eq!(statistics.ranges, list.ranges(Prefix::ALL).len());
    prop_assert_eq!(statistics.leaves, rib.leaves().count());
    let mut lengths: Vec<u8> = list.0.iter().map(|route| route.prefix.len()).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len().saturating_sub(1) / 2).copied();
    prop_assert_eq!(statistics.median_length(), median);
    Ok(())
}

fn diffs_lead_from_one_to_the_other<A: Address>(
    old: &[Route<A>],
    new: &[Route<A>],
) -> Result<(), TestCaseError> {
    let (old, _) = both(old);
    // Routes that both have in common must not appear.
    let (new, _) = both(&[new, &old.iter().take(5).collect::<Vec<_>>()].concat());
    let deltas: Vec<_> = old.diff(&new).collect();
    prop_assert!(deltas.is_sorted_by(|a, b| a.prefix < b.prefix));
    let mut changed = old.clone();
    for &delta in &deltas {
        prop_assert_eq!(changed.apply(delta.change()), Some(delta));
    }
    prop_assert_eq!(&changed, &new);
    prop_assert!(new.diff(&old).eq(deltas.iter().map(|delta| delta.inverse())));
    prop_assert_eq!(new.diff(&new).count(), 0);
    Ok(())
}

fn aggregates_answer_the_same<A: Address>(routes: &[Route<A>]) -> Result<(), TestCaseError> {
    let (rib, _) = both(routes);
    let aggregate = rib.aggregate();
    prop_assert!(aggregate.ranges().eq(rib.ranges()));
    prop_assert!(aggregate.len() <= rib.len());
    prop_assert_eq!(aggregate.aggregate().len(), aggregate.len());
    // From a smallest table no route can be removed, nor can two routes be merged.
    for route in &aggregate {
        let mut without = aggregate.clone();
        without.remove(route.prefix);
        prop_assert!(!without.ranges().eq(rib.ranges()));
    }
    Ok(())
}

fn intervals_are_the_fewest_prefixes<A: Address>(a: A, b: A) -> Result<(), TestCaseError> {
    let (first, last) = (a.min(b), a.max(b));
    let mut at = Some(first);
    for prefix in Prefixes::between(first, last) {
        prop_assert_eq!(Some(prefix.first()), at);
        prop_assert!(prefix.last() <= last);
        // The block one bit shorter would exceed the interval, so no set of fewer blocks exists.
        let parent = prefix.parent();
        prop_assert!(parent.is_none_or(|parent| parent.first() < first || parent.last() > last));
        at = prefix.last().next().filter(|&next| next <= last);
        prop_assert!(at.is_some() || prefix.last() == last);
    }
    prop_assert_eq!(at, None);
    prop_assert_eq!(Prefixes::between(last, first).count(), usize::from(first == last));
    Ok(())
}

/// Failing cases are stored beside this file.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

macro_rules! families {
    ($($family:ident: $address:ty;)+) => {$(mod $family {
        use super::*;

        proptest! {
            #![proptest_config(config())]

            #[test]
            fn changes(changes in vec(change::<$address>(), 0..60)) {
                changes_follow_the_list(&changes)?;
            }

            #[test]
            fn nesting(routes in routes::<$address>(), prefixes in vec(prefix(), 1..6)) {
                nesting_follows_the_list(&routes, &prefixes)?;
            }

            #[test]
            fn leaves(routes in routes::<$address>()) {
                leaves_follow_the_list(&routes)?;
            }

            #[test]
            fn statistics(routes in routes::<$address>()) {
                statistics_follow_the_list(&routes)?;
            }

            #[test]
            fn diff(old in routes::<$address>(), new in routes()) {
                diffs_lead_from_one_to_the_other(&old, &new)?;
            }

            #[test]
            fn aggregate(routes in routes::<$address>()) {
                aggregates_answer_the_same(&routes)?;
            }

            #[test]
            fn intervals(a in prefix::<$address>(), b in prefix::<$address>()) {
                intervals_are_the_fewest_prefixes(a.first(), b.last())?;
                intervals_are_the_fewest_prefixes(a.last(), b.first())?;
            }
        }

        #[test]
        fn intervals_at_both_ends_of_the_space() {
            let count = |first, last| Prefixes::<$address>::between(first, last).count();
            let (zero, max, bits) = (<$address>::ZERO, <$address>::MAX, usize::from(<$address as Address>::BITS));
            assert_eq!(Prefixes::between(zero, max).collect::<Vec<_>>(), [Prefix::ALL]);
            assert_eq!(Prefixes::between(zero, zero).collect::<Vec<_>>(), [Prefix::host(zero)]);
            assert_eq!(Prefixes::between(max, max).collect::<Vec<_>>(), [Prefix::host(max)]);
            assert_eq!((count(zero, max - 1), count(1, max)), (bits, bits));
            assert_eq!(count(1, max - 1), 2 * bits - 2);
            assert_eq!(count(max, zero), 0);
            for pair in [(zero, max), (zero, max - 1), (1, max), (1, max - 1), (max - 1, max), (zero, 1)] {
                intervals_are_the_fewest_prefixes(pair.0, pair.1).unwrap();
            }
        }

        #[test]
        #[should_panic(expected = "a route needs a next hop")]
        fn a_route_without_a_next_hop_is_no_removal() {
            let mut rib: Rib<$address> = Rib::new();
            rib.insert(Prefix::ALL, NextHop(1));
            rib.insert(Prefix::ALL, NextHop::NONE);
        }

        #[test]
        fn the_longest_search_finds_no_cover() {
            // At each step of the search another branch comes before the address and does not cover
            // it.
            let path = |len| Prefix::containing(<$address>::MAX, len);
            let mut rib: Rib<$address> = Rib::new();
            for len in 0..<$address as Address>::BITS {
                rib.insert(path(len).halves().unwrap()[0], NextHop(1));
            }
            assert_eq!(rib.longest_match(<$address>::MAX), None);
            assert_eq!(rib.ranges_within(Prefix::host(<$address>::MAX)).map(|r| r.next_hop).max(),
                Some(NextHop::NONE));
            rib.insert(Prefix::ALL, NextHop(2));
            assert_eq!(rib.longest_match(<$address>::MAX).unwrap().prefix, Prefix::ALL);
        }
    })+};
}

families! {
    ipv4: u32;
    ipv6: u128;
}
