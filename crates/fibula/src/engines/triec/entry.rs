//! [`Entry`]: a compressed run of slots, a BitAtlas and the next-hop indices it counts into (Figure 3(b) to (e)).

use super::nhi::Nhi;
use crate::blocks::chunks::Pool;
use crate::blocks::rank::rank_through;
use crate::engine::Meter;
use crate::memory::Pages;
use std::hint::select_unpredictable;
use zerocopy::FromZeros;

/// The most slots of an entry: what a TrieC15/6 entry has.
pub(super) const SLOTS: usize = 64;

/// How many bits of a BitAtlas are set: the size of the NHIA or ExtraNHIA.
///
/// Bit 0 begins the first run and counts as set whatever it is, so that an entry of zeros is one run of "no route".
#[inline(always)]
pub(super) fn total_entropy(atlas: u64) -> u32 {
    (atlas | 1).count_ones()
}

/// How many bits of a BitAtlas are set from bit 0 up to a position: which next-hop index is its own, from 1 on.
#[inline(always)]
pub(super) fn position_entropy(atlas: u64, position: u32) -> u32 {
    rank_through(atlas | 1, position)
}

/// An integer whose bits are a BitAtlas.
pub(super) trait Atlas: Copy + Default + Eq + Into<u64> + FromZeros + Send + Sync + 'static {
    /// How many slots it maps.
    const SLOTS: usize;
    /// The low bits.
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

/// An entry of up to `INLINE` next-hop indices of its own (*Basic*). Where there are more, the first two hold the low
/// and the high half of a pointer to them (*ExtraNHIA*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(super) struct Entry<N, M, const INLINE: usize> {
    pub(super) atlas: M,
    pub(super) nhia: [N; INLINE],
}

/// An entry of TrieC15/6, and the part of a Hash16 entry that answers: 64 slots.
pub(super) type Entry15_6<N> = Entry<N, u64, 4>;

/// An entry of TrieC4/4: 16 slots.
pub(super) type Entry4_4<N> = Entry<N, u16, 3>;

/// The arrays of next-hop indices that do not fit into their entries.
#[derive(Clone, Debug)]
pub(super) struct ExtraNhia<N: Copy> {
    pool: Pool<N>,
    pages: Pages,
}

impl<N: Nhi, M: Atlas, const INLINE: usize> Entry<N, M, INLINE> {
    /// One answer, or pointer, in all slots.
    pub(super) fn uniform(nhi: N) -> Self {
        let mut entry = Self::new_zeroed();
        entry.atlas = M::of(1);
        entry.nhia[0] = nhi;
        entry
    }

    /// The next-hop index of a slot: `GetBitVec` and `GetNHI` of Figure 4, one access and, to an ExtraNHIA, another.
    #[inline(always)]
    pub(super) fn get(&self, position: u32, extra: &ExtraNhia<N>, meter: &mut impl Meter) -> N {
        meter.load(self).pick(position, extra, meter)
    }

    /// The next-hop index of a slot of an entry that has been read.
    #[inline(always)]
    pub(super) fn pick(&self, position: u32, extra: &ExtraNhia<N>, meter: &mut impl Meter) -> N {
        let atlas = self.atlas.into();
        let at = position_entropy(atlas, position) as usize - 1;
        if total_entropy(atlas) as usize <= INLINE {
            self.nhia[at]
        } else {
            meter.load(&extra.pool[self.extra_start() + at])
        }
    }

    /// The same without a branch, for many addresses in step: which kind an entry is of cannot be foreseen, since
    /// those that have many runs are those that many addresses go through. With the branch a full table of
    /// 2026 gave three quarters of the throughput.
    #[inline(always)]
    pub(super) fn get_in_step(&self, position: u32, extra: &ExtraNhia<N>) -> N {
        let atlas = self.atlas.into();
        let at = position_entropy(atlas, position) as usize - 1;
        let basic = total_entropy(atlas) as usize <= INLINE;
        let own = self.nhia[at.min(INLINE - 1)];
        let place = select_unpredictable(basic, 0, self.extra_start() + at);
        let other = extra.pool.get(place).copied().unwrap_or_default();
        select_unpredictable(basic, own, other)
    }

