//! [`Entry`]: a compressed run of slots, a BitAtlas and the next-hop indices it counts into (Figure
//! 3(b) to (e)).

use super::extra::ExtraNhia;
use super::nhi::Nhi;
use fibula::engine::Meter;
use fibula::parts::blocks::rank::rank_through;
use std::fmt::Debug;
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
pub(super) trait Atlas:
    Copy + Debug + Default + Eq + Into<u64> + FromZeros + Send + Sync + 'static
{
    /// The slots that it maps.
    const SLOTS: usize;
    /// Returns the low bits.
    fn of(bits: u64) -> Self;
}

impl Atlas for u64 {
    const SLOTS: usize = 64;
    fn of(bits: u64) -> Self {
        bits
    }
}

impl Atlas for u16 {
    const SLOTS: usize = 16;
    fn of(bits: u64) -> Self {
        bits as Self
    }
}

/// An entry of up to `INLINE` next-hop indices of its own (*Basic*). If there are more, the first
/// two hold the low and the high half of a pointer to them (*ExtraNHIA*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(super) struct Entry<N, M, const INLINE: usize> {
    pub(super) atlas: M,
    pub(super) nhia: [N; INLINE],
}

/// An entry of TrieC15/6, and the answering part of a Hash16 entry: 64 slots.
pub(super) type Entry15_6<N> = Entry<N, u64, 4>;

/// An entry of TrieC4/4: 16 slots.
pub(super) type Entry4_4<N> = Entry<N, u16, 3>;

/// The BitAtlas of an entry with one slot, which needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
pub(super) struct One;

impl From<One> for u64 {
    fn from(_: One) -> Self {
        1
    }
}

impl Atlas for One {
    const SLOTS: usize = 1;
    fn of(_: u64) -> Self {
        Self
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
    /// Returns the next-hop index of a slot: `GetBitVec` and `GetNHI` of Figure 4. One access, and
    /// another to an ExtraNHIA.
    #[inline(always)]
    pub(super) fn get<C: Counting>(&self, position: u32, extra: &[N], meter: &mut impl Meter) -> N {
        meter.load(&self.atlas);
        self.pick::<C>(position, extra, meter)
    }

    /// Does what `get` does, for an entry that was loaded in one access with data read before.
    #[inline(always)]
    pub(super) fn get_beside<C: Counting>(&self, position: u32, extra: &[N], meter: &mut impl Meter) -> N {
        meter.beside(&self.atlas);
        self.pick::<C>(position, extra, meter)
    }

    /// Returns the index of a slot. The next-hop indices of the entry came with its BitAtlas, in
    /// one access, but an entry may cross the border of two cache lines.
    #[inline(always)]
    fn pick<C: Counting>(&self, position: u32, extra: &[N], meter: &mut impl Meter) -> N {
        meter.beside(&self.nhia);
        let at = C::position_entropy(self.atlas.into(), position) as usize - 1;
        if C::total_entropy(self.atlas.into()) as usize <= INLINE {
            self.nhia[at]
        } else {
            meter.load(&extra[self.extra_start() + at])
        }
    }

    /// Does what `get` does, without a branch, for many addresses in step. The kind of an entry
    /// cannot be predicted, because entries of many runs are those that many addresses go through.
    /// With the branch a full table of 2026 gave three quarters of the throughput.
    #[inline(always)]
    pub(super) fn get_in_step<C: Counting>(&self, position: u32, extra: &[N]) -> N {
        let at = C::position_entropy(self.atlas.into(), position) as usize - 1;
        let basic = C::total_entropy(self.atlas.into()) as usize <= INLINE;
        let own = self.nhia[at.min(INLINE - 1)];
        let place = select_unpredictable(basic, 0, self.extra_start() + at);
        select_unpredictable(basic, own, extra.get(place).copied().unwrap_or(N::NONE))
    }

    /// Returns where its next-hop indices begin in the ExtraNHIA, if they are there.
    #[inline(always)]
    fn extra_start(&self) -> usize {
        (self.nhia[0].to_half() | self.nhia[1].to_half() << 16) as usize
    }

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
        let len = PopCount::total_entropy(self.atlas.into()) as usize;
        (len > INLINE).then_some((self.extra_start(), len))
    }

