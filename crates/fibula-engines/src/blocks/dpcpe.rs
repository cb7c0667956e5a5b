//! The choice of lengths to expand prefixes to: DPCPE, and the optimum.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom
//! filters based approach" (Journal of Internet Services and Applications 9, 2018), section 4.2 and
//! Table 4. They keep one filter for each length, so a table is first
//! [expanded](crate::blocks::expansion) to *n* lengths. The last of these is always 64.
//!
//! # The paper's algorithm
//! [`Distribution::dpcpe`] begins with the last level and adds one level at a time: the one that
//! makes the estimate least. A route of length *l* becomes 2^(*q* - *l*) prefixes of the next level
//! *q*; overlaps are ignored. The paper speaks of dynamic programming, but this is greedy. A chosen
//! level stays: the rows of Table 4 contain each other.
//!
//! # The optimum
//! [`Distribution::best`] accounts for overlaps and considers every choice. After expansion the
//! longest of overlapping prefixes remains (it *captures* the others). So the prefixes at a level
//! *q* after a level *p* come from the routes of lengths *p* + 1 to *q* that are not below another
//! such route. A route is below none of them if its nearest cover has at most *p* bits.
//!
//! One walk over the table counts routes by their length and that of their nearest cover, which
//! gives the cost of every pair of levels. A level's cost depends only on the level before it, so
//! dynamic programming over pairs finds the least sum.
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
//! Level 4 was the best beside 8 by a tie; beside 5 it no longer is. The expanded count at 4 is one
//! less than estimated, because 0010/4 captures one of the four prefixes that 00/2 becomes.
//!
//! # What differs from the paper
//! - The paper calls its estimate a lower bound, and in Table 4 it often is one. By the cost it
//!   defines, which ignores overlaps, an estimate can only be too high.
//! - Of levels with equal cost the shortest is chosen; the paper does not say.

use fibula::{Address, Limit, Prefix, Rib};

/// The name of what [`Choice::at_most`] limits, as errors give it.
pub const EXPANDED: &str = "prefixes after expansion";

/// Levels to expand a table to, and the resulting number of prefixes: a row of Table 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lengths, ascending.
    pub levels: Vec<u8>,
    /// The number of prefixes if none overlapped. Saturates at 2^128 - 1.
    pub estimated: u128,
    /// The number of prefixes. Saturates at 2^128 - 1.
    pub expanded: u128,
}

impl Choice {
    /// Returns `self` if it has at most `max` expanded prefixes.
    ///
    /// # Errors
    /// Returns a [`Limit`] with their number if there are more.
    pub fn at_most(self, max: u64) -> Result<Self, Limit> {
        Limit::check(EXPANDED, u64::try_from(self.expanded).unwrap_or(u64::MAX), max)?;
        Ok(self)
    }
}

/// The number of prefixes of a level after another: `costs[previous][level]`, where 0 means "no
/// level before".
#[derive(Clone, Debug)]
struct Costs(Vec<Vec<u128>>);

impl Costs {
    /// Computes all costs. `routes(previous, level)` is the number of routes of length `level` that
    /// are expanded if `previous` is the level before. O(last^2).
    fn new(last: usize, routes: impl Fn(usize, usize) -> u64) -> Self {
        let after = |previous| {
            let mut costs = vec![0_u128; last + 1];
            for level in previous + 1..=last {
                // One more bit doubles the number of all shorter prefixes.
                let shorter = costs[level - 1].saturating_mul(2);
                costs[level] = shorter.saturating_add(routes(previous, level).into());
            }
            costs
        };
        Self((0..=last).map(after).collect())
    }

    /// Returns the cost of ascending levels.
    fn of(&self, levels: &[u8]) -> u128 {
        let previous = [0].iter().chain(levels);
        let costs = previous.zip(levels).map(|(&previous, &level)| self.0[previous as usize][level as usize]);
        costs.fold(0, u128::saturating_add)
    }
}

/// The distribution of the lengths of a table's routes: all that the choice of levels depends on.
///
/// The default route and routes longer than the last level are left out; engines keep those
/// separately.
///
/// ```
/// use fibula_engines::blocks::dpcpe::Distribution;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u128> = Rib::new();
/// for prefix in ["2001:db8::/32", "2001:db8::/47", "2001:db8:1::/48", "2001:db8:2::/48"] {
///     rib.insert(prefix.parse()?, NextHop(1));
/// }
/// let distribution = Distribution::of(&rib, 64);
/// let choice = distribution.dpcpe(3);
/// assert_eq!(choice.levels, [32, 48, 64]);
/// assert_eq!((choice.estimated, choice.expanded), (5, 4)); // /47 covers 1::/48
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distribution {
    last: u8,
    /// The costs with overlaps ignored.
    estimated: Costs,
    /// The costs with overlaps taken into account.
    expanded: Costs,
}

impl Distribution {
    /// Computes the distribution of a table for levels up to `last`, which is 64 in the paper.
    /// O(n + last^2).
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
        // From "with a cover of this length" to "with a cover of at most this length".
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

    /// Returns the prefixes of the table at these ascending levels, none of which is past the last.
    /// O(levels).
    ///
    /// # Panics
    /// If a level is past the last.
    #[must_use]
    pub fn at(&self, levels: Vec<u8>) -> Choice {
        let (estimated, expanded) = (self.estimated.of(&levels), self.expanded.of(&levels));
        Choice { levels, estimated, expanded }
    }

    /// Returns the paper's choice of `n` levels: at least 1, at most one for each length.
    /// O(n^2 × last).
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

    /// Returns the `n` levels with the fewest expanded prefixes: at least 1, at most one for each
    /// length. O(n × last^2).
    ///
    /// More levels may give more prefixes, because routes on different levels capture nothing of
    /// each other.
    #[must_use]
    pub fn best(&self, n: usize) -> Choice {
        let Costs(costs) = &self.expanded;
        // For each length the best levels that end there, and their cost.
        let mut best: Vec<(u128, Vec<u8>)> =
            (0..=self.last).map(|level| (costs[0][usize::from(level)], vec![level])).collect();
        for count in 1..n.min(self.last.into()) {
            let one_more = |level: u8| {
                // `count` levels have been chosen, so they end at `count` or later.
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
    use crate::blocks::expansion::counts;
    use fibula::NextHop;
    use proptest::prelude::*;

    fn rib<A: Address>(prefixes: impl IntoIterator<Item = (u64, u8)>) -> Rib<A> {
        let mut rib = Rib::new();
        for (bits, len) in prefixes {
            rib.insert(Prefix::containing(A::from_bits(bits, 0, 8), len), NextHop(1));
        }
        rib
    }

    /// All choices of `n` levels up to 8, of which 8 is the last.
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
        // Two halves of the address space, expanded to full length, have as many prefixes as there
        // are addresses: one more than fits.
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
            // The paper's choice is the previous one plus the level that makes the estimate least.
            if n > 1 {
                let before = distribution.dpcpe(n - 1).levels;
                let with_one_more = choices(n).filter(|levels| before.iter().all(|level| levels.contains(level)));
                let least = with_one_more.map(|levels| sums(&levels).0).min();
                prop_assert_eq!(Some(papers.estimated), least);
            }
        }
    }
}
