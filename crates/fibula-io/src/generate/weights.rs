//! [`Weights`]: draws in proportion to whole-number weights, in constant time.

use super::random::Random;

/// A discrete distribution: index *i* is drawn with probability `weights[i]` / sum, exactly.
///
/// Walker's alias method as Vose (1991) builds it in O(n), in whole numbers. Every column holds
/// `sum` units: `kept` of its own, and the rest of one other index, its alias.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    columns: Vec<(u64, u32)>,
    sum: u64,
}

impl Weights {
    /// Returns the distribution of these weights. Their sum times their number must be below 2^64.
    pub(crate) fn new(weights: &[u64]) -> Self {
        let count = weights.len() as u64;
        let sum: u64 = weights.iter().sum();
        debug_assert!(sum.checked_mul(count.max(1)).is_some());
        let mut columns: Vec<(u64, u32)> =
            weights.iter().enumerate().map(|(i, &weight)| (weight * count, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..columns.len()).partition(|&i| columns[i].0 < sum);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            columns[low].1 = high as u32;
            columns[high].0 -= sum - columns[low].0;
            if columns[high].0 < sum {
                large.pop();
                small.push(high);
            }
        }
        Self { columns, sum }
    }

    /// Returns the weights 1, 1/2, 1/3, ... 1/`count`: Zipf's law with exponent 1.
    pub(crate) fn zipf(count: usize) -> Self {
        let weights: Vec<u64> = (1..=count as u64).map(|rank| (1 << 32) / rank).collect();
        Self::new(&weights)
    }

    /// Draws one index. O(1).
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let column = random.index(self.columns.len());
        match self.columns.get(column) {
            Some(&(kept, alias)) if random.below(self.sum) >= kept => alias as usize,
            _ => column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What each index owns over all columns is its weight times the number of columns: the
        /// distribution is exact without any draw.
        #[test]
        fn shares_are_exact(weights in prop::collection::vec(0_u64..1000, 1..50)) {
            let table = Weights::new(&weights);
            let mut owned = vec![0; weights.len()];
            for (i, &(kept, alias)) in table.columns.iter().enumerate() {
                let kept = kept.min(table.sum);
                owned[i] += kept;
                owned[alias as usize] += table.sum - kept;
            }
            let expected: Vec<u64> = weights.iter().map(|w| w * weights.len() as u64).collect();
            prop_assert_eq!(owned, expected);
        }
    }
}
