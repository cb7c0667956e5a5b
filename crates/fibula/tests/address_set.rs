//! Sets of addresses against a list of 1,024 truth values, one for each block or address of a small
//! universe.

use fibula::rib::AddressSet;
use fibula::{Address, NextHop, Prefix, Rib, Route};

/// The blocks of a universe.
const BLOCKS: usize = 1 << 10;
/// The bits that number them.
const BITS: u8 = 10;

type Naive = Vec<bool>;

/// Which addresses the blocks of a universe are: all of the family in equal blocks, or its
/// last 1,024 addresses.
#[derive(Clone, Copy, Debug)]
enum Universe {
    Whole,
    Last,
}

impl Universe {
    /// Returns the prefix of `len` bits, from 0 to 10, that begins with a block.
    fn prefix<A: Address>(self, block: usize, len: u8) -> Prefix<A> {
        match self {
            Self::Whole => Prefix::containing(A::from_bits(block as u64, 0, BITS), len),
            Self::Last => {
                let first = A::mask(A::BITS - BITS) | A::from_bits(block as u64, A::BITS - BITS, BITS);
                Prefix::containing(first, A::BITS - BITS + len)
            }
        }
    }

    fn all<A: Address>(self) -> Prefix<A> {
        self.prefix(0, 0)
    }

    /// Returns the intervals of a list, the fewest.
    fn intervals<A: Address>(self, naive: &Naive) -> Vec<(A, A)> {
        let mut intervals = Vec::new();
        let mut block = 0;
        while let Some(first) = (block..BLOCKS).find(|&block| naive[block]) {
            block = (first..BLOCKS).find(|&block| !naive[block]).unwrap_or(BLOCKS);
            let last: Prefix<A> = self.prefix(block - 1, BITS);
            intervals.push((self.prefix::<A>(first, BITS).first(), last.last()));
        }
        intervals
    }

    /// Returns the prefixes of a list, the fewest: a block in which all is true is one, and any
    /// other is its halves.
    fn fewest<A: Address>(self, naive: &Naive, block: usize, len: u8, found: &mut Vec<Prefix<A>>) {
        let blocks = &naive[block..block + (BLOCKS >> len)];
        if blocks.iter().all(|&is_in| is_in) {
            found.push(self.prefix(block, len));
        } else if blocks.iter().any(|&is_in| is_in) {
            self.fewest(naive, block, len + 1, found);
            self.fewest(naive, block + (BLOCKS >> (len + 1)), len + 1, found);
        }
    }
}

/// A set made of random prefixes in random order, and the same as a list.
fn random<A: Address>(universe: Universe, random: &mut fastrand::Rng) -> (AddressSet<A>, Naive) {
    let mut naive = vec![false; BLOCKS];
    let count = [0, 1, 2, 5, 20, 60][random.usize(..6)];
    let prefixes: Vec<(usize, u8)> =
        (0..count).map(|_| (random.usize(..BLOCKS), random.u8(0..=BITS).max(random.u8(0..=BITS)))).collect();
    for &(block, len) in &prefixes {
        let width = BLOCKS >> len;
        let first = block / width * width;
        naive[first..first + width].fill(true);
    }
    (prefixes.into_iter().map(|(block, len)| universe.prefix(block, len)).collect(), naive)
}

fn check<A: Address>(universe: Universe, found: &AddressSet<A>, naive: &Naive) {
    let intervals = found.intervals().map(std::ops::RangeInclusive::into_inner);
    assert!(intervals.eq(universe.intervals(naive)), "{found:?}, expected {naive:?}");
}

