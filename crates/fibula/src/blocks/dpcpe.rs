//! Which lengths to expand prefixes to: DPCPE, and the best there is.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom filters based approach"
//! (Journal of Internet Services and Applications 9, 2018), section 4.2 and Table 4. Their filters are one a length, so
//! a table is [expanded](super::expansion) to *n* lengths first, the last of which, 64, no route may be without.
//!
//! # The paper's way
//! [`Distribution::dpcpe`] begins with the last level and adds one at a time, each the one that makes the estimate
//! least: a route of length *l* becomes 2^(*q* - *l*) prefixes of the next level *q*, overlaps not minded. Though the
//! paper speaks of dynamic programming this is greedy, and what is chosen stays: the rows of Table 4 contain each other.
//!
//! # The best there is
//! [`Distribution::best`] minds overlaps and tries everything. After expansion the longest of overlapping prefixes stands
//! (it *captures* the others), so at a level *q* after a level *p* there are as many as the routes of lengths
//! *p* + 1 to *q* that are not below another one of these become. Whether a route is, its nearest cover says: it is
//! below none of them if that cover has at most *p* bits. So one walk over the table that counts routes by their length and
//! that of their nearest cover gives the cost of every pair of levels, and since a level's cost depends on the level
//! before alone, dynamic programming over pairs finds the least sum.
//!
//! # Worked example
//! Routes 00/2, 0010/4, 100/3 and 11100/5, and a last level of 8:
//!
//! ```text
//! n   DPCPE     estimated  expanded    best      estimated  expanded
//! 1   8               120       104    8               120       104
//! 2   4 8              15        14    5 8              15        13
//! 3   4 5 8             8         7    3 5 8             6         6
//! ```
//! Level 4 was the best beside 8 by a tie, and is no more beside 5. One prefix fewer than estimated stands at 4, for 0010/4
//! captures one of the four that 00/2 becomes.
//!
//! # What differs from the paper
//! - The paper calls its estimate a lower bound, and in Table 4 it often is one. By the cost it defines, which minds no
//!   overlaps, an estimate can only be too high.
//! - Of levels that do equally well the shortest is chosen; the paper does not say.

use crate::{Address, Limit, Prefix, Rib};

/// What [`Choice::at_most`] limits, as errors name it.
pub const EXPANDED: &str = "prefixes after expansion";

/// Levels to expand a table to, and what becomes of it: a row of Table 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lengths, ascending.
    pub levels: Vec<u8>,
    /// The prefixes there would be if none overlapped. Past 2^128 - 1 it stays there.
    pub estimated: u128,
    /// The prefixes there are. Past 2^128 - 1 it stays there.
    pub expanded: u128,
}

impl Choice {
    /// Itself, if no more than `max` prefixes come of it.
    ///
    /// # Errors
    /// If more do, with their number.
    pub fn at_most(self, max: u64) -> Result<Self, Limit> {
        Limit::check(EXPANDED, u64::try_from(self.expanded).unwrap_or(u64::MAX), max)?;
        Ok(self)
    }
}

/// How many prefixes a level has after another: `costs[previous][level]`, where 0 is "no level before".
#[derive(Clone, Debug)]
struct Costs(Vec<Vec<u128>>);

impl Costs {
    /// The costs where so many routes of a length are expanded after a level before it. O(last^2).
    fn new(last: usize, routes: impl Fn(usize, usize) -> u64) -> Self {
        let after = |previous| {
            let mut costs = vec![0_u128; last + 1];
            for level in previous + 1..=last {
                // One bit more doubles all that is shorter.
                let shorter = costs[level - 1].saturating_mul(2);
                costs[level] = shorter.saturating_add(routes(previous, level).into());
            }
            costs
        };
        Self((0..=last).map(after).collect())
    }

    /// The cost of ascending levels.
    fn of(&self, levels: &[u8]) -> u128 {
        let previous = [0].iter().chain(levels);
        let costs = previous.zip(levels).map(|(&previous, &level)| self.0[previous as usize][level as usize]);
        costs.fold(0, u128::saturating_add)
    }
}

