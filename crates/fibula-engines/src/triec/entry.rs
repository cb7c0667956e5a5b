//! [`Entry`]: a compressed run of slots, a BitAtlas and the next-hop indices it counts into (Figure
//! 3(b) to (e)).
//!
//! # Concurrent readers
//! An entry has several words. As long as a reader may use it, its BitAtlas does not change, nor
//! does the position of its next-hop indices. Each of those is a word by itself. So an entry whose
//! runs stay the same is [overwritten](overwrite) one index after the other.
//!
//! A TrieC4/4 entry whose runs change is written in a copy of its node. An entry of TrieC15/6 or
//! Hash16 is [spread](ExtraNhia::spread): the word of its BitAtlas becomes, in one store, a pointer
//! to the indices of all its slots. After a grace period no reader counts by the old BitAtlas, and
//! the entry is [packed](ExtraNhia::pack) again.
//!
//! ```text
//! word of the BitAtlas                      63                               2   1   0
//!                                          +-----------------------------------+---+---+
//! packed, or all zeros                     | a bit for each slot               |   | 1 |
//! spread                                   | first of 64 indices, one a slot   | 1 | 0 |
//!                                          +-----------------------------------+---+---+
//! ```

use super::extra::ExtraNhia;
use super::nhi::Nhi;
use fibula::blocks::rank::rank_through;
use fibula::engine::Meter;
use fibula::memory::{Around, Pair, Published, Shareable, Word};
use std::hint::select_unpredictable;
use zerocopy::FromZeros;

/// The most slots of an entry: those of a TrieC15/6 entry.
pub(super) const SLOTS: usize = 64;

/// How a lookup counts the set bits of a BitAtlas (section 5.4).
///
/// Bit 0 begins the first run and always counts as set, so that an entry of zeros is one run of "no
/// route".
pub(super) trait Counting {
    /// Returns the number of set bits: the size of the NHIA or ExtraNHIA.
    fn total_entropy(atlas: u64) -> u32;

    /// Returns the number of set bits from bit 0 up to `position`: the index of the next-hop index
    /// of that slot, counted from 1.
    fn position_entropy(atlas: u64, position: u32) -> u32;
}

/// By POP_COUNT, one instruction.
#[derive(Debug)]
pub(super) struct PopCount;

impl Counting for PopCount {
    #[inline(always)]
    fn total_entropy(atlas: u64) -> u32 {
        (atlas | 1).count_ones()
    }

    #[inline(always)]
    fn position_entropy(atlas: u64, position: u32) -> u32 {
        rank_through(atlas | 1, position)
    }
}

/// By a loop over FFS, which finds the first set bit: for processors without POP_COUNT.
#[derive(Debug)]
pub(super) struct FindFirstSet;

impl FindFirstSet {
    /// Returns the number of set bits, by an iteration for each. Clearing the lowest bit in place
    /// of the shift would be a loop that compilers know, and make POP_COUNT.
    #[inline(always)]
    fn count(mut bits: u64) -> u32 {
        let mut count = 0;
        while bits != 0 {
            bits = bits >> bits.trailing_zeros() >> 1;
            count += 1;
        }
        count
    }
}

impl Counting for FindFirstSet {
    #[inline(always)]
    fn total_entropy(atlas: u64) -> u32 {
        Self::count(atlas | 1)
    }

    #[inline(always)]
    fn position_entropy(atlas: u64, position: u32) -> u32 {
        Self::count((atlas | 1) & u64::MAX >> (u64::BITS - 1 - position))
    }
}

/// An integer whose bits are a BitAtlas.
pub(super) trait Atlas: Word + Default + Eq + Into<u64> {
    /// The slots that it maps.
    const SLOTS: usize;
    /// Whether it may be the pointer of a spread entry instead.
    const SPREADS: bool;
    /// Returns the low bits.
    fn of(bits: u64) -> Self;
}

impl Atlas for u64 {
    const SLOTS: usize = 64;
    const SPREADS: bool = true;
    fn of(bits: u64) -> Self {
        bits
    }
}

impl Atlas for u16 {
    const SLOTS: usize = 16;
    const SPREADS: bool = false;
    fn of(bits: u64) -> Self {
        bits as Self
    }
}

/// The lowest two bits of the word that a spread entry has in place of a BitAtlas.
pub(super) const SPREAD: u64 = 0b10;

/// Returns whether the word of a BitAtlas is the pointer of a spread entry.
#[inline(always)]
pub(super) fn is_spread<M: Atlas>(atlas: u64) -> bool {
    M::SPREADS && atlas & 0b11 == SPREAD
}

/// Returns where the indices of a spread entry begin.
#[inline(always)]
fn spread_start(atlas: u64) -> usize {
    (atlas >> 2) as usize
}

