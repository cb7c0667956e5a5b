//! [`Mosaic6View`]: what lookups read, and the lookup of one address. Batches are in
//! [`batch`](super::batch).

use super::WINDOW;
use super::blocks::Blocks;
use super::lines::{answers, elements, slots};
use super::word::{Cell, Spot, Word, as_array, start, step};
use crate::NextHop;
use crate::arch::{Isa, Scalar};
use crate::blocks::fallback::FallbackView;
use crate::engine::{Lookup, Meter, Unmetered, Width};
use crate::engines::terrace::TerraceView;
use crate::memory::{Published, WordsView, flattened};
use std::sync::Arc;

/// Returns the address bits that a bucket compares.
#[inline(always)]
pub(super) fn key(rest: u32) -> u16 {
    (rest >> (u32::BITS - u32::from(WINDOW))) as u16
}

/// The table as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct Mosaic6View<W: Width> {
    /// A word for each /16.
    pub(super) root: WordsView<u32>,
    pub(super) arrays: WordsView<Cell>,
    pub(super) lines: WordsView<W>,
    /// The routes of 49 to 128 bits, which do not change while the table is shared.
    pub(super) longer: Arc<TerraceView>,
    pub(super) fallback: FallbackView<W>,
}

/// Returns an answer of the terrace; one that is too great is in a snapshot that somebody forged.
#[inline(always)]
pub(super) fn narrowed<W: Width>(answer: u32) -> W {
    W::narrow(NextHop(answer & W::MAX))
}

impl<W: Width> Mosaic6View<W> {
    pub(super) fn of(
        root: WordsView<u32>,
        blocks: &Blocks<W>,
        longer: Arc<TerraceView>,
        fallback: FallbackView<W>,
    ) -> Self {
        Self { root, arrays: blocks.arrays.view(), lines: blocks.lines.view(), longer, fallback }
    }

    /// Returns the elements of `line`.
    #[inline(always)]
    fn line(&self, line: usize) -> &[Published<W>] {
        &self.lines[line * elements::<W>()..][..elements::<W>()]
    }

    /// Looks up one address among all routes but the default route.
    #[inline(always)]
    pub(super) fn one(&self, isa: impl Isa, address: u128, meter: &mut impl Meter) -> W {
        let (slot, rest) = start(address);
        let word = meter.load_word::<u32>(&self.root[slot]);
        self.on(isa, (word, rest), address, meter)
    }

    /// Looks up one address among all routes.
    #[inline(always)]
    fn with_default(&self, isa: impl Isa, address: u128, meter: &mut impl Meter) -> W {
        let before = self.fallback.before(meter);
        let found = self.one(isa, address, meter);
        match self.fallback.answer(before, found, meter) {
            Some(answer) => answer,
            None => self.with_default_again(address, meter),
        }
    }

    /// Looks up one address once more, because the default route has changed.
    #[cold]
    #[inline(never)]
    fn with_default_again(&self, address: u128, meter: &mut impl Meter) -> W {
        self.fallback.answer_again(meter, |meter| self.one(Scalar, address, meter))
    }

    /// Continues a lookup from `word`, with the address bits left in `rest`.
    #[inline(always)]
    fn on(&self, isa: impl Isa, (word, rest): (u32, u32), address: u128, meter: &mut impl Meter) -> W {
        let (beside, is_beyond) = self.beside(isa, (word, rest), meter);
        let longer = if is_beyond { self.longer.one(isa, address, meter) } else { 0 };
        if longer == 0 { beside } else { narrowed(longer) }
    }

    /// Continues a lookup among the routes of the trie. Also returns whether there are longer ones.
    #[inline(always)]
    pub(super) fn beside(
        &self,
        isa: impl Isa,
        (mut word, mut rest): (u32, u32),
        meter: &mut impl Meter,
    ) -> (W, bool) {
        let words = flattened(&self.arrays);
        while let Some((stride, first)) = as_array(word) {
            let (index, left) = step(rest, stride);
            word = meter.load_word::<u32>(&words[first + index]);
            rest = left;
        }
        match Word::unpack(word) {
            Word::Answer(next_hop) => (W::narrow(next_hop), false),
            Word::Bucket { spot: Spot { line, slot }, longer } => {
                let line = self.line(line);
                let among = u32::MAX << slot & ((1 << slots::<W>()) - 1);
                let at = isa.first_at_least::<W>(line, among, key(rest));
                (meter.load_word(&line[answers::<W>() + at as usize]), longer)
            }
            Word::Array { .. } => unreachable!("the loop follows arrays"),
        }
    }
}

impl<W: Width> Lookup<u128> for Mosaic6View<W> {
    type Width = W;
    const ON_BASELINE: bool = false;
    const FEW: usize = 14;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        self.with_default(Scalar, address, meter)
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: u128) -> W {
        self.with_default(isa, address, &mut Unmetered)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        self.many(isa, addresses, next_hops);
    }
}
