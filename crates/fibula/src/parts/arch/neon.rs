//! NEON (Advanced SIMD), which every 64-bit Arm processor has: part of the baseline, so nothing is
//! detected and nothing is compiled for more. It has no gathers.
#![allow(unsafe_code, reason = "loads of vectors")]

use super::{Isa, KEYS, LINE, Level, SHORT_KEYS, Set};
use crate::memory::{Published, Shareable};
use std::arch::aarch64::{
    uint8x16_t, uint16x8_t, vaddq_u64, vaddvq_u16, vaddvq_u64, vandq_u8, vcgeq_u16, vcltq_u16, vcltq_u64,
    vdupq_n_u16, vdupq_n_u64, vgetq_lane_u32, vld1q_u8, vld1q_u16, vld1q_u64, vpaddq_u8,
    vreinterpretq_u8_u16, vreinterpretq_u32_u8, vuzp1q_u8,
};
use std::arch::asm;

/// Vectors of 128 bits.
#[derive(Clone, Copy, Debug)]
pub struct Neon;

/// A bit for each of 16 lanes, one byte for 8 of them.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

impl crate::address::sealed::Sealed for Neon {}

impl Isa for Neon {
    const NAME: &'static str = "neon";

    #[inline(always)]
    fn level(self) -> Level {
        Level(Set::Neon)
    }

    #[inline(always)]
    fn first_at_least<T: Shareable>(self, line: &[Published<T>], among: u32, key: u16) -> u32 {
        assert_eq!(size_of_val(line), LINE, "bytes of a line");
        // SAFETY: the line has the bytes that are compared.
        let at_least = unsafe { at_least(line.as_ptr().cast(), key) };
        (at_least & among).trailing_zeros()
    }

    #[inline(always)]
    fn count_below(self, line: &[u64; KEYS], key: u64) -> u32 {
        let numbers = line.as_ptr();
        // SAFETY: a line is four registers.
        let quarters = unsafe { [0, 2, 4, 6].map(|at| vld1q_u64(numbers.add(at))) };
        // SAFETY: every processor of the architecture has these instructions.
        unsafe {
            // A lane is all ones where it is below, which is -1.
            let [a, b, c, d] = quarters.map(|quarter| vcltq_u64(quarter, vdupq_n_u64(key)));
            vaddvq_u64(vaddq_u64(vaddq_u64(a, b), vaddq_u64(c, d))).wrapping_neg() as u32
        }
    }

    #[inline(always)]
    fn count_below_short(self, numbers: &[u16; SHORT_KEYS], key: u16) -> u32 {
        // SAFETY: the array is as long as the register.
        let numbers = unsafe { vld1q_u16(numbers.as_ptr()) };
        // SAFETY: every processor of the architecture has these instructions.
        u32::from(unsafe { vaddvq_u16(vcltq_u16(numbers, vdupq_n_u16(key))) }.wrapping_neg())
    }
}

/// Returns which of the 32 numbers of a line are at least `key`, one bit each.
///
/// Others may write the line meanwhile. A Rust vector load would be a data race; the processor's
/// own is as good as one relaxed load for each element.
///
/// # Safety
/// [`LINE`] bytes must be readable at `line`.
#[inline(always)]
unsafe fn at_least(line: *const u8, key: u16) -> u32 {
    let (a, b, c, d): (uint16x8_t, uint16x8_t, uint16x8_t, uint16x8_t);
    // SAFETY: it reads the bytes that the caller promises, and does nothing that relaxed loads
    // would not.
    unsafe {
        asm!(
            "ldp {a:q}, {b:q}, [{line}]",
            "ldp {c:q}, {d:q}, [{line}, #{half}]",
            line = in(reg) line,
            a = out(vreg) a,
            b = out(vreg) b,
            c = lateout(vreg) c,
            d = lateout(vreg) d,
            half = const LINE / 2,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: every processor of the architecture has these instructions, and there are 16 bits.
    unsafe {
        let bits = vld1q_u8(BITS.as_ptr());
        let compared = |numbers| vreinterpretq_u8_u16(vcgeq_u16(numbers, vdupq_n_u16(key)));
        let half = |low, high| vandq_u8(vuzp1q_u8(compared(low), compared(high)), bits);
        let (low, high): (uint8x16_t, uint8x16_t) = (half(a, b), half(c, d));
        // Each sum of neighbours halves the bytes, until a byte has the bits of eight lanes.
        let sums = vpaddq_u8(low, high);
        let sums = vpaddq_u8(sums, sums);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(sums, sums)))
    }
}