/// An entry of up to `INLINE` next-hop indices of its own (*Basic*). If there are more, the first
/// two hold the low and the high half of a pointer to them (*ExtraNHIA*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(super) struct Entry<N, M, const INLINE: usize> {
    pub(super) atlas: M,
    pub(super) nhia: [N; INLINE],
}

/// Stores the BitAtlas last: a reader that loads it sees what it counts into.
impl<N: Nhi, M: Atlas, const INLINE: usize> Around for Entry<N, M, INLINE> {
    type Inner = Pair<M, [N; INLINE]>;

    #[inline(always)]
    fn around(Pair(atlas, nhia): Self::Inner) -> Self {
        Self { atlas, nhia }
    }

    #[inline(always)]
    fn inner(self) -> Self::Inner {
        Pair(self.atlas, self.nhia)
    }
}

/// An entry as its owner stores to it.
pub(super) type Place<N, M, const INLINE: usize> = <Entry<N, M, INLINE> as Shareable>::Atomic;

/// An entry of TrieC15/6, and the answering part of a Hash16 entry: 64 slots.
pub(super) type Entry15_6<N> = Entry<N, u64, 4>;

/// An entry of TrieC4/4: 16 slots.
pub(super) type Entry4_4<N> = Entry<N, u16, 3>;

/// What readers do with an entry: its slots, each one next-hop index.
pub(super) trait Slots<N: Nhi, const INLINE: usize> {
    /// Returns the next-hop index of a slot: `GetBitVec` and `GetNHI` of Figure 4. One access, and
    /// another to an ExtraNHIA.
    fn get<C: Counting>(&self, position: u32, extra: &[Published<N>], meter: &mut impl Meter) -> N;

    /// Does what `get` does, for an entry that was loaded in one access with data read before.
    fn get_beside<C: Counting>(&self, position: u32, extra: &[Published<N>], meter: &mut impl Meter) -> N;

    /// Returns the index of a slot. The next-hop indices of the entry came with its BitAtlas, in
    /// one access, but an entry may cross the border of two cache lines.
    fn pick<C: Counting>(
        &self,
        atlas: u64,
        position: u32,
        extra: &[Published<N>],
        meter: &mut impl Meter,
    ) -> N;

    /// Does what `get` does, without a branch, for many addresses in step. The kind of an entry
    /// cannot be predicted, because entries of many runs are those that many addresses go through.
    /// With the branch a full table of 2026 gave three quarters of the throughput.
    fn get_in_step<C: Counting>(&self, position: u32, extra: &[Published<N>]) -> N;

    /// Returns the next-hop indices of its own.
    fn nhia(&self) -> &[Published<N>; INLINE];

    fn extra_start(&self) -> usize;
}

impl<N: Nhi, M: Atlas, const INLINE: usize> Slots<N, INLINE> for Published<Entry<N, M, INLINE>> {
    #[inline(always)]
    fn get<C: Counting>(&self, position: u32, extra: &[Published<N>], meter: &mut impl Meter) -> N {
        let atlas = meter.load_word::<M>(self.parts().split().0).into();
        self.pick::<C>(atlas, position, extra, meter)
    }

    #[inline(always)]
    fn get_beside<C: Counting>(&self, position: u32, extra: &[Published<N>], meter: &mut impl Meter) -> N {
        let atlas = self.parts().split().0;
        meter.beside(atlas);
        self.pick::<C>(atlas.load().into(), position, extra, meter)
    }

    #[inline(always)]
    fn pick<C: Counting>(
        &self,
        atlas: u64,
        position: u32,
        extra: &[Published<N>],
        meter: &mut impl Meter,
    ) -> N {
        if is_spread::<M>(atlas) {
            return meter.load_word::<N>(&extra[spread_start(atlas) + position as usize]);
        }
        meter.beside(self.nhia());
        let at = C::position_entropy(atlas, position) as usize - 1;
        if C::total_entropy(atlas) as usize <= INLINE {
            self.nhia()[at].load()
        } else {
            meter.load_word::<N>(&extra[self.extra_start() + at])
        }
    }

    #[inline(always)]
    fn get_in_step<C: Counting>(&self, position: u32, extra: &[Published<N>]) -> N {
        let atlas: u64 = self.parts().split().0.load().into();
        let at = C::position_entropy(atlas, position) as usize - 1;
        let basic = !is_spread::<M>(atlas) && C::total_entropy(atlas) as usize <= INLINE;
        let own = self.nhia()[at.min(INLINE - 1)].load();
        let packed = self.extra_start() + at;
        let spread = spread_start(atlas) + position as usize;
        let place = select_unpredictable(is_spread::<M>(atlas), spread, packed);
        let other = extra.get(select_unpredictable(basic, 0, place)).map_or(N::NONE, N::load);
        select_unpredictable(basic, own, other)
    }