    /// The next-hop index of every slot; those past the atlas stay "no route".
    pub(super) fn slots(&self, extra: &ExtraNhia<N>) -> [N; SLOTS] {
        let mut slots = [N::NONE; SLOTS];
        // The bits of the runs that are still to come.
        let mut ahead: u64 = self.atlas.into() & !1;
        let mut start = 0;
        for &nhi in &self.nhia(extra)[..total_entropy(self.atlas.into()) as usize] {
            let end = (ahead.trailing_zeros() as usize).min(M::SLOTS);
            slots[start..end].fill(nhi);
            ahead &= ahead.wrapping_sub(1);
            start = end;
        }
        slots
    }

    /// Compresses its slots anew. Says whether an ExtraNHIA was written.
    pub(super) fn set_slots(&mut self, slots: &[N; SLOTS], extra: &mut ExtraNhia<N>) -> bool {
        let mut nhia = [N::NONE; SLOTS];
        let (mut atlas, mut runs) = (0, 0);
        for (position, &slot) in slots[..M::SLOTS].iter().enumerate() {
            if position == 0 || slot != slots[position - 1] {
                atlas |= 1 << position;
                nhia[runs] = slot;
                runs += 1;
            }
        }
        let old = self.extra();
        self.atlas = M::of(atlas);
        if runs <= INLINE {
            if let Some((start, len)) = old {
                extra.pool.remove(start, len);
            }
            self.nhia.copy_from_slice(&nhia[..INLINE]);
            return false;
        }
        let start = match old {
            Some((start, len)) if len == runs => {
                extra.pool[start..start + len].copy_from_slice(&nhia[..runs]);
                start
            }
            _ => {
                if let Some((start, len)) = old {
                    extra.pool.remove(start, len);
                }
                extra.insert(&nhia[..runs])
            }
        };
        self.point_to_extra(start);
        true
    }

    /// Whether its next-hop indices stand in an ExtraNHIA: where, and how many.
    pub(super) fn extra(&self) -> Option<(usize, usize)> {
        let len = total_entropy(self.atlas.into()) as usize;
        (len > INLINE).then(|| (self.extra_start(), len))
    }

    /// Its next-hop indices, wherever they stand.
    fn nhia<'e>(&'e self, extra: &'e ExtraNhia<N>) -> &'e [N] {
        match self.extra() {
            Some((start, len)) => &extra.pool[start..start + len],
            None => &self.nhia,
        }
    }

    #[inline(always)]
    fn extra_start(&self) -> usize {
        (self.nhia[0].to_half() | self.nhia[1].to_half() << 16) as usize
    }

    fn point_to_extra(&mut self, start: usize) {
        self.nhia = [N::NONE; INLINE];
        self.nhia[0] = N::half(start as u32);
        self.nhia[1] = N::half(start as u32 >> 16);
    }

    /// Moves its ExtraNHIA, if it has one, from one pool to another.
    fn move_extra(&mut self, from: &ExtraNhia<N>, to: &mut ExtraNhia<N>) {
        if let Some((start, len)) = self.extra() {
            let start = to.insert(&from.pool[start..start + len]);
            self.point_to_extra(start);
        }
    }
}

impl<N: Nhi> ExtraNhia<N> {
    /// The pool is compacted when one part in so many of it is holes.
    const HOLES: usize = 16;

    /// Below this many indices in holes there is nothing to gain.
    const HOLES_IGNORED: usize = 1024;

    pub(super) fn new(pages: Pages) -> Self {
        Self { pool: Pool::new("ExtraNHIA indices", 1 << 32, pages), pages }
    }

    fn insert(&mut self, nhia: &[N]) -> usize {
        self.pool.insert(nhia).expect("the limits of nodes and Hash16 entries keep these below 2^32")
    }

