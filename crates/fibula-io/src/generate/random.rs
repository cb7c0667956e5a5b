//! [`Random`]: the one source of chance, the same on every machine.

use fibula::{Address, Prefix};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded stream of draws.
///
/// The generator is xoshiro256++ (Blackman and Vigna 2018). Draws are made from its 64-bit words by
/// integer arithmetic in this file, so that neither a floating-point unit nor a library's next
/// release changes a made table.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Returns the stream of a seed for one purpose. Different purposes of one seed share no draws.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(hash(seed, purpose)))
    }

    /// Returns 64 random bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`, each equally likely; 0 for a bound of 0.
    ///
    /// Lemire 2019, "Fast random integer generation in an interval": the high half of a product. It
    /// draws again where the low half falls into the part that would favour some numbers.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.word()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg().checked_rem(bound).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns an index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns one element, each equally likely; `None` of an empty slice.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.index(all.len())).copied()
    }

    /// Returns true `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille.into()
    }

    /// Returns any address of the family.
    pub(crate) fn address<A: Address>(&mut self) -> A {
        let high = A::from_bits(self.word(), 0, 64);
        if A::BITS > 64 { high | A::from_bits(self.word(), 64, 64) } else { high }
    }

    /// Returns any address of a prefix.
    pub(crate) fn within<A: Address>(&mut self, prefix: Prefix<A>) -> A {
        prefix.first() | (self.address::<A>() & !A::mask(prefix.len()))
    }

    /// Returns any prefix of length `len` in a shorter one.
    pub(crate) fn part<A: Address>(&mut self, of: Prefix<A>, len: u8) -> Prefix<A> {
        Prefix::containing(self.within(of), len)
    }
}

/// Mixes two words into one: the finishing step of SplitMix64 (Steele, Lea and Flood 2014) over
/// both.
pub(crate) fn hash(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_add(b.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pinned() {
        let mut random = Random::new(1, 2);
        let drawn: Vec<u64> = (0..4).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, [564, 651, 335, 107]);
        assert_eq!(random.address::<u128>(), 138_787_390_804_004_960_934_566_339_728_443_592_523);
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::new(7, 0);
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[random.index(5)] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert_eq!(random.one_of::<u8>(&[]), None);
    }

    #[test]
    fn parts_lie_within() {
        let mut random = Random::new(7, 0);
        let of: Prefix<u128> = "2001:db8::/32".parse().unwrap();
        for len in 32..=128 {
            let part = random.part(of, len);
            assert!(of.covers(part) && part.len() == len);
        }
    }
}
