//! The tree against the standard library's map, with nodes so small that a few hundred routes fill
//! several branches, and with those of use.

use super::{BRANCH_LEAVES, LEAF_ROUTES, Tree};
use crate::{Address, NextHop, Prefix, Route};
use std::collections::BTreeMap;

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns one of the extremes, a short or long prefix that may nest in others, or one that
    /// differs from others only past the 64th bit.
    fn prefix<A: Address>(&mut self) -> Prefix<A> {
        let len = |of: u64| of as u8 % (A::BITS + 1);
        let bits = self.next();
        match self.below(8) {
            0 => [Prefix::ALL, Prefix::host(A::ZERO), Prefix::host(A::MAX), Prefix::containing(A::MAX, 1)]
                [self.below(4)],
            1 => Prefix::containing(A::MAX, len(bits)),
            2 => Prefix::containing(A::ZERO, len(bits)),
            3..=4 => Prefix::host(A::from_bits(bits % 300, A::BITS - 16, 16)),
            5 => Prefix::containing(A::from_bits(bits % 4, 0, 2), len(bits >> 8)),
            _ => Prefix::containing(A::from_bits(bits >> 54, 0, 10), 8 + len(bits) % 9),
        }
    }
}

/// A tree and the map with the same routes.
struct Pair<A: Address, const ROUTES: usize, const LEAVES: usize> {
    tree: Tree<A, ROUTES, LEAVES>,
    map: BTreeMap<Prefix<A>, NextHop>,
}

impl<A: Address, const ROUTES: usize, const LEAVES: usize> Pair<A, ROUTES, LEAVES> {
    fn of(map: BTreeMap<Prefix<A>, NextHop>) -> Self {
        let routes: Vec<_> = map.iter().map(|(&prefix, &next_hop)| Route { prefix, next_hop }).collect();
        let pair = Self { tree: Tree::of(&routes), map };
        pair.tree.validate().unwrap();
        pair
    }

    fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) {
        assert_eq!(self.tree.insert(prefix, next_hop), self.map.insert(prefix, next_hop), "{prefix}");
    }

    fn remove(&mut self, prefix: Prefix<A>) {
        assert_eq!(self.tree.remove(prefix), self.map.remove(&prefix), "{prefix}");
    }

    /// Compares all routes, and what is found at and between some prefixes.
    fn check(&self, draws: &mut Draws) {
        self.tree.validate().unwrap();
        assert_eq!(self.tree.len(), self.map.len());
        let route = |(&prefix, &next_hop): (&Prefix<A>, &NextHop)| Route { prefix, next_hop };
        assert!(self.tree.walk().eq(self.map.iter().map(route)));
        assert!(self.tree.walk().rev().eq(self.map.iter().rev().map(route)));
        for _ in 0..8 {
            let (one, other) = (draws.prefix(), draws.prefix());
            let (first, last) = (Prefix::min(one, other), Prefix::max(one, other));
            assert_eq!(self.tree.get(one), self.map.get(&one).copied());
            assert_eq!(self.tree.last_to(one), self.map.range(..=one).next_back().map(route), "{one}");
            let mut ours = self.tree.range(first, last);
            let mut theirs = self.map.range(first..=last).map(route);
            assert!(ours.clone().eq(theirs.clone()), "{first} to {last}");
            // From both ends, until they meet.
            loop {
                let (our, their) = if draws.below(2) == 0 {
                    (ours.next(), theirs.next())
                } else {
                    (ours.next_back(), theirs.next_back())
                };
                assert_eq!(our, their, "{first} to {last}");
                if our.is_none() {
                    break;
                }
            }
            assert_eq!((ours.next(), ours.next_back()), (None, None));
        }
    }
}

