//! [`Tcam`]: a ternary memory, simulated.

use fibula::engine::{Meter, Width};

/// Words of ternary bits in the order of their lengths, the longest first: what matches first is
/// the longest match, as in a chip that keeps them in this order. A chip compares all at once, so a
/// lookup is one access.
#[derive(Clone, Debug, Default)]
pub(super) struct Tcam<V> {
    /// By length, the longest first: the words of this length in order.
    lengths: Vec<(u8, Vec<(u64, V)>)>,
}

impl<V: Copy> Tcam<V> {
    /// Stores words: each its length, its first bits to the right, and a value. No word is there
    /// twice.
    pub(super) fn of(words: impl IntoIterator<Item = (u8, u64, V)>) -> Self {
        let mut lengths: Vec<(u8, Vec<(u64, V)>)> = (0..=64).rev().map(|len| (len, Vec::new())).collect();
        for (len, bits, value) in words {
            lengths[usize::from(64 - len)].1.push((bits, value));
        }
        lengths.retain(|(_, words)| !words.is_empty());
        for (_, words) in &mut lengths {
            words.sort_unstable_by_key(|&(bits, _)| bits);
        }
        Self { lengths }
    }

    /// Returns the value of the longest word that matches a key of `width` bits.
    pub(super) fn get(&self, key: u64, width: u8, meter: &mut impl Meter) -> Option<V> {
        let mut counted = false;
        for (len, words) in &self.lengths {
            let bits = if *len == 0 { 0 } else { key >> (width - len) };
            let found = words.binary_search_by_key(&bits, |&(bits, _)| bits);
            if let (Some((word, _)), false) = (words.first(), counted) {
                // One access, whichever word it is that matches.
                meter.on_chip(|meter| meter.load(word));
                counted = true;
            }
            if let Ok(at) = found {
                return Some(words[at].1);
            }
        }
        None
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.lengths.iter().map(|(_, words)| words.len()).sum()
    }

    /// Returns the bytes that words of `width` bits take with their values in memory beside.
    pub(super) fn bytes(&self, width: usize) -> usize {
        self.len() * (width.div_ceil(8) + size_of::<V>())
    }
}

/// Returns the first bits of an address, at most 64, to the right.
pub(super) fn first_bits<A: fibula::Address>(address: A, count: u8) -> u64 {
    if count == 0 { 0 } else { address.bits(0, count) }
}

/// Returns a next hop as an answer.
pub(super) fn narrow<W: Width>(next_hop: fibula::NextHop) -> W {
    W::narrow(next_hop)
}
