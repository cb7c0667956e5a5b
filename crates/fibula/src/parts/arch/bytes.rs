//! Sixteen bytes compared at once, by instructions that every processor of the architecture has.
#![allow(unsafe_code, reason = "instructions that every processor of the architecture has")]

/// Returns how many of the bytes at indices 1 to `end` - 1 are at most `most`. The lowest byte of
/// the first word has index 0. Every processor of the architecture has the instructions, so there
/// is one copy for all [instruction sets](super::Isa).
///
/// ```
/// use fibula::parts::arch::count_up_to;
/// let words = [0x07_06_05_04_03_02_01_00, 0xFF_0E_0D_0C_0B_0A_09_08];
/// assert_eq!([0, 4, 15, 255].map(|most| count_up_to(words, 16, most)), [0, 4, 14, 15]);
/// assert_eq!([0, 4, 15, 255].map(|most| count_up_to(words, 6, most)), [0, 4, 5, 5]);
/// ```
#[must_use]
#[inline(always)]
pub fn count_up_to(words: [u64; 2], end: usize, most: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        };
        // SAFETY: SSE2, whose instructions these are, is in every x86-64 processor.
        let up_to = unsafe {
            let bytes = _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed());
            let least = _mm_min_epu8(bytes, _mm_set1_epi8(most.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(least, bytes))
        };
        (up_to.cast_unsigned() & ((1 << end) - 2)).count_ones()
    }
    #[cfg(target_arch = "aarch64")]
    {
        use std::arch::aarch64::{
            vaddvq_u8, vandq_u8, vcleq_u8, vcltq_u8, vcombine_u64, vcreate_u64, vdupq_n_u8, vld1q_u8,
            vreinterpretq_u8_u64, vshrq_n_u8,
        };
        /// The indices less one: that of byte 0 is below no end.
        const BEFORE: [u8; 16] = [255, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        // SAFETY: every processor of the architecture has these instructions, and there are 16
        // indices.
        unsafe {
            let bytes = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(words[0]), vcreate_u64(words[1])));
            let is_counted = vcltq_u8(vld1q_u8(BEFORE.as_ptr()), vdupq_n_u8(end as u8 - 1));
            let up_to = vandq_u8(vcleq_u8(bytes, vdupq_n_u8(most)), is_counted);
            vaddvq_u8(vshrq_n_u8::<7>(up_to)).into()
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let bytes = words.map(u64::to_le_bytes);
        let bytes = bytes.as_flattened();
        let up_to = |at: usize| u8::from(at != 0 && at < end) & u8::from(bytes[at] <= most);
        (0..16).map(up_to).sum::<u8>().into()
    }
}

/// Returns which bytes are in one of some ranges, each of a first and a last byte: bit *i* for the
/// byte at index *i*.
///
/// ```
/// use fibula::parts::arch::bytes_in;
/// let text = *b"192.0.2.1/24 \xFF/:";
/// assert_eq!(bytes_in(&text, [(b'.', b'.')]), 0b1010_1000);
/// assert_eq!(bytes_in(&text, [(b'0', b'9'), (b':', 0xFF)]), 0b1010_1101_0101_0111);
/// ```
#[must_use]
#[inline(always)]
pub fn bytes_in<const N: usize>(bytes: &[u8; 16], ranges: [(u8, u8); N]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
            _mm_setzero_si128, _mm_sub_epi8,
        };
        // SAFETY: SSE2, whose instructions these are, is in every x86-64 processor. The bytes that
        // are loaded are those of the array.
        let all = unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let is_in = |(first, last): (u8, u8)| {
                let above = _mm_sub_epi8(bytes, _mm_set1_epi8(first.cast_signed()));
                let least = _mm_min_epu8(above, _mm_set1_epi8((last - first).cast_signed()));
                _mm_cmpeq_epi8(least, above)
            };
            let all = ranges.into_iter().map(is_in).fold(_mm_setzero_si128(), |a, b| _mm_or_si128(a, b));
            _mm_movemask_epi8(all)
        };
        all.cast_unsigned()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let is_in = |byte: &u8| ranges.iter().any(|&(first, last)| (first..=last).contains(byte));
        bytes.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(is_in(byte)))
    }
}

/// Returns the bytes of two words, the lowest of the first word first, as one vector: what reads
/// any of them next need not wait until two words have been written to memory.
///
/// ```
/// let bytes = fibula::parts::arch::joined([1, 0x0203 << 48]);
/// assert_eq!((bytes[0], bytes[7], bytes[14], bytes[15]), (1, 0, 3, 2));
/// ```
#[must_use]
#[inline(always)]
pub fn joined(words: [u64; 2]) -> [u8; 16] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_set_epi64x, _mm_storeu_si128};
        let mut bytes = [0; 16];
        // SAFETY: SSE2 is in every x86-64 processor, and what is stored is the array.
        unsafe {
            let both = _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed());
            _mm_storeu_si128(bytes.as_mut_ptr().cast(), both);
        }
        bytes
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        (u128::from(words[1]) << u64::BITS | u128::from(words[0])).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_up_to_any_end_and_value() {
        let words = [0xFF_80_7F_01_00_C3_2A_10, 0xFE_FF_FF_64_63_02_81_09_u64];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for end in 1..=16 {
            for most in 0..=u8::MAX {
                let expected = bytes[1..end].iter().filter(|&&byte| byte <= most).count();
                assert_eq!(count_up_to(words, end, most) as usize, expected, "{end}, {most}");
            }
        }
    }
}
