//! [`Buckets`]: which leg takes which share of the flows.
//!
//! ```text
//! hash of the flow, 8 bits ──▶ bucket ──▶ leg        a: 2   b: 1   c: 1
//!
//! legs a, b, c        a a a a a a a a b b b b c c c c
//! b goes              a a a a a a a a a c a c c c c c     only buckets of b changed
//! b comes back        a a a a a a a a b b b b c c c c     only buckets that b gets changed
//! ```
//! (Sixteen of the [`BUCKETS_MAX`] buckets.) When legs go and the others stay as they are, the
//! freed buckets go one by one to the leg that is furthest below its share, and no other bucket
//! moves. Otherwise each leg that stays keeps as many of its buckets as its new share allows.

use crate::plane::{AdjacencyId, BUCKETS_MAX};
use std::collections::HashMap;

/// The buckets of some legs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buckets {
    legs: Vec<(AdjacencyId, u64)>,
    slots: Vec<AdjacencyId>,
}

impl Buckets {
    /// Returns the leg of each bucket: one, or [`BUCKETS_MAX`] if there are several legs.
    pub(crate) fn slots(&self) -> &[AdjacencyId] {
        &self.slots
    }

    /// Divides the buckets among other legs, with their weights. A leg that is named twice has the
    /// sum of its weights. O(buckets × legs) at most.
    pub(crate) fn set_legs(&mut self, named: &[(AdjacencyId, u64)]) {
        let mut legs: Vec<(AdjacencyId, u64)> = Vec::with_capacity(named.len());
        for &(id, weight) in named {
            match legs.iter_mut().find(|leg| leg.0 == id) {
                Some(leg) => leg.1 += weight,
                None => legs.push((id, weight)),
            }
        }
        if legs == self.legs {
            return;
        }
        let count = if self.slots.len() > 1 || legs.len() > 1 { BUCKETS_MAX } else { legs.len() };
        if legs.is_empty() || count == 1 {
            self.slots = legs.iter().map(|leg| leg.0).collect();
            self.legs = legs;
            return;
        }
        let only_fewer = !self.slots.is_empty() && legs.iter().all(|leg| self.legs.contains(leg));
        let shares = shares(&legs, count as u64);
        // What each leg may keep of its own, and how far it is below its share, in parts of the
        // sum of the weights.
        let mut keeps: HashMap<AdjacencyId, u64> =
            shares.iter().map(|share| (share.id, if only_fewer { u64::MAX } else { share.whole })).collect();
        let mut slots: Vec<Option<AdjacencyId>> = vec![None; count];
        if self.slots.len() == count {
            for (slot, &id) in slots.iter_mut().zip(&self.slots) {
                if let Some(keep) = keeps.get_mut(&id)
                    && *keep > 0
                {
                    *keep -= 1;
                    *slot = Some(id);
                }
            }
        }
        let mut below: Vec<(i128, AdjacencyId)> = shares
            .iter()
            .map(|share| {
                let has = slots.iter().filter(|slot| **slot == Some(share.id)).count();
                let wanted = if only_fewer { share.parts } else { i128::from(share.whole) * share.sum };
                (wanted - has as i128 * share.sum, share.id)
            })
            .collect();
        let sum = shares[0].sum;
        self.slots = slots
            .into_iter()
            .map(|slot| {
                slot.unwrap_or_else(|| {
                    let (at, _) = below
                        .iter()
                        .enumerate()
                        .max_by_key(|(at, leg)| (leg.0, std::cmp::Reverse(*at)))
                        .unwrap_or((0, &below[0]));
                    below[at].0 -= sum;
                    below[at].1
                })
            })
            .collect();
        self.legs = legs;
    }
}

/// The share of a leg.
struct Share {
    id: AdjacencyId,
    /// Its exact share of the buckets, times the sum of all weights.
    parts: i128,
    /// Its share in whole buckets.
    whole: u64,
    /// The sum of all weights.
    sum: i128,
}

