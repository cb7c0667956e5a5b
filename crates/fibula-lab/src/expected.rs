//! [`Expected`]: addresses and the right answers, by two judges that share no step.

use crate::Error;
use crate::error::Kind;
use fibula::{Address, Fib, NextHop, Rib};
use rayon::prelude::*;

/// The number of addresses that a core takes at once.
const PIECE: usize = 4096;

/// Addresses and their right answers.
///
/// Each answer comes from the oracle engine (a hash table per prefix length) and, independently,
/// from the table's merged intervals (a walk over the routes, then a binary search). Where the two
/// differ, nothing can be judged and that is an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected<A> {
    addresses: Vec<A>,
    next_hops: Vec<NextHop>,
}

impl<A: Address> Expected<A> {
    /// Computes the answers of `addresses` on all cores: one or two million a second on each.
    ///
    /// # Errors
    /// If the two judges disagree, with the address.
    pub fn new(rib: &Rib<A>, addresses: Vec<A>) -> Result<Self, Error> {
        let oracle = Fib::build("oracle", rib)?;
        let intervals: Vec<(A, NextHop)> = rib.ranges().map(|range| (range.first, range.next_hop)).collect();
        let judge = |&address: &A| {
            let next_hop = oracle.lookup_index(address);
            let after = intervals.partition_point(|&(first, _)| first <= address);
            let other = intervals[after - 1].1; // the first interval begins at the first address
            if next_hop == other {
                Ok(next_hop)
            } else {
                let address = address.to_ip();
                Err(Kind::Judges { address, oracle: next_hop.0, intervals: other.0 })
            }
        };
        let next_hops = addresses.par_iter().with_min_len(PIECE).map(judge).collect::<Result<_, _>>()?;
        Ok(Self { addresses, next_hops })
    }

    /// The addresses.
    #[must_use]
    pub fn addresses(&self) -> &[A] {
        &self.addresses
    }

    /// The answer of each address.
    #[must_use]
    pub fn next_hops(&self) -> &[NextHop] {
        &self.next_hops
    }

    /// Shuffles the addresses, so that neighbours in a batch are unrelated.
    pub(crate) fn shuffle(&mut self, random: &mut fastrand::Rng) {
        for last in (1..self.addresses.len()).rev() {
            let other = random.usize(..=last);
            self.addresses.swap(last, other);
            self.next_hops.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_answers_through_a_shuffle() {
        let mut rib: Rib<u128> = Rib::new();
        rib.insert("2001:db8::/32".parse().unwrap(), NextHop(1));
        rib.insert("2001:db8:1::/48".parse().unwrap(), NextHop(2));
        let at = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().to_bits();
        let addresses: Vec<u128> =
            ["::", "2001:db8::1", "2001:db8:1::1", "2001:db9::", "ffff::"].map(at).to_vec();
        let mut expected = Expected::new(&rib, addresses.clone()).unwrap();
        assert_eq!(expected.next_hops().iter().map(|n| n.0).collect::<Vec<_>>(), [0, 1, 2, 0, 0]);
        let before = expected.clone();
        expected.shuffle(&mut fastrand::Rng::with_seed(1));
        assert_ne!(expected, before);
        for (&address, next_hop) in expected.addresses().iter().zip(expected.next_hops()) {
            let index = addresses.iter().position(|&a| a == address).unwrap();
            assert_eq!(before.next_hops()[index], *next_hop);
        }
    }
}