    #[inline(always)]
    fn nhia(&self) -> &[Published<N>; INLINE] {
        self.parts().split().1.elements()
    }

    #[inline(always)]
    fn extra_start(&self) -> usize {
        (self.nhia()[0].load().to_half() | self.nhia()[1].load().to_half() << 16) as usize
    }
}

/// The runs of some slots.
pub(super) struct Runs<N> {
    pub(super) atlas: u64,
    pub(super) nhia: [N; SLOTS],
    pub(super) len: usize,
}

impl<N: Nhi> Runs<N> {
    pub(super) fn of(slots: &[N]) -> Self {
        let mut runs = Self { atlas: 0, nhia: [N::NONE; SLOTS], len: 0 };
        for (position, &slot) in slots.iter().enumerate() {
            if position == 0 || slot != slots[position - 1] {
                runs.atlas |= 1 << position;
                runs.nhia[runs.len] = slot;
                runs.len += 1;
            }
        }
        runs
    }
}

impl<N: Nhi, M: Atlas, const INLINE: usize> Entry<N, M, INLINE> {
    /// Returns an entry with one answer, or pointer, in all slots.
    pub(super) fn uniform(nhi: N) -> Self {
        let mut entry = Self::new_zeroed();
        entry.atlas = M::of(1);
        entry.nhia[0] = nhi;
        entry
    }

    /// Returns the next-hop index of every slot. Slots past the atlas stay "no route".
    pub(super) fn slots(&self, extra: &ExtraNhia<N>) -> [N; SLOTS] {
        let mut slots = [N::NONE; SLOTS];
        let nhia = self.nhia(extra);
        if is_spread::<M>(self.atlas.into()) {
            slots.copy_from_slice(&nhia);
            return slots;
        }
        // The bits of the runs that are still to come.
        let mut ahead: u64 = self.atlas.into() & !1;
        let mut start = 0;
        for &nhi in &nhia[..PopCount::total_entropy(self.atlas.into()) as usize] {
            let end = (ahead.trailing_zeros() as usize).min(M::SLOTS);
            slots[start..end].fill(nhi);
            ahead &= ahead.wrapping_sub(1);
            start = end;
        }
        slots
    }

    /// Returns the start and number of its next-hop indices in the ExtraNHIA, if they are there.
    pub(super) fn extra(&self) -> Option<(usize, usize)> {
        let atlas = self.atlas.into();
        if is_spread::<M>(atlas) {
            return Some((spread_start(atlas), M::SLOTS));
        }
        let len = PopCount::total_entropy(atlas) as usize;
        let start = self.nhia[0].to_half() | self.nhia[1].to_half() << 16;
        (len > INLINE).then_some((start as usize, len))
    }

    /// Returns its next-hop indices, wherever they are stored.
    pub(super) fn nhia(&self, extra: &ExtraNhia<N>) -> Vec<N> {
        match self.extra() {
            Some((start, len)) => extra.indices()[start..start + len].iter().map(N::load).collect(),
            None => self.nhia.to_vec(),
        }
    }

    pub(super) fn pointing_to(atlas: u64, start: usize) -> Self {
        let mut nhia = [N::NONE; INLINE];
        nhia[0] = N::half(start as u32);
        nhia[1] = N::half(start as u32 >> 16);
        Self { atlas: M::of(atlas), nhia }
    }
}

