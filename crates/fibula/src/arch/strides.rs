//! Tries of arrays whose strides differ: what their words say, and the walk that every instruction set does in its way.
//!
//! ```text
//!   31        26 25                          0
//! +-------------+-----------------------------+
//! | stride - 1  |            base             |   an array of 2^stride words, from word 2 * base on
//! | 16 or more  |                             |   anything else: the walk ends here
//! +-------------+-----------------------------+
//! ```

/// How many searches an instruction set takes at once: the lanes of the widest registers.
pub const GROUP: usize = 16;

/// The words of a root.
pub const ROOT: usize = 1 << 16;

/// Where the code of a word begins: above the bits of a base.
pub const CODE: u32 = 26;

/// The bits of a base.
pub const BASE: u32 = (1 << CODE) - 1;

/// The longest stride.
pub const STRIDE_MAX: u32 = 16;

/// Words below this point to an array.
pub const ARRAYS: u32 = STRIDE_MAX << CODE;

/// The word that points to an array of 2^`stride` words, `stride` from 1 to [`STRIDE_MAX`].
#[must_use]
pub fn array(stride: u8, base: u32) -> u32 {
    debug_assert!((1..=STRIDE_MAX).contains(&stride.into()) && base <= BASE);
    u32::from(stride - 1) << CODE | base
}

/// The stride and the first word of the array that a word points to, if it does.
#[inline(always)]
#[must_use]
pub fn as_array(word: u32) -> Option<(u8, usize)> {
    (word < ARRAYS).then_some(((word >> CODE) as u8 + 1, (word & BASE) as usize * 2))
}

/// The slot of the root that an address chooses, and the 32 bits after those that do.
#[inline(always)]
#[must_use]
pub fn start(address: u128) -> (usize, u32) {
    let high = (address >> 64) as u64;
    ((high >> 48) as usize, (high >> 16) as u32)
}

/// The words that addresses choose from a root, and the 32 bits that follow.
#[inline(always)]
#[must_use]
pub fn begin(root: &[u32; ROOT], addresses: &[u128; GROUP]) -> [[u32; GROUP]; 2] {
    let starts = addresses.map(start);
    [starts.map(|(slot, _)| root[slot]), starts.map(|(_, rest)| rest)]
}

/// The walk, one search after the other. O(1) a level.
///
/// ```
/// use fibula::arch::strides::{ARRAYS, array, descend};
/// // A stride of 1, then one of 2: three words that end the walk on the right, one on the left.
/// let words = [ARRAYS, array(2, 1), ARRAYS + 1, ARRAYS + 2, ARRAYS + 3, ARRAYS + 3];
/// let (mut at, mut rest) = ([array(1, 0); 2], [0x7000_0000, 0xA000_0000]);
/// descend(&words, &mut at, &mut rest);
/// assert_eq!((at, rest), ([ARRAYS, ARRAYS + 2], [0xE000_0000, 0]));
/// ```
#[inline(always)]
pub fn descend(words: &[u32], at: &mut [u32], rest: &mut [u32]) {
    for (at, rest) in at.iter_mut().zip(rest) {
        while let Some((stride, first)) = as_array(*at) {
            let (index, left) = step(*rest, stride);
            *at = words[first + index];
            *rest = left;
        }
    }
}

/// The bits that choose from an array of a stride, and those left for the next.
#[inline(always)]
#[must_use]
pub fn step(rest: u32, stride: u8) -> (usize, u32) {
    ((rest >> (32 - stride)) as usize, rest << stride)
}