    /// Whether closing the holes that updates left is worth a walk over all entries.
    pub(super) fn has_many_holes(&self) -> bool {
        let (len, free) = (self.pool.len(), self.pool.free_total());
        free > Self::HOLES_IGNORED && free * Self::HOLES > len
    }

    /// Whether there are any.
    pub(super) fn has_holes(&self) -> bool {
        self.pool.free_total() > 0
    }

    /// Begins to close all holes: gives the old arrays and an empty pool in their place, to which
    /// [`Self::move_in`] moves them.
    pub(super) fn start_afresh(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.pages))
    }

    /// Takes the ExtraNHIAs of some entries over from another pool.
    pub(super) fn move_in<'e, M: Atlas + 'e, const INLINE: usize>(
        &mut self,
        from: &Self,
        entries: impl IntoIterator<Item = &'e mut Entry<N, M, INLINE>>,
    ) {
        for entry in entries {
            entry.move_extra(from, self);
        }
    }

    /// Gives unused capacity back, at the end of a build.
    pub(super) fn shrink_to_fit(&mut self) {
        self.pool.shrink_to_fit();
    }

    /// The indices in use.
    pub(super) fn used(&self) -> usize {
        self.pool.len() - self.pool.free_total()
    }

    /// One past the last index in use.
    pub(super) fn end(&self) -> usize {
        self.pool.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes()
    }

    /// Checks the books.
    pub(super) fn validate(&self) -> Result<(), String> {
        self.pool.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::super::nhi::{Nhi16, Nhi32, Nhi64};
    use super::*;
    use crate::NextHop;
    use crate::engine::{Accesses, Unmetered};
    use proptest::prelude::*;

    #[test]
    fn entries_have_the_sizes_of_figure_3() {
        assert_eq!((size_of::<Entry15_6<Nhi16>>(), size_of::<Entry4_4<Nhi16>>()), (16, 8));
        assert_eq!((size_of::<Entry15_6<Nhi32>>(), size_of::<Entry4_4<Nhi32>>()), (24, 16));
        assert_eq!((size_of::<Entry15_6<Nhi64>>(), size_of::<Entry4_4<Nhi64>>()), (40, 32));
    }

    fn holds<M: Atlas, const INLINE: usize>(written: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let mut extra = ExtraNhia::new(Pages::Small);
        let mut entry: Entry<Nhi32, M, INLINE> = Entry::new_zeroed();
        for values in written {
            let mut slots = [Nhi32::NONE; SLOTS];
            for (slot, &value) in slots[..M::SLOTS].iter_mut().zip(values) {
                *slot = Nhi32::answer(NextHop(value.into()), 20);
            }
            let in_extra = entry.set_slots(&slots, &mut extra);
            let runs = 1 + slots[..M::SLOTS].windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert_eq!(total_entropy(entry.atlas.into()) as usize, runs);
            prop_assert_eq!((in_extra, extra.used()), (runs > INLINE, if runs > INLINE { runs } else { 0 }));
            prop_assert_eq!(entry.slots(&extra), slots);
            for (position, &slot) in slots[..M::SLOTS].iter().enumerate() {
                let mut accesses = Accesses::new();
                prop_assert_eq!(entry.get(position as u32, &extra, &mut accesses), slot);
                prop_assert_eq!(accesses.loads(), 1 + u32::from(in_extra));
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
    fn an_entry_of_zeros_is_one_run_of_no_route() {
        let (entry, extra) = (Entry15_6::<Nhi16>::new_zeroed(), ExtraNhia::new(Pages::Small));
        assert_eq!(
            (0..64).map(|at| entry.get(at, &extra, &mut Unmetered)).max_by_key(|n| n.next_hop()),
            Some(Nhi16::NONE)
        );
        assert_eq!(entry.slots(&extra), [Nhi16::NONE; SLOTS]);
    }
}
