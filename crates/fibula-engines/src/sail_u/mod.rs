//! `sail-u`: the update-oriented SAIL, four pushed levels, of which an update writes one word.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014),
//! section 4.1.
//!
//! # Layout
//! A route of up to 24 bits is pushed to the first of the levels 6, 12, 18 and 24 that is not
//! shorter. There it is 2^0 to 2^6 neighbouring slots, each a bit of B and an entry of N. The slots
//! under one node of the level before are 2^6 bits, one word of the map, so an update changes only
//! one word. `pivot` draws how the next hops and the routes longer than /24
//! are stored.
//!
//! ```text
//!                 bit 63                                       bit 0
//! word 0        |  B6, all of it: lengths 0 to 6                   |           1 word
//! 1 + (a >> 26) |  B12 below one /6: lengths 7 to 12               |         2^6 words
//! T + (a >> 20) |  B18 below one /12: lengths 13 to 18             |        2^12 words
//! P + (a >> 14) |  B24 below one /18: lengths 19 to 24 and longer  |        2^18 words
//! ```
//!
//! A lookup probes B24, B18, B12 and B6 until one hits. That is at most four probes on chip, and
//! one load of N off chip, or two below a /24 with more-specific routes.
//!
//! # Worked example
//! The table of Figure 2, its levels 1 and 2 mapped to 17 and 18, 3 and 4 to 23 and 24, 5 and 6 to
//! 31 and 32, so that `001*` becomes 0.0.2.0/23:
//!
//! ```text
//! B6   1, 64 times      N6   6, 64 times
//! B12  0 everywhere
//! B18  0 1 1 1          N18  - 3 4 4
//! B24  0 0 1 1          N24[2] chunk 0      N24[3] next hop 1
//!      at 192: 0 0 1 1  N24[194] chunk 1    N24[195] next hop 7
//! N32  chunk 0: 3  3  3  9  then 3    chunk 1: 2  2  8  8  then 8
//! ```
//!
//! The address that the figure calls 001010 is 0.0.2.2. Its bit of B24 is set, N24\[2\] leads to
//! chunk 0, and N32\[2\] is 3. Address 0.0.0.0 has no bit in B24, B18 and B12. Its bit in B6 leads
//! to next hop 6.
//!
//! # Updates
//! An update writes at most one word of the maps, and none if only a next hop is replaced. Off chip
//! it writes the slots that no more-specific route of the same level covers, at most 64, and the
//! part of the chunks below that the prefix owns. A withdrawn route leaves the next hops under
//! cleared bits as they were.
//!
//! # What differs from the paper
//! - N24 marks a chunk with its highest bit, where the paper negates its number, and counts chunks
//!   from 0.
//! - The paper leaves to the reader how levels 25 to 32 follow an update: as in
//!   [`sail_b`](super::sail_b).

#[cfg(test)]
mod tests;

use crate::blocks::pivot::{BitMaps, NEXT_HOPS_MAX, PIVOT, PivotTable};
use fibula::engine::{About, Updates};
use fibula::parts::arch::prefetch;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "sail-u",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_U)",
    year: 2014,
    updates: Updates::InPlace,
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The arrays of SAIL_U.
pub type SailU<W> = PivotTable<W, FourLevels>;

/// The bit maps B6, B12, B18 and B24, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct FourLevels;

/// The words where the maps begin: 0, 1, T and P of the drawing.
const STARTS: [usize; 4] = [0, 1, 1 + (1 << 6), 1 + (1 << 6) + (1 << 12)];
const WORDS: usize = STARTS[3] + (1 << 18);

impl BitMaps for FourLevels {
    const LEVELS: &'static [u8] = &[6, 12, 18, PIVOT];
    const WORDS: usize = WORDS;
    const NAMES: (&'static str, &'static str) = ("B6, B12, B18, B24", "N6, N12, N18");

    #[inline(always)]
    fn place(depth: usize, slot: usize) -> (usize, u32) {
        (STARTS[depth] + slot / 64, (slot % 64) as u32)
    }

    #[inline(always)]
    fn deepest(words: &[u64], address: u32) -> u32 {
        let words: &[u64; WORDS] = words.try_into().expect("all words of the maps");
        let bit = |depth: usize, slot: u32| {
            let (word, bit) = Self::place(depth, slot as usize);
            (words[word] >> bit) as u32 & 1
        };
        let (b24, b18) = (bit(3, address >> 8), bit(2, address >> 14));
        let (b12, b6) = (bit(1, address >> 20), bit(0, address >> 26));
        32 - (b24 << 3 | b18 << 2 | b12 << 1 | b6).leading_zeros()
    }

    #[inline(always)]
    fn prefetch(words: &[u64], address: u32) {
        prefetch(words, STARTS[3] + (address >> 14) as usize);
    }
}
