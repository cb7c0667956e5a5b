//! IPv6 addresses written as groups of hexadecimal digits, sixteen bytes at once.
//!
//! The colons of the text become a bit map. It says where groups begin and end; four digits of a
//! group become 16 bits without a branch. A dotted quad at the end is left to the standard library.

use fibula::parts::arch::bytes_in;
use std::ops::RangeInclusive;

/// The lengths of such texts.
pub(super) const LENGTHS: RangeInclusive<usize> = 2..=39;

/// The bytes that a text is read from: whole words, and four for a group at its very end.
pub(super) const BYTES: usize = 48;

/// Parses the first `len` bytes of a text. `len` is in [`LENGTHS`].
#[inline(always)]
pub(super) fn parse(text: &[u8; BYTES], len: usize) -> Option<u128> {
    let colons = colons(text, len)?;
    let doubled = colons & colons >> 1;
    if doubled == 0 {
        let (address, count) = groups(text, 0, len, colons)?;
        return (count == 8).then_some(address);
    }
    let at = doubled.trailing_zeros() as usize;
    if doubled & (doubled - 1) != 0 {
        return None;
    }
    let (head, head_count) = if at == 0 { (0, 0) } else { groups(text, 0, at, colons)? };
    let (tail, tail_count) = if at + 2 == len { (0, 0) } else { groups(text, at + 2, len, colons)? };
    // `::` is at least one group of zeros.
    (head_count + tail_count < 8).then(|| match head_count {
        0 => tail,
        _ => head << (16 * (8 - head_count)) | tail,
    })
}

/// Returns the offsets of colons as bits. `None` if a byte is neither that nor a hexadecimal digit.
#[inline(always)]
fn colons(text: &[u8; BYTES], len: usize) -> Option<u64> {
    const HEXADECIMAL: [(u8, u8); 3] = [(b'0', b'9'), (b'A', b'F'), (b'a', b'f')];
    let (mut colons, mut digits) = (0, 0);
    for (at, part) in (0..).step_by(16).zip(text.as_chunks().0) {
        colons |= u64::from(bytes_in(part, [(b':', b':')])) << at;
        digits |= u64::from(bytes_in(part, HEXADECIMAL)) << at;
    }
    let inside = (1 << len) - 1;
    ((colons | digits) & inside == inside).then_some(colons & inside)
}

/// Returns the groups between two offsets, the last lowest, and their number.
#[inline(always)]
fn groups(text: &[u8; BYTES], start: usize, end: usize, colons: u64) -> Option<(u128, u32)> {
    let (mut from, mut address, mut count) = (start, 0, 0);
    loop {
        let to = (from + (colons >> from).trailing_zeros() as usize).min(end);
        let len = to - from;
        if !(1..=4).contains(&len) || count == 8 {
            return None;
        }
        let digits = u32::from_le_bytes(*text[from..].first_chunk()?) << (8 * (4 - len));
        address = address << 16 | u128::from(group(digits));
        count += 1;
        if to == end {
            return Some((address, count));
        }
        from = to + 1;
    }
}

/// Returns the value of four hexadecimal digits, the first in the lowest byte. A zero byte is
/// worth 0.
#[inline(always)]
fn group(digits: u32) -> u16 {
    let values = (digits & 0x0F0F_0F0F) + (digits >> 6 & 0x0101_0101) * 9;
    let values = values.swap_bytes();
    let bytes = values >> 4 | values;
    (bytes >> 8 & 0xFF00 | bytes & 0xFF) as u16
}