/// Grows and shrinks a table several times, at last to nothing.
fn follows_the_map<A: Address, const ROUTES: usize, const LEAVES: usize>(seed: u64, most: usize) {
    let draws = &mut Draws(seed);
    let mut pair: Pair<A, ROUTES, LEAVES> = Pair::of(BTreeMap::new());
    for most in [most, most / 2, most] {
        for step in 0..2 * most {
            // First mostly inserts, then mostly removals.
            let inserts = if step < most { 9 } else { 3 };
            let next_hop = NextHop(1 + draws.below(5) as u32);
            if draws.below(10) < inserts {
                pair.insert(draws.prefix(), next_hop);
            } else {
                pair.remove(draws.prefix());
            }
            pair.tree.validate().unwrap();
            if step % (most / 4) == 0 {
                pair.check(draws);
            }
        }
        pair.check(draws);
        let copy: Pair<A, ROUTES, LEAVES> = Pair::of(pair.map.clone());
        copy.check(draws);
        assert_eq!(copy.tree, pair.tree);
        let mut clone = pair.tree.clone();
        clone.validate().unwrap_or_else(|error| panic!("a copy: {error}"));
        if let Some((&prefix, &next_hop)) = pair.map.last_key_value() {
            clone.insert(prefix, NextHop(next_hop.0 + 1));
            assert_ne!(clone, pair.tree);
        }
        if seed.is_multiple_of(2) {
            pair.tree = copy.tree;
        }
    }
    let mut prefixes: Vec<_> = pair.map.keys().copied().collect();
    match seed % 3 {
        0 => {}
        1 => prefixes.reverse(),
        _ => prefixes.sort_by_cached_key(|_| draws.next()),
    }
    for prefix in prefixes {
        pair.remove(prefix);
        pair.tree.validate().unwrap();
    }
    pair.check(draws);
    assert_eq!(pair.tree.bytes(), 0);
}

#[test]
fn small_nodes_follow_the_map() {
    for seed in 0..24 {
        follows_the_map::<u32, 6, 6>(seed, 400);
        follows_the_map::<u128, 6, 6>(seed, 400);
    }
    follows_the_map::<u32, 7, 9>(1, 600);
    follows_the_map::<u128, 9, 7>(2, 600);
}

#[test]
fn nodes_of_use_follow_the_map() {
    follows_the_map::<u32, LEAF_ROUTES, BRANCH_LEAVES>(1, 600);
    follows_the_map::<u128, LEAF_ROUTES, BRANCH_LEAVES>(2, 600);
}

#[test]
fn the_extremes_are_found() {
    fn check<A: Address>() {
        let extremes =
            [Prefix::ALL, Prefix::host(A::ZERO), Prefix::containing(A::MAX, 1), Prefix::host(A::MAX)];
        let mut pair: Pair<A, 6, 6> = Pair::of(BTreeMap::new());
        for (at, prefix) in extremes.into_iter().enumerate() {
            assert_eq!(
                pair.tree.last_to(prefix).map(|route| route.prefix),
                at.checked_sub(1).map(|at| extremes[at])
            );
            pair.insert(prefix, NextHop(u32::MAX));
            assert_eq!(pair.tree.range(prefix, prefix).count(), 1);
        }
        assert!(pair.tree.range(Prefix::ALL, Prefix::GREATEST).map(|route| route.prefix).eq(extremes));
        pair.check(&mut Draws(1));
    }
    check::<u32>();
    check::<u128>();
}

#[test]
fn small_tables_are_small() {
    fn bytes<A: Address>(routes: u64) -> usize {
        let mut tree: Tree<A> = Tree::default();
        for at in 0..routes {
            tree.insert(Prefix::containing(A::from_bits(at * 7 % 256, 0, 8), 8), NextHop(1));
        }
        tree.bytes()
    }
    assert_eq!([0, 3, 16, 100].map(bytes::<u32>), [0, 140, 248, 1096]);
    assert_eq!([0, 3, 16, 100].map(bytes::<u128>), [0, 180, 336, 1584]);
}

#[test]
fn a_leaf_stores_lower_halves_only_if_there_are_any() {
    let mut tree: Tree<u128> = Tree::default();
    for at in 0..60 {
        tree.insert(Prefix::containing(at << 64, 64), NextHop(1));
    }
    let bytes = tree.bytes();
    tree.insert(Prefix::host(1 << 64 | 1), NextHop(1));
    assert!(tree.bytes() >= bytes + 61 * 8);
    tree.remove(Prefix::host(1 << 64 | 1));
    assert!(tree.bytes() <= bytes + 8 * 13);
    tree.validate().unwrap();
}
