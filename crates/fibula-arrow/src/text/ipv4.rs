//! Dotted quads, eight bytes at once.
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

use super::words::{TOP, gathered, is, is_digit};
use std::ops::RangeInclusive;

/// The lengths of dotted quads.
pub(super) const LENGTHS: RangeInclusive<usize> = 7..=15;

/// The bytes that a text is read from: two words, and four for an octet at its very end.
pub(super) const BYTES: usize = 20;

/// All bits of the bytes that a text of a length has, in two words.
const INSIDE: [[u64; 2]; 16] = {
    let mut inside = [[0; 2]; 16];
    let mut at = 0;
    while at < 16 * 16 {
        let (len, byte) = (at / 16, at % 16);
        if byte < len {
            inside[len][byte / 8] |= 0xFF << (8 * (byte % 8));
        }
        at += 1;
    }
    inside
};

/// Parses the first `len` bytes of a text. `len` is in [`LENGTHS`].
#[inline(always)]
pub(super) fn parse(text: &[u8; BYTES], len: usize) -> Option<u32> {
    let inside = INSIDE[len & 15];
    let first = u64::from_le_bytes(*text.first_chunk()?) & inside[0];
    let second = u64::from_le_bytes(*text[8..].first_chunk()?) & inside[1];
    if (first | second) & TOP != 0 {
        return None;
    }
    let dots = [is(first, b'.'), is(second, b'.')];
    let other =
        (is_digit(first) | dots[0]) ^ (TOP & inside[0]) | (is_digit(second) | dots[1]) ^ (TOP & inside[1]);
    let dots = gathered(dots[0]) | gathered(dots[1]) << 8;
    let after_one = dots & dots.wrapping_sub(1);
    let after_two = after_one & after_one.wrapping_sub(1);
    if other != 0 || after_two == 0 || after_two & (after_two - 1) != 0 {
        return None;
    }
    let ends = [dots.trailing_zeros(), after_one.trailing_zeros(), after_two.trailing_zeros(), len as u32];
    let starts = [0, ends[0] + 1, ends[1] + 1, ends[2] + 1];
    let counts: [u32; 4] = std::array::from_fn(|at| ends[at] - starts[at]);
    // Each must be 1 to 3. With 4, the comparison of `octet` fails.
    if counts.iter().fold(0, |all, count| all | count.wrapping_sub(1)) > 3 {
        return None;
    }
    let mut address = 0;
    let mut good = true;
    for (start, count) in starts.into_iter().zip(counts) {
        let digits = u32::from_le_bytes(*text[(start & 15) as usize..].first_chunk()?);
        let (octet, is_octet) = octet(digits, count);
        address = address << 8 | octet;
        good &= is_octet;
    }
    good.then_some(address)
}

/// Returns the octet that the first `count` bytes write, and whether they do.
#[inline(always)]
fn octet(text: u32, count: u32) -> (u32, bool) {
    /// The digits of the greatest octet.
    const GREATEST: u32 = 0x02_05_05;
    /// The weight of each digit, the last one's lowest.
    const WEIGHTS: u32 = 100 << 16 | 10 << 8 | 1;
    let digits = (text & 0x0F0F_0F0F) << (8 * (4 - count));
    // As numbers in base 256, digits compare as what they write.
    let written = digits.swap_bytes();
    // A first digit that is not 0; of one digit any.
    let least = 1 << (8 * (count - 1)) & !1;
    (digits.wrapping_mul(WEIGHTS) >> 24, (least..=GREATEST).contains(&written))
}
