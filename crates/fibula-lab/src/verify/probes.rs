//! The addresses where longest match breaks.

use fibula::{Address, Rib};
use rayon::prelude::*;

/// Returns the addresses to check an engine of this table with, each once, in order. They are the
/// first and the last address of the space; of every prefix first-1, first, first+1, last-1, last,
/// last+1; both ends of every interval of equal answers, inside and outside; and `random` random
/// ones.
///
/// Random addresses are half uniform (which for IPv6 ends at the root nearly always) and half
/// inside a prefix of the table, host bits random.
#[must_use]
pub fn probes<A: Address>(rib: &Rib<A>, random: usize, generator: &mut fastrand::Rng) -> Vec<A> {
    let mut probes = vec![A::ZERO, A::MAX];
    let mut ends = |first: A, last: A| {
        probes.extend([first, last]);
        probes.extend(first.previous());
        probes.extend(last.next());
        if first != last {
            probes.extend(first.next());
            probes.extend(last.previous());
        }
    };
    for route in rib {
        ends(route.prefix.first(), route.prefix.last());
    }
    for range in rib.ranges() {
        ends(range.first, range.last);
    }
    let prefixes: Vec<_> = rib.iter().map(|route| route.prefix).collect();
    for index in 0..random {
        let uniform = uniform(generator);
        probes.push(if index % 2 == 0 || prefixes.is_empty() {
            uniform
        } else {
            let prefix = prefixes[generator.usize(..prefixes.len())];
            prefix.first() | (uniform & !A::mask(prefix.len()))
        });
    }
    probes.par_sort_unstable();
    probes.dedup();
    probes
}

/// Returns a uniformly random address.
pub(crate) fn uniform<A: Address>(generator: &mut fastrand::Rng) -> A {
    let bits = generator.u128(..);
    A::from_bits((bits >> 64) as u64, 0, 64) | A::from_bits(bits as u64, 64, 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;

    #[test]
    fn both_ends_of_every_prefix_and_their_neighbours() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
        rib.insert("255.255.255.255/32".parse().unwrap(), NextHop(2));
        let probes = probes(&rib, 0, &mut fastrand::Rng::with_seed(1));
        assert_eq!(
            probes,
            [
                0,
                1, // beside the first address of the first interval
                0x09FF_FFFE,
                0x09FF_FFFF,
                0x0A00_0000,
                0x0A00_0001,
                0x0AFF_FFFE,
                0x0AFF_FFFF,
                0x0B00_0000,
                0x0B00_0001,
                0xFFFF_FFFD,
                0xFFFF_FFFE,
                0xFFFF_FFFF
            ]
        );
    }

    #[test]
    fn random_addresses_fill_the_whole_width() {
        let mut generator = fastrand::Rng::with_seed(1);
        let (mut any, mut all) = (0, u128::MAX);
        let (mut any4, mut all4) = (0, u32::MAX);
        for _ in 0..200 {
            let address: u128 = uniform(&mut generator);
            (any, all) = (any | address, all & address);
            let address: u32 = uniform(&mut generator);
            (any4, all4) = (any4 | address, all4 & address);
        }
        assert_eq!((any, all, any4, all4), (u128::MAX, 0, u32::MAX, 0));
    }
}