/// How the lengths of a table's routes are distributed: all that the choice of levels depends on.
///
/// The default route and routes longer than the last level are left out: engines keep those apart.
///
/// ```
/// use fibula::blocks::dpcpe::Distribution;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u128> = Rib::new();
/// for prefix in ["2001:db8::/32", "2001:db8::/47", "2001:db8:1::/48", "2001:db8:2::/48"] {
///     rib.insert(prefix.parse()?, NextHop(1));
/// }
/// let distribution = Distribution::of(&rib, 64);
/// let choice = distribution.dpcpe(3);
/// assert_eq!((choice.levels, choice.estimated, choice.expanded), (vec![32, 48, 64], 5, 4)); // /47 covers 1::/48
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distribution {
    last: u8,
    /// Overlaps not minded.
    estimated: Costs,
    /// Overlaps minded.
    expanded: Costs,
}

impl Distribution {
    /// That of a table, for levels up to `last`, which is 64 in the paper. O(n + last^2).
    ///
    /// # Panics
    /// If `last` is 0 or more than an address has bits.
    #[must_use]
    pub fn of<A: Address>(rib: &Rib<A>, last: u8) -> Self {
        assert!((1..=A::BITS).contains(&last), "no last level of {last} bits");
        let size = usize::from(last) + 1;
        // Routes by their length and that of their nearest cover (0: none).
        let mut routes = vec![vec![0_u64; size]; size];
        let mut covers: Vec<Prefix<A>> = Vec::new();
        for route in rib.iter().filter(|route| (1..=last).contains(&route.prefix.len())) {
            while covers.pop_if(|cover| !cover.covers(route.prefix)).is_some() {}
            let cover = covers.last().map_or(0, |cover| cover.len());
            routes[usize::from(route.prefix.len())][usize::from(cover)] += 1;
            covers.push(route.prefix);
        }
        // From "a cover of this length" to "of at most this length".
        for of_length in &mut routes {
            for cover in 1..size {
                of_length[cover] += of_length[cover - 1];
            }
        }
        Self {
            last,
            estimated: Costs::new(last.into(), |_, length| routes[length][length - 1]),
            expanded: Costs::new(last.into(), |previous, length| routes[length][previous]),
        }
    }

    /// What becomes of the table at these ascending levels, which end at the last or before. O(levels).
    ///
    /// # Panics
    /// If a level is past the last.
    #[must_use]
    pub fn at(&self, levels: Vec<u8>) -> Choice {
        let (estimated, expanded) = (self.estimated.of(&levels), self.expanded.of(&levels));
        Choice { levels, estimated, expanded }
    }

    /// The paper's choice of `n` levels; at least 1, at most as many as there are lengths. O(n^2 × last).
    #[must_use]
    pub fn dpcpe(&self, n: usize) -> Choice {
        let mut levels = vec![self.last];
        while levels.len() < n {
            let with = |level| {
                let at = levels.partition_point(|&chosen| chosen < level);
                [&levels[..at], &[level], &levels[at..]].concat()
            };
            let candidates = (1..self.last).filter(|level| !levels.contains(level)).map(with);
            let Some(least) = candidates.min_by_key(|levels| self.estimated.of(levels)) else { break };
            levels = least;
        }
        self.at(levels)
    }

