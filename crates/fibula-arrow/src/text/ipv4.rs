//! Dotted quads, 16 bytes at once.
//!
//! # Worked example
//! `10.1.200.7`, byte 0 first:
//!
//! ```text
//! byte     0   1   2   3   4   5   6   7   8   9
//! text     1   0   .   1   .   2   0   0   .   7
//! dots             ^       ^               ^          octets end at 2, 4, 8 and at the length, 10
//! octet 2                      2   0   0              shifted to the top of 32 bits: 00 02 00 00
//!          00 02 00 00 times 100 * 2^16 + 10 * 2^8 + 1 has 2 * 100 + 0 * 10 + 0 in its top byte
//! ```

use std::ops::RangeInclusive;

/// The lengths of dotted quads.
pub(super) const LENGTHS: RangeInclusive<usize> = 7..=15;

/// `byte` in each of 16 bytes.
const fn each(byte: u8) -> u128 {
    u128::from_ne_bytes([byte; 16])
}

/// The top bit of each byte. The sums below set it in the bytes for which a condition holds. No sum
/// carries into the next byte, since all bytes are ASCII.
const TOP: u128 = each(0x80);

/// Parses the first `len` bytes of a text, whose first byte is the lowest. `len` is in [`LENGTHS`].
#[inline(always)]
pub(super) fn parse(text: u128, len: usize) -> Option<u32> {
    let inside = (1 << (8 * len)) - 1;
    let text = text & inside;
    if text & TOP != 0 {
        return None;
    }
    let digits = (text + each(0x80 - b'0')) & !(text + each(0x7F - b'9')) & TOP;
    let dots = !((text ^ each(b'.')) + each(0x7F)) & TOP & inside;
    let second = dots & dots.wrapping_sub(1);
    let third = second & second.wrapping_sub(1);
    if digits | dots != TOP & inside || third == 0 || third & (third - 1) != 0 {
        return None;
    }
    let ends = [place(dots), place(second), place(third), len as u32];
    let starts = [0, ends[0] + 1, ends[1] + 1, ends[2] + 1];
    let counts: [u32; 4] = std::array::from_fn(|at| ends[at] - starts[at]);
    // Each must be 1 to 3. With 4, the comparison of `octet` fails.
    if counts.iter().fold(0, |all, count| all | count.wrapping_sub(1)) > 3 {
        return None;
    }
    let octets: [(u32, bool); 4] = std::array::from_fn(|at| octet(text >> (8 * starts[at]), counts[at]));
    let good = octets.iter().fold(true, |all, octet| all & octet.1);
    good.then_some(octets[0].0 << 24 | octets[1].0 << 16 | octets[2].0 << 8 | octets[3].0)
}

/// Returns the index of the lowest byte whose top bit is set.
#[inline(always)]
fn place(tops: u128) -> u32 {
    tops.trailing_zeros() / 8
}

/// Returns the octet that the first `count` bytes of a text write, and whether they do.
#[inline(always)]
fn octet(text: u128, count: u32) -> (u32, bool) {
    /// The digits of the greatest octet.
    const GREATEST: u32 = 0x02_05_05;
    /// The weight of each digit, the last one's lowest.
    const WEIGHTS: u32 = 100 << 16 | 10 << 8 | 1;
    let digits = (text as u32 & 0x0F0F_0F0F) << (8 * (4 - count));
    // As numbers in base 256, digits compare as what they write.
    let written = digits.swap_bytes();
    // A first digit that is not 0; of one digit any.
    let least = 1 << (8 * (count - 1)) & !1;
    (digits.wrapping_mul(WEIGHTS) >> 24, (least..=GREATEST).contains(&written))
}
