//! One lookup.

use super::lines::{answers, slots};
use super::word::{Spot, Word, as_array, start, step};
use super::{Mosaic6, WINDOW};
use crate::arch::first_at_least;
use crate::engine::{Meter, Width};

/// The bits of an address that a bucket compares.
#[inline(always)]
pub(super) fn key(rest: u32) -> u16 {
    (rest >> (u32::BITS - u32::from(WINDOW))) as u16
}

impl<W: Width> Mosaic6<W> {
    /// One lookup.
    #[inline(always)]
    pub(super) fn one(&self, address: u128, meter: &mut impl Meter) -> W {
        let (slot, rest) = start(address);
        let word = meter.load_word::<u32>(&self.root[slot]);
        self.on(word, rest, address, meter)
    }

    /// The same from a word on, with the bits that are left there.
    #[inline(always)]
    pub(super) fn on(&self, mut word: u32, mut rest: u32, address: u128, meter: &mut impl Meter) -> W {
        let words = self.blocks.arrays.as_flattened();
        while let Some((stride, first)) = as_array(word) {
            let (index, left) = step(rest, stride);
            word = meter.load_word::<u32>(&words[first + index]);
            rest = left;
        }
        match Word::unpack(word) {
            Word::Answer(next_hop) => W::narrow(next_hop),
            Word::Bucket(Spot { line, slot }) => {
                let line = self.blocks.lines.line(line);
                let among = u32::MAX << slot & ((1 << slots::<W>()) - 1);
                let at = first_at_least::<W>(line, among, key(rest));
                meter.load_word(&line[answers::<W>() + at as usize])
            }
            Word::Beyond(spot) => self.beyond(spot, address, meter),
            Word::Array { .. } => unreachable!("the loop follows arrays"),
        }
    }

    /// The answer of an address with longer routes around it.
    #[inline(always)]
    fn beyond(&self, Spot { line, slot }: Spot, address: u128, meter: &mut impl Meter) -> W {
        let longer = self.longer.descend(address, meter);
        if longer != W::default() {
            return longer;
        }
        meter.load_word(&self.blocks.lines.line(line)[answers::<W>() + slot as usize])
    }
}
