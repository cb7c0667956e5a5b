//! Counting the bytes of a pair of words that are at most some value.
#![allow(unsafe_code, reason = "instructions that every processor of the architecture has")]

/// Returns how many of the bytes at indices 1 to `end` - 1 are at most `most`. The lowest byte of
/// the first word has index 0. Every processor of the architecture has the instructions, so there
/// is one copy for all [instruction sets](super::Isa).
///
/// ```
/// use fibula::arch::count_up_to;
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
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bytes = words.map(u64::to_le_bytes);
        let bytes = bytes.as_flattened();
        let up_to = |at: usize| u8::from(at != 0 && at < end) & u8::from(bytes[at] <= most);
        (0..16).map(up_to).sum::<u8>().into()
    }
}
