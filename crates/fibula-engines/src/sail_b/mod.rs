//! `sail-b`: the basic SAIL, a bit map for every prefix length up to 24, of which an update writes
//! one bit.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014),
//! section 3, Algorithm 1 and Figure 2.
//!
//! # Layout
//! A route of length *l* up to 24 is bit *slot* of B*l* and entry *slot* of N*l*, where the slot is
//! its first *l* bits. `pivot` draws how the next hops and the routes
//! longer than /24 are stored. The bits of the maps are arranged so that one address finds them
//! together. A word holds six levels below one node, in the order of a heap. Each such word of
//! levels 18 to 23 is stored beside the word of level 24.
//!
//! ```text
//! word             bit 0    1      2  3      4 .. 7    8 .. 15   16 .. 31   32 .. 63
//! 2 (a >> 14)    |   -   | B18 |   B19   |   B20   |   B21   |   B22    |   B23    |  2^18 pairs
//!            + 1 |                             B24                                 |
//! T + (a >> 20)  |   -   | B12 |   B13   |   B14   |   B15   |   B16    |   B17    |  2^12 words
//! S + (a >> 26)  |   -   | B6  |   B7    |   B8    |   B9    |   B10    |   B11    |  2^6 words
//! R              |   -   | B0  |   B1    |   B2    |   B3    |   B4     |   B5     |  1 word
//! ```
//!
//! The scalar lookup is Algorithm 1 unchanged: B24, then B23 to B0, one probe each until one hits.
//! The batch path takes a word at a time. One mask cuts out the bits on an address's path, in the
//! order of the levels, and the highest of them gives the longest match.
//!
//! # Worked example
//! The table of Figure 2. Its pivot level, 4, is our 24. So its levels 0 to 6 are our 20 to 26
//! below 0.0.0.0/20, and `001*` becomes 0.0.2.0/23:
//!
//! ```text
//! B20  1          N20  6
//! B21  0 1        N21  - 4
//! B22  0 1 0 0    N22  - 3 - -
//! B23  0 1 0 0 0 0 0 1                    N23  - 3 - - - - - 7
//! B24  0 0 1 1 0 0 0 0 0 0 0 0 0 0 1 0    N24[2] chunk 0    N24[3] next hop 1    N24[14] chunk 1
//! N32  chunk 0: 192 times 3, 64 times 9    chunk 1: 128 times 2, 128 times 8
//! ```
//!
//! The address that the figure calls 001010 is 0.0.2.128. Its bit of B24 is set, N24\[2\] leads to
//! chunk 0, and N32\[128\] is 3.
//!
//! # Updates
//! A change of a prefix of up to 23 bits writes one bit of the maps, its own. A prefix of 24 bits
//! or more writes at most the bit of its /24. A replaced next hop writes none. Off chip an update
//! writes one entry, or none if the bit is cleared. It also writes the part of the chunks below
//! that the prefix owns: the labels that pivot pushing has moved there.
//!
//! # What differs from the paper
//! - The maps are the paper's 2^25 - 1 bits, 4 MB, plus the unused bit 0 of each word of six
//!   levels: 33 KB.
//! - Algorithm 1 stops before level 0 and leaves the default route to its caller. Here B0 and N0
//!   are searched.
//! - N24 marks a chunk with its highest bit, where the paper negates its number, and counts chunks
//!   from 0.
//! - The paper leaves to the reader how levels 25 to 32 follow an update: see
//!   `pushing::exposed`. Chunks are numbered without holes
//!   (`dense`), so an update may move one.

#[cfg(test)]
mod tests;

use crate::blocks::pivot::{BitMaps, NEXT_HOPS_MAX, PIVOT, PivotTable};
use fibula::engine::{About, Updates};
use fibula::parts::arch::prefetch;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "sail-b",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_B)",
    year: 2014,
    updates: Updates::InPlace,
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The arrays of SAIL_B.
pub type SailB<W> = PivotTable<W, SixLevelsAWord>;

/// A bit map for every level, six of them in one word.
#[derive(Clone, Copy, Debug)]
pub struct SixLevelsAWord;

/// The levels of a word.
const LEVELS_A_WORD: u8 = 6;

/// Where the words of levels 12 to 17, 6 to 11 and 0 to 5 begin: T, S and R of the drawing.
const WORDS_12: usize = 2 << 18;
const WORDS_6: usize = WORDS_12 + (1 << 12);
const WORDS_0: usize = WORDS_6 + (1 << 6);
const WORDS: usize = WORDS_0 + 1;

/// By the five bits that follow a node's: the bits on that path in the node's word, one of each
/// level.
static PATHS: [u64; 32] = paths();

const fn paths() -> [u64; 32] {
    let mut paths = [0; 32];
    let mut path = 0;
    while path < 32 {
        let mut depth = 0;
        while depth < LEVELS_A_WORD {
            paths[path] |= 1 << (1 << depth | path >> (5 - depth));
            depth += 1;
        }
        path += 1;
    }
    paths
}

/// Returns the bit index of the longest match in a word of six levels, or 0 if there is none. The
/// highest bit of that index gives the level.
#[inline(always)]
fn longest(word: u64, path: u32) -> u32 {
    // Bit 0 is unused: it is set here for when no other bit is.
    (word & PATHS[(path & 31) as usize] | 1).ilog2()
}

impl BitMaps for SixLevelsAWord {
    const LEVELS: &'static [u8] =
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, PIVOT];
    const WORDS: usize = WORDS;
    const NAMES: (&'static str, &'static str) = ("B0..B24", "N0..N23");

    #[inline(always)]
    fn place(depth: usize, slot: usize) -> (usize, u32) {
        // Every level has a map, so a depth is a level.
        let level = depth as u8;
        if level == PIVOT {
            return (2 * (slot >> 6) + 1, (slot & 63) as u32);
        }
        let within = level % LEVELS_A_WORD;
        let (node, path) = (slot >> within, slot & ((1 << within) - 1));
        let word = match level - within {
            18 => 2 * node,
            12 => WORDS_12 + node,
            6 => WORDS_6 + node,
            _ => WORDS_0,
        };
        (word, 1 << within | path as u32)
    }

    /// Finds the level of the longest match of `address`.
    ///
    /// There is one branch, on whether anything of length 18 or more matches. That is nearly always
    /// so where a router has traffic. On the table of January 2024 and a prefix trace, Algorithm 1
    /// probe by probe gave 0.3 of this throughput (0.15 on random addresses). Reading all five
    /// words without any branch gave 0.65. A branch for each word gave as much as this, but loses a
    /// quarter on random addresses.
    #[inline(always)]
    fn deepest(words: &[u64], address: u32) -> u32 {
        let words: &[u64; WORDS] = words.try_into().expect("all words of the maps");
        // The bit index of a match: its highest bit gives the level.
        let level = |places: u32| 32 - places.leading_zeros();
        let pair = 2 * (address >> 14) as usize;
        let b24 = (words[pair + 1] >> (address >> 8 & 63)) as u32 & 1;
        let from_18 = b24 << 24 | longest(words[pair], address >> 9) << 18;
        if from_18 != 0 {
            return level(from_18);
        }
        let from_12 = longest(words[WORDS_12 + (address >> 20) as usize], address >> 15);
        let from_6 = longest(words[WORDS_6 + (address >> 26) as usize], address >> 21);
        let from_0 = longest(words[WORDS_0], address >> 27);
        level(from_12 << 12 | from_6 << 6 | from_0)
    }

    #[inline(always)]
    fn prefetch(words: &[u64], address: u32) {
        prefetch(words, 2 * (address >> 14) as usize);
    }
}