/// Divides `count` buckets by weight: each leg gets the whole part of its share, and those with
/// the greatest rests one more.
fn shares(legs: &[(AdjacencyId, u64)], count: u64) -> Vec<Share> {
    let sum = legs.iter().map(|leg| i128::from(leg.1)).sum::<i128>().max(1);
    let mut shares: Vec<Share> = legs
        .iter()
        .map(|&(id, weight)| {
            let parts = i128::from(weight) * i128::from(count);
            Share { id, parts, whole: (parts / sum) as u64, sum }
        })
        .collect();
    let left = count.saturating_sub(shares.iter().map(|share| share.whole).sum());
    let mut by_rest: Vec<usize> = (0..shares.len()).collect();
    by_rest.sort_by_key(|&at| std::cmp::Reverse(shares[at].parts % shares[at].sum));
    for at in by_rest.into_iter().take(left as usize) {
        shares[at].whole += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn legs(weights: &[(u32, u64)]) -> Vec<(AdjacencyId, u64)> {
        weights.iter().map(|&(id, weight)| (AdjacencyId(id), weight)).collect()
    }

    fn count(buckets: &Buckets, id: u32) -> usize {
        buckets.slots().iter().filter(|slot| slot.0 == id).count()
    }

    #[test]
    fn one_leg_has_one_bucket() {
        let mut buckets = Buckets::default();
        buckets.set_legs(&legs(&[(7, 3)]));
        assert_eq!(buckets.slots(), [AdjacencyId(7)]);
    }

    #[test]
    fn a_leg_that_comes_back_takes_its_share_again() {
        let mut buckets = Buckets::default();
        buckets.set_legs(&legs(&[(1, 2), (2, 1), (3, 1)]));
        assert_eq!((count(&buckets, 1), count(&buckets, 2), count(&buckets, 3)), (128, 64, 64));
        buckets.set_legs(&legs(&[(1, 2), (3, 1)]));
        assert_eq!((count(&buckets, 1), count(&buckets, 3)), (171, 85));
        buckets.set_legs(&legs(&[(1, 2), (2, 1), (3, 1)]));
        assert_eq!((count(&buckets, 1), count(&buckets, 2), count(&buckets, 3)), (128, 64, 64));
    }

    proptest! {
        #[test]
        fn shares_follow_the_weights(weights in prop::collection::vec(1_u64..1000, 2..40)) {
            let named: Vec<_> = weights.iter().zip(0..).map(|(&weight, id)| (AdjacencyId(id), weight)).collect();
            let mut buckets = Buckets::default();
            buckets.set_legs(&named);
            prop_assert_eq!(buckets.slots().len(), BUCKETS_MAX);
            let sum: u64 = weights.iter().sum();
            for (id, weight) in named {
                let exact = weight as f64 * BUCKETS_MAX as f64 / sum as f64;
                let has = count(&buckets, id.0) as f64;
                prop_assert!((has - exact).abs() < 1.0, "{} buckets for a share of {}", has, exact);
            }
        }

        #[test]
        fn only_the_buckets_of_legs_that_go_change(
            weights in prop::collection::vec(1_u64..100, 3..20),
            stays in prop::collection::vec(any::<bool>(), 20),
        ) {
            let named: Vec<_> = weights.iter().zip(0..).map(|(&weight, id)| (AdjacencyId(id), weight)).collect();
            let left: Vec<_> = named.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(leg, _)| *leg).collect();
            prop_assume!(!left.is_empty());
            let mut buckets = Buckets::default();
            buckets.set_legs(&named);
            let before = buckets.clone();
            buckets.set_legs(&left);
            for (before, after) in before.slots().iter().zip(buckets.slots()) {
                if left.iter().any(|leg| leg.0 == *before) {
                    prop_assert_eq!(before, after);
                } else {
                    prop_assert!(left.iter().any(|leg| leg.0 == *after));
                }
            }
        }
    }
}
