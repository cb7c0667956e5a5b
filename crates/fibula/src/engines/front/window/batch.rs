//! The batch path: slots and short nodes by blocks, then the long nodes of the addresses that have
//! one.

use super::lookup::{long_word, named, next_hop, short_word};
use super::node::{Long, MARK, Short};
use super::{InWindow, Window};
use crate::arch::Isa;
use crate::blocks::linear_tree::{Rounds, Waiting, for_lanes, in_rounds};

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses that wait for long nodes at most. What was found for each is its word.
const WAITING_MAX: usize = 2 * BLOCK;

/// What every block reads.
struct Batch<'v, A: InWindow, I> {
    window: &'v Window<A>,
    root: &'v [u16],
    shorts: &'v [Short],
    longs: &'v [Long],
    isa: I,
}

impl<A: InWindow> Window<A> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        let batch = Batch { window: self, root: &self.root, shorts: &self.shorts, longs: &self.longs, isa };
        in_rounds::<BLOCK, WAITING_MAX, _, _, _>(&batch, addresses, next_hops);
    }
}

impl<A: InWindow, I: Isa> Rounds<A, u32> for Batch<'_, A, I> {
    const HAS_SECOND: bool = A::HAS_LONG;

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn begin<const N: usize, const MOST: usize>(
        &self,
        addresses: &[A; N],
        len: usize,
        start: usize,
        next_hops: &mut [u32],
        waiting: &mut Waiting<MOST>,
    ) {
        // In a register: the stores of next hops might change what a reference leads to.
        let cover = self.window.cover;
        // What needs no load of the table is computed for several lanes at once.
        let ((mut slots, mut cells), position) = (([0_u32; N], [0; N]), self.window.position);
        for lane in 0..N {
            slots[lane] = self.window.slot(addresses[lane]) as u32;
            cells[lane] = addresses[lane].cell(position);
        }
        let (mut words, mut nodes) = ([0; N], [0; N]);
        for_lanes::<N>(|lane| words[lane] = self.root[slots[lane] as usize]);
        for lane in 0..N {
            nodes[lane] = named(words[lane]);
            words[lane] &= (words[lane] >> MARK.trailing_zeros()).wrapping_sub(1);
        }
        // Node 0 says 0. A choice between both words would be a jump on the mark.
        for_lanes::<N>(|lane| {
            words[lane] |= short_word(self.isa, &self.shorts[usize::from(nodes[lane])], cells[lane]);
        });
        let next_hops = &mut next_hops[start..start + len];
        for lane in 0..len {
            next_hops[lane] = next_hop(words[lane], cover).into();
        }
        if A::HAS_LONG && self.longs.len() > 1 {
            waiting.push(len, start, |lane| (words[lane].into(), words[lane] & MARK != 0));
        }
    }

    #[inline(always)]
    fn finish<const N: usize, const MOST: usize>(
        &self,
        waiting: &mut Waiting<MOST>,
        addresses: &[A],
        next_hops: &mut [u32],
    ) {
        let (found, indices) = waiting.pop::<N>();
        let (mut words, cover) = ([0; N], self.window.cover);
        for_lanes::<N>(|lane| {
            let node = &self.longs[usize::from(named(found[lane] as u16))];
            let number = addresses[indices[lane]].number(self.window.position);
            words[lane] = long_word(self.isa, node, number);
        });
        for lane in 0..N {
            next_hops[indices[lane]] = next_hop(words[lane], cover).into();
        }
    }
}