    /// The `n` levels of which the fewest prefixes come; at least 1, at most as many as there are lengths. More levels
    /// may do worse: routes on different levels capture nothing of each other. O(n × last^2).
    #[must_use]
    pub fn best(&self, n: usize) -> Choice {
        let Costs(costs) = &self.expanded;
        // For each length the best levels that end there, and their cost.
        let mut best: Vec<(u128, Vec<u8>)> =
            (0..=self.last).map(|level| (costs[0][usize::from(level)], vec![level])).collect();
        for count in 1..n.min(self.last.into()) {
            let one_more = |level: u8| {
                // As many levels as have been chosen end at `count` or later.
                let previous = count..level.into();
                let cost = |at: usize| (best[at].0.saturating_add(costs[at][usize::from(level)]), at);
                previous.map(cost).min().map(|(cost, at)| (cost, [&best[at].1[..], &[level]].concat()))
            };
            best = (0..=self.last).map(|level| one_more(level).unwrap_or_default()).collect();
        }
        let (_, levels) = best.swap_remove(self.last.into());
        self.at(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NextHop;
    use crate::blocks::expansion::counts;
    use proptest::prelude::*;

    fn rib<A: Address>(prefixes: impl IntoIterator<Item = (u64, u8)>) -> Rib<A> {
        let mut rib = Rib::new();
        for (bits, len) in prefixes {
            rib.insert(Prefix::containing(A::from_bits(bits, 0, 8), len), NextHop(1));
        }
        rib
    }

    /// All choices of `n` levels up to 8, the last of them 8.
    fn choices(n: usize) -> impl Iterator<Item = Vec<u8>> {
        let sets = (0..1_u32 << 7).filter(move |set| set.count_ones() as usize == n - 1);
        sets.map(|set| (1..8).filter(|level| set >> (level - 1) & 1 == 1).chain([8]).collect())
    }

    #[test]
    fn the_worked_example() {
        let distribution =
            Distribution::of(&rib::<u32>([(0, 2), (0b0010_0000, 4), (0b1000_0000, 3), (0b1110_0000, 5)]), 8);
        let row = |choice: Choice| (choice.levels, choice.estimated, choice.expanded);
        let papers = [1, 2, 3].map(|n| row(distribution.dpcpe(n)));
        assert_eq!(papers, [(vec![8], 120, 104), (vec![4, 8], 15, 14), (vec![4, 5, 8], 8, 7)]);
        let best = [1, 2, 3].map(|n| row(distribution.best(n)));
        assert_eq!(best, [(vec![8], 120, 104), (vec![5, 8], 15, 13), (vec![3, 5, 8], 6, 6)]);
        assert_eq!(distribution.best(2).at_most(13), Ok(distribution.best(2)));
        let refused = Limit { what: "prefixes after expansion", had: 13, max: 12 };
        assert_eq!(distribution.best(2).at_most(12), Err(refused));
    }

    #[test]
    fn any_number_of_levels_of_any_table() {
        let empty = Distribution::of(&Rib::<u128>::new(), 64);
        assert_eq!((empty.dpcpe(0).levels, empty.best(0).levels), (vec![64], vec![64]));
        assert_eq!((empty.dpcpe(999).levels.len(), empty.best(999).levels.len()), (64, 64));
        assert_eq!((empty.best(3).estimated, empty.best(3).expanded), (0, 0));
        // Two halves of the space at the other end of it are as many prefixes as addresses, one more than fit.
        let halves: Rib<u128> = rib([(0, 1), (0b1000_0000, 1)]);
        let choice = Distribution::of(&halves, 128).at(vec![128]);
        assert_eq!((choice.estimated, choice.expanded), (u128::MAX, u128::MAX));
        assert_eq!(choice.at_most(u64::MAX - 1).unwrap_err().had, u64::MAX);
        // The default route and routes past the last level are left out, and cover nothing.
        let mut table: Rib<u32> = rib([(0, 0), (0, 2), (0, 3), (0b0001_0000, 4)]);
        assert_eq!(Distribution::of(&table, 3).at(vec![2, 3]).expanded, 2);
        table.remove(Prefix::ALL);
        assert_eq!(Distribution::of(&table, 3).at(vec![2, 3]).expanded, 2);
    }

    proptest! {
        #[test]
        fn the_best_is_the_best_of_all_choices_and_the_papers_is_no_better(
            prefixes in proptest::collection::vec((0..256_u64, 0..=10_u8), 0..40), n in 1..=8_usize,
        ) {
            let table: Rib<u32> = rib(prefixes);
            let distribution = Distribution::of(&table, 8);
            let mut without_default = table.clone();
            without_default.remove(Prefix::ALL);
            let sums = |levels: &[u8]| {
                let counts = counts(&without_default, levels);
                (counts.iter().map(|c| c.estimated).sum::<u128>(), counts.iter().map(|c| c.expanded).sum::<u128>())
            };
            let (papers, best) = (distribution.dpcpe(n), distribution.best(n));
            for choice in [&papers, &best] {
                prop_assert_eq!(choice.levels.len(), n);
                prop_assert_eq!((choice.estimated, choice.expanded), sums(&choice.levels));
            }
            let fewest = choices(n).map(|levels| sums(&levels).1).min();
            prop_assert_eq!(Some(best.expanded), fewest);
            prop_assert!(papers.expanded >= best.expanded);
            // The paper's is the one before with the level that makes the estimate least.
            if n > 1 {
                let before = distribution.dpcpe(n - 1).levels;
                let with_one_more = choices(n).filter(|levels| before.iter().all(|level| levels.contains(level)));
                let least = with_one_more.map(|levels| sums(&levels).0).min();
                prop_assert_eq!(Some(papers.estimated), least);
            }
        }
    }
}