/// Overwrites an entry's slots in place, each index by itself, if the runs are the same or the
/// entry is spread. Returns whether that was possible.
pub(super) fn overwrite<N: Nhi, M: Atlas, const INLINE: usize>(
    place: &Place<N, M, INLINE>,
    slots: &[N; SLOTS],
    extra: &ExtraNhia<N>,
) -> bool {
    let (entry, runs) = (Entry::<N, M, INLINE>::load_atomic(place), Runs::of(&slots[..M::SLOTS]));
    let nhia = if is_spread::<M>(entry.atlas.into()) {
        &slots[..]
    } else if entry.atlas == M::of(runs.atlas) {
        &runs.nhia[..runs.len]
    } else {
        return false;
    };
    let places = match entry.extra() {
        Some((start, len)) => extra.places(start..start + len),
        None => &place.1[..runs.len],
    };
    for (&nhi, place) in nhia.iter().zip(places).filter(|&(&nhi, place)| nhi != N::load_atomic(place)) {
        nhi.store(place);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::nhi::{Nhi16, Nhi32, Nhi64};
    use super::*;
    use fibula::NextHop;
    use fibula::engine::{Accesses, Unmetered};
    use fibula::memory::{Pages, Words};
    use proptest::prelude::*;

    #[test]
    fn entries_have_the_sizes_of_figure_3() {
        assert_eq!((size_of::<Entry15_6<Nhi16>>(), size_of::<Entry4_4<Nhi16>>()), (16, 8));
        assert_eq!((size_of::<Entry15_6<Nhi32>>(), size_of::<Entry4_4<Nhi32>>()), (24, 16));
        assert_eq!((size_of::<Entry15_6<Nhi64>>(), size_of::<Entry4_4<Nhi64>>()), (40, 32));
    }

    /// Checks that an entry holds what is written to it, time after time, alone or, with 64 slots,
    /// while other threads read it.
    fn holds<M: Atlas, const INLINE: usize>(
        written: &[Vec<u8>],
        write: fn(&mut ExtraNhia<Nhi32>, &Place<Nhi32, M, INLINE>, &[Nhi32; SLOTS]),
    ) -> Result<(), TestCaseError> {
        let mut extra = ExtraNhia::new(Pages::Small);
        let array: Words<Entry<Nhi32, M, INLINE>> = Words::zeroed(1, Pages::Small);
        for values in written {
            let mut slots = [Nhi32::NONE; SLOTS];
            for (slot, &value) in slots[..M::SLOTS].iter_mut().zip(values) {
                *slot = Nhi32::answer(NextHop(value.into()), 20);
            }
            let place = &array.places(0..1)[0];
            if !overwrite::<Nhi32, M, INLINE>(place, &slots, &extra) {
                write(&mut extra, place, &slots);
            }
            let entry = array.get(0);
            let in_extra = entry.extra();
            prop_assert_eq!(extra.used(), in_extra.map_or(0, |(_, len)| len));
            if !is_spread::<M>(entry.atlas.into()) {
                let runs = 1 + slots[..M::SLOTS].windows(2).filter(|pair| pair[0] != pair[1]).count();
                prop_assert_eq!(PopCount::total_entropy(entry.atlas.into()) as usize, runs);
                prop_assert_eq!(in_extra.is_some(), runs > INLINE);
            }
            prop_assert_eq!(entry.slots(&extra), slots);
            for (position, &slot) in slots[..M::SLOTS].iter().enumerate() {
                let mut accesses = Accesses::new();
                let position = position as u32;
                prop_assert_eq!(array[0].get::<PopCount>(position, extra.indices(), &mut accesses), slot);
                prop_assert_eq!(accesses.loads(), 1 + u32::from(in_extra.is_some()));
                prop_assert_eq!(array[0].get_in_step::<PopCount>(position, extra.indices()), slot);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn an_entry_gives_back_what_was_written(
            written in proptest::collection::vec(proptest::collection::vec(0..3_u8, SLOTS), 1..6),
            few in 0..SLOTS,
        ) {
            let mut written = written;
            written[0][few..].fill(1);
            holds::<u64, 4>(&written, ExtraNhia::replace::<u64, 4>)?;
            holds::<u16, 3>(&written, ExtraNhia::replace::<u16, 3>)?;
            holds::<u64, 4>(&written, ExtraNhia::spread)?;
            holds::<u64, 4>(&written, |extra, place, slots| {
                extra.spread(place, slots);
                assert!(extra.pack(place));
            })?;
        }
    }

    #[test]
    fn an_entry_across_two_lines_counts_as_one_load_and_two_lines() {
        const LINE: usize = 64;
        let array: Words<Entry15_6<Nhi32>> = Words::zeroed(16, Pages::Small);
        let extra = ExtraNhia::new(Pages::Small);
        let lines = array.iter().map(|entry| {
            let mut accesses = Accesses::new();
            entry.get::<PopCount>(0, extra.indices(), &mut accesses);
            let first = std::ptr::from_ref(entry).addr();
            let last = first + size_of::<Entry15_6<Nhi32>>() - 1;
            assert_eq!((accesses.loads(), accesses.lines()), (1, last / LINE - first / LINE + 1));
            accesses.lines()
        });
        assert_eq!(lines.max(), Some(2));
    }

    #[test]
    fn an_entry_of_zeros_is_one_run_of_no_route() {
        let array: Words<Entry15_6<Nhi16>> = Words::zeroed(1, Pages::Small);
        let extra = ExtraNhia::new(Pages::Small);
        let found = (0..64).map(|at| array[0].get::<PopCount>(at, extra.indices(), &mut Unmetered));
        assert_eq!(found.max_by_key(|n| n.next_hop()), Some(Nhi16::NONE));
        assert_eq!(array.get(0).slots(&extra), [Nhi16::NONE; SLOTS]);
    }
}