    /// Returns its next-hop indices, wherever they are stored.
    pub(super) fn nhia<'e>(&'e self, extra: &'e ExtraNhia<N>) -> &'e [N] {
        match self.extra() {
            Some((start, len)) => &extra.indices()[start..start + len],
            None => &self.nhia,
        }
    }

    pub(super) fn pointing_to(atlas: u64, start: usize) -> Self {
        let mut nhia = [N::NONE; INLINE];
        nhia[0] = N::half(start as u32);
        nhia[1] = N::half(start as u32 >> 16);
        Self { atlas: M::of(atlas), nhia }
    }
}

#[cfg(test)]
mod tests {
    use super::super::nhi::{Nhi16, Nhi32, Nhi64};
    use super::*;
    use fibula::NextHop;
    use fibula::engine::{Accesses, Unmetered};
    use fibula::parts::memory::{Array, Pages};
    use proptest::prelude::*;

    #[test]
    fn entries_have_the_sizes_of_figure_3() {
        assert_eq!((size_of::<Entry15_6<Nhi16>>(), size_of::<Entry4_4<Nhi16>>()), (16, 8));
        assert_eq!((size_of::<Entry15_6<Nhi32>>(), size_of::<Entry4_4<Nhi32>>()), (24, 16));
        assert_eq!((size_of::<Entry15_6<Nhi64>>(), size_of::<Entry4_4<Nhi64>>()), (40, 32));
    }

    /// Checks that an entry holds what is written to it, time after time.
    fn holds<M: Atlas, const INLINE: usize>(written: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let mut extra = ExtraNhia::new(Pages::Small);
        let mut entry: Entry<Nhi32, M, INLINE> = Entry::new_zeroed();
        for values in written {
            let mut slots = [Nhi32::NONE; SLOTS];
            for (slot, &value) in slots[..M::SLOTS].iter_mut().zip(values) {
                *slot = Nhi32::answer(NextHop(value.into()), 20);
            }
            extra.replace(&mut entry, &slots);
            let in_extra = entry.extra();
            prop_assert_eq!(extra.used(), in_extra.map_or(0, |(_, len)| len));
            let runs = 1 + slots[..M::SLOTS].windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert_eq!(PopCount::total_entropy(entry.atlas.into()) as usize, runs);
            prop_assert_eq!(in_extra.is_some(), runs > INLINE);
            prop_assert_eq!(entry.slots(&extra), slots);
            for (position, &slot) in slots[..M::SLOTS].iter().enumerate() {
                let mut accesses = Accesses::new();
                let position = position as u32;
                prop_assert_eq!(entry.get::<PopCount>(position, extra.indices(), &mut accesses), slot);
                prop_assert_eq!(accesses.loads(), 1 + u32::from(in_extra.is_some()));
                prop_assert_eq!(entry.get_in_step::<PopCount>(position, extra.indices()), slot);
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
            holds::<u64, 4>(&written)?;
            holds::<u16, 3>(&written)?;
        }
    }

    #[test]
    fn an_entry_across_two_lines_counts_as_one_load_and_two_lines() {
        const LINE: usize = 64;
        let array: Array<Entry15_6<Nhi32>> = Array::zeroed(16, Pages::Small);
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
        let entry: Entry15_6<Nhi16> = Entry::new_zeroed();
        let extra = ExtraNhia::new(Pages::Small);
        let found = (0..64).map(|at| entry.get::<PopCount>(at, extra.indices(), &mut Unmetered));
        assert_eq!(found.max_by_key(|n| n.next_hop()), Some(Nhi16::NONE));
        assert_eq!(entry.slots(&extra), [Nhi16::NONE; SLOTS]);
    }
}
