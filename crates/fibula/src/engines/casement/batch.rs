//! The batch path: slots and short nodes by blocks, then the long nodes of the addresses that have
//! one, then the other engine for those whose word is 0.

use super::CasementView;
use super::build::number_in_cell;
use super::node::{Long, MARK, Short};
use super::view::{long_word, named, narrow, short_word};
use crate::arch::Isa;
use crate::blocks::linear_tree::{Rounds, Waiting, for_lanes, in_rounds};
use crate::blocks::unanswered::look_up_unanswered;
use crate::engine::{Engine, Width, look_up_inside};

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses that wait for long nodes at most. What was found for each is its word.
const WAITING_MAX: usize = 2 * BLOCK;
/// The addresses after which those without an answer are looked up: few enough that they are in the
/// second cache still.
const AT_ONCE: usize = 4096;

/// What every block reads.
struct Batch<'v, W: Width, I> {
    view: &'v CasementView<W>,
    root: &'v [u16],
    shorts: &'v [Short],
    longs: &'v [Long],
    isa: I,
}

impl<W: Width> CasementView<W> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let batch = Batch { view: self, root: &self.root, shorts: &self.shorts, longs: &self.longs, isa };
        for (addresses, next_hops) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
            in_rounds::<BLOCK, WAITING_MAX, _, _>(&batch, addresses, next_hops);
            look_up_unanswered(addresses, next_hops, |addresses, next_hops| {
                look_up_inside(self.others.view(), isa.level(), addresses, next_hops);
            });
        }
    }
}

impl<W: Width, I: Isa> Rounds<W, WAITING_MAX> for Batch<'_, W, I> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn begin<const N: usize>(
        &self,
        addresses: &[u128; N],
        len: usize,
        start: usize,
        next_hops: &mut [W],
        waiting: &mut Waiting<WAITING_MAX>,
    ) {
        // What needs no load of the table is computed for several lanes at once.
        let (mut slots, mut cells) = ([0_u32; N], [0; N]);
        for lane in 0..N {
            slots[lane] = self.view.slot(addresses[lane]) as u32;
            cells[lane] = self.view.cell(addresses[lane]);
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
            next_hops[lane] = narrow(words[lane]);
        }
        waiting.push(len, start, |lane| (words[lane].into(), words[lane] & MARK != 0));
    }

    #[inline(always)]
    fn finish(&self, waiting: &mut Waiting<WAITING_MAX>, addresses: &[u128], next_hops: &mut [W]) {
        let (words, indices) = waiting.pop::<BLOCK>();
        for_lanes::<BLOCK>(|lane| {
            let node = &self.longs[usize::from(named(words[lane] as u16))];
            let number = number_in_cell(addresses[indices[lane]], self.view.position);
            next_hops[indices[lane]] = narrow(long_word(self.isa, node, number));
        });
    }
}
