//! [`Own`]: this machine's IPv4 addresses, as the programs read them (`bpf/packets.h`).

use std::collections::HashSet;
use std::net::Ipv4Addr;

/// The logarithm of the number of bits.
const BITS: u32 = 16;

/// The words that hold the bits.
pub(super) const WORDS: usize = 1 << BITS >> 5;

/// A bit for each hash of an address. An address of another machine may share a bit with one of
/// ours: then the kernel forwards its packets.
#[derive(Debug)]
pub(super) struct Own {
    addresses: HashSet<Ipv4Addr>,
    /// How many addresses have a hash.
    counts: Box<[u32]>,
}

impl Default for Own {
    fn default() -> Self {
        Self { addresses: HashSet::new(), counts: vec![0; 1 << BITS].into() }
    }
}

impl Own {
    /// Adds or removes an address. Returns the index of the word that may have changed, and the
    /// word.
    pub(super) fn set(&mut self, address: Ipv4Addr, is_own: bool) -> (usize, u32) {
        let bit = (address.to_bits().wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize;
        if is_own {
            self.counts[bit] += u32::from(self.addresses.insert(address));
        } else {
            self.counts[bit] -= u32::from(self.addresses.remove(&address));
        }
        (bit / 32, self.word(bit / 32))
    }

    fn word(&self, index: usize) -> u32 {
        let counts = &self.counts[32 * index..][..32];
        counts.iter().rev().fold(0, |word, &count| word << 1 | u32::from(count > 0))
    }

    /// Returns all words.
    pub(super) fn words(&self) -> impl ExactSizeIterator<Item = u32> {
        (0..WORDS).map(|index| self.word(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_ours_until_it_goes() {
        let mut own = Own::default();
        let ours = Ipv4Addr::new(192, 0, 2, 1);
        let (index, word) = own.set(ours, true);
        assert_eq!(word.count_ones(), 1);
        assert_eq!(own.set(ours, true), (index, word));
        assert!(own.words().enumerate().all(|(at, each)| each == if at == index { word } else { 0 }));
        assert_eq!(own.set(ours, false), (index, 0));
        assert_eq!(own.set(ours, false), (index, 0));
    }
}