fn every_pair<A: Address>(universe: Universe, seed: u64) {
    let random_numbers = &mut fastrand::Rng::with_seed(seed);
    let sets: Vec<(AddressSet<A>, Naive)> = (0..256).map(|_| random(universe, random_numbers)).collect();
    let within = AddressSet::from_iter([universe.all::<A>()]);
    for (set, naive) in &sets {
        check(universe, set, naive);
        let mut fewest = Vec::new();
        universe.fewest(naive, 0, 0, &mut fewest);
        assert!(set.prefixes().eq(fewest.iter().copied()));
        assert_eq!(&fewest.iter().copied().collect::<AddressSet<A>>(), set);
        assert_eq!(set.complement().complement(), *set);
        let outside: Naive = naive.iter().map(|is_in| !is_in).collect();
        check(universe, &set.complement().intersection(&within), &outside);
        let block = random_numbers.usize(..BLOCKS);
        let len = random_numbers.u8(0..=BITS);
        let prefix = universe.prefix::<A>(block, len);
        let first = block / (BLOCKS >> len) * (BLOCKS >> len);
        let part: Naive = (0..BLOCKS)
            .map(|block| (first..first + (BLOCKS >> len)).contains(&block) && naive[block])
            .collect();
        check(universe, &set.within(prefix).collect(), &part);
        assert_eq!(set.covers(prefix), part[first..first + (BLOCKS >> len)].iter().all(|&is_in| is_in));
    }
    for (left, left_naive) in &sets {
        for (right, right_naive) in &sets {
            let of = |keep: fn(bool, bool) -> bool| -> Naive {
                left_naive.iter().zip(right_naive).map(|(&left, &right)| keep(left, right)).collect()
            };
            check(universe, &left.union(right), &of(|left, right| left || right));
            check(universe, &left.intersection(right), &of(|left, right| left && right));
            check(universe, &left.difference(right), &of(|left, right| left && !right));
            check(universe, &left.symmetric_difference(right), &of(|left, right| left != right));
        }
    }
}

#[test]
fn every_pair_of_sets_is_as_a_list_of_truth_values_says() {
    std::thread::scope(|scope| {
        scope.spawn(|| every_pair::<u32>(Universe::Whole, 1));
        scope.spawn(|| every_pair::<u128>(Universe::Whole, 2));
        scope.spawn(|| every_pair::<u32>(Universe::Last, 3));
        scope.spawn(|| every_pair::<u128>(Universe::Last, 4));
    });
}

#[test]
fn intervals_in_any_order_are_joined_and_those_that_end_before_they_begin_are_empty() {
    let of = |intervals: &[(u32, u32)]| -> Vec<(u32, u32)> {
        let set: AddressSet<u32> = intervals.iter().map(|&(first, last)| first..=last).collect();
        set.intervals().map(std::ops::RangeInclusive::into_inner).collect()
    };
    assert_eq!(of(&[(5, 9), (0, 3), (4, 4), (20, 10), (12, 12)]), [(0, 9), (12, 12)]);
    assert_eq!(of(&[(5, u32::MAX), (7, 8), (u32::MAX, u32::MAX)]), [(5, u32::MAX)]);
    assert_eq!(of(&[(3, 3), (1, 1), (2, 2), (0, 0)]), [(0, 3)]);
    assert_eq!(AddressSet::<u128>::default().complement().count(), None);
    assert_eq!(AddressSet::<u32>::default().complement().count(), Some(1 << 32));
}

/// A table of random routes, each with a next hop of its own.
fn table(count: usize, random: &mut fastrand::Rng) -> Rib<u32> {
    let route = |number: usize| Route {
        prefix: Universe::Whole.prefix(random.usize(..BLOCKS), random.u8(0..=BITS)),
        next_hop: NextHop(number as u32 + 1),
    };
    (0..count).map(route).collect()
}

#[test]
fn a_table_within_addresses_answers_there_as_before_and_nowhere_else() {
    let random_numbers = &mut fastrand::Rng::with_seed(5);
    for _ in 0..500 {
        let count = random_numbers.usize(..30);
        let rib = table(count, random_numbers);
        let (set, naive) = random::<u32>(Universe::Whole, random_numbers);
        let within = rib.within(&set);
        for (block, is_in) in naive.into_iter().enumerate() {
            let address = Universe::Whole.prefix::<u32>(block, BITS).last();
            let before = rib.longest_match(address).filter(|_| is_in).map(|route| route.next_hop);
            assert_eq!(within.longest_match(address).map(|route| route.next_hop), before);
        }
    }
}

#[test]
fn covers_in_another_table_are_those_that_a_search_finds() {
    let random_numbers = &mut fastrand::Rng::with_seed(6);
    for _ in 0..500 {
        let rib = table(random_numbers.usize(..30), random_numbers);
        let others = table(random_numbers.usize(..30), random_numbers);
        let mut seen = Vec::new();
        rib.each_with_covers(&others, |route, covers| {
            assert!(covers.iter().rev().copied().eq(others.covering(route.prefix)));
            seen.push(route);
        });
        assert!(rib.iter().eq(seen));
    }
}
