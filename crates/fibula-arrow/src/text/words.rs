//! Eight bytes of text in a word, the first lowest. What is said of each byte is its top bit.
//!
//! All bytes are ASCII: then no sum carries into the next byte.

/// The bytes of a word.
pub(super) const BYTES: usize = 8;

/// The top bit of each byte.
pub(super) const TOP: u64 = each(0x80);

/// `byte` in each byte.
pub(super) const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; BYTES])
}

/// Returns which bytes are `byte`.
#[inline(always)]
pub(super) fn is(word: u64, byte: u8) -> u64 {
    !((word ^ each(byte)) + each(0x7F)) & TOP
}

/// Returns which bytes are in a range.
#[inline(always)]
fn is_in(word: u64, first: u8, last: u8) -> u64 {
    (word + each(0x80 - first)) & !(word + each(0x7F - last)) & TOP
}

/// Returns which bytes are decimal digits.
#[inline(always)]
pub(super) fn is_digit(word: u64) -> u64 {
    is_in(word, b'0', b'9')
}

/// Returns which bytes are hexadecimal digits.
#[inline(always)]
pub(super) fn is_hexadecimal(word: u64) -> u64 {
    is_digit(word) | is_in(word | each(0x20), b'a', b'f')
}

/// Moves the top bits of all bytes into the lowest bits, the first byte's lowest.
#[inline(always)]
pub(super) fn gathered(tops: u64) -> u64 {
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
