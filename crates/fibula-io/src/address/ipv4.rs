//! Dotted quads, sixteen bytes at once.
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

use fibula::parts::arch::bytes_in;
use std::ops::RangeInclusive;

/// The lengths of dotted quads.
pub(super) const LENGTHS: RangeInclusive<usize> = 7..=15;

/// The bytes that a text is read from.
pub(super) const BYTES: usize = 16;

const DOTS: [(u8, u8); 1] = [(b'.', b'.')];
const DIGITS: [(u8, u8); 1] = [(b'0', b'9')];

/// The digits of the greatest octet, as a number in base 256.
const GREATEST: u32 = 0x02_05_05;

/// The weight of each digit, the last one's lowest.
const WEIGHTS: u32 = 100 << 16 | 10 << 8 | 1;

/// Parses the first `len` bytes of a text. `len` is in [`LENGTHS`].
#[inline(always)]
pub(super) fn parse(text: &[u8; BYTES], len: usize) -> Option<u32> {
    quad(text, bytes_in(text, DOTS), bytes_in(text, DIGITS), len)
}

/// Parses the dots and digits that a text begins with. Also returns their number.
#[inline(always)]
pub(super) fn leading(text: &[u8; BYTES]) -> Option<(u32, usize)> {
    let (dots, digits) = (bytes_in(text, DOTS), bytes_in(text, DIGITS));
    let len = (!(dots | digits)).trailing_zeros() as usize;
    LENGTHS.contains(&len).then(|| Some((quad(text, dots, digits, len)?, len)))?
}

/// Parses the first `len` bytes of a text whose dots and digits are known.
#[inline(always)]
fn quad(text: &[u8; BYTES], dots: u32, digits: u32, len: usize) -> Option<u32> {
    let inside = (1_u32 << len) - 1;
    let (dots, digits) = (dots & inside, digits & inside);
    let zeros = bytes_in(text, [(b'0', b'0')]);
    let after_one = dots & dots.wrapping_sub(1);
    let after_two = after_one & after_one.wrapping_sub(1);
    let starts = dots << 1 | 1;
    // A byte that is neither dot nor digit, or a first digit that is 0 and not the only one.
    let wrong = (dots | digits) ^ inside | zeros & starts & digits >> 1;
    if wrong != 0 || after_two == 0 || after_two & (after_two - 1) != 0 {
        return None;
    }
    let ends = [dots.trailing_zeros(), after_one.trailing_zeros(), after_two.trailing_zeros(), len as u32];
    let starts = [0, ends[0] + 1, ends[1] + 1, ends[2] + 1];
    let counts: [u32; 4] = std::array::from_fn(|at| ends[at] - starts[at]);
    // Each must be 1 to 3. With 4, the number is greater than the greatest.
    if counts.iter().fold(0, |all, count| all | count.wrapping_sub(1)) > 3 {
        return None;
    }
    let (mut address, mut above) = (0, 0);
    for at in 0..4 {
        let unused = 8 * (4 - counts[at]);
        // Of the last octet the end is read, because its start may be too near that of the text.
        let digits = if at < 3 {
            digits_at(text, starts[at] as usize)? << unused
        } else {
            digits_at(text, len - 4)? >> unused << unused
        };
        address = address << 8 | digits.wrapping_mul(WEIGHTS) >> 24;
        // In base 256, digits compare as what they write.
        above |= GREATEST.wrapping_sub(digits.swap_bytes());
    }
    (above.cast_signed() >= 0).then_some(address)
}

/// Returns the values of the four digits from an offset on, the first in the lowest byte.
#[inline(always)]
fn digits_at(text: &[u8; BYTES], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*text[offset.min(BYTES)..].first_chunk()?) & 0x0F0F_0F0F)
}
