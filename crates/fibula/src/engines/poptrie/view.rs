//! [`PoptrieView`]: lookups, one at a time and in batches.

use super::direct::Direct;
use super::node::{Node, STRIDE};
use crate::arch::{Isa, Sets, prefetch};
use crate::blocks::levels::check_levels;
use crate::engine::{Lookup, Meter, Unmetered, Width};
use crate::memory::{Shareable, WordsView};
use crate::{Address, Error, Family, NextHop};
use std::hint::select_unpredictable;
use std::marker::PhantomData;

/// The addresses that go down the trie in step.
pub(super) const LANES: usize = 64;

/// The levels that 64 bits of an address cover: as far as the lanes go together.
const LEVELS_TOGETHER: u8 = 64 / STRIDE;

/// Returns the index of the direct-table entry of `address`: its first `s` bits.
#[inline(always)]
fn slot<A: Address>(s: u8, address: A) -> usize {
    // Two shifts instead of one and a branch, because `s` may be 0. Of 128 bits only the first 64
    // matter.
    (address.bits(0, 64) >> 1 >> (63 - u32::from(s))) as usize
}

/// The trie as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct PoptrieView<A, W: Width> {
    /// The bits of the address that the direct table resolves.
    s: u8,
    pub(super) direct: WordsView<Direct>,
    pub(super) nodes: WordsView<Node>,
    pub(super) leaves: WordsView<W>,
    family: PhantomData<A>,
}

impl<A: Address, W: Width> PoptrieView<A, W> {
    pub(super) fn of(s: u8, direct: WordsView<Direct>, nodes: WordsView<Node>, leaves: WordsView<W>) -> Self {
        Self { s, direct, nodes, leaves, family: PhantomData }
    }

    /// Checks that every walk ends, in a view of a snapshot. O(n).
    pub(super) fn check_levels(&self) -> Result<(), Error> {
        let roots = self.direct.iter().filter_map(|entry| Direct::load(entry).root());
        let most = (A::BITS - self.s).div_ceil(STRIDE);
        check_levels("nodes", self.nodes.len(), roots, most, |node, down| {
            let (first, count) = self.nodes.get(node).children();
            (first..first + count).try_for_each(down)
        })
    }

    /// Looks up one address.
    #[inline(always)]
    pub(super) fn search(&self, address: A, meter: &mut impl Meter) -> W {
        let entry = meter.load_word::<Direct>(&self.direct[slot(self.s, address)]);
        if entry.is_leaf() {
            W::narrow(entry.next_hop())
        } else {
            let leaf = self.walk(entry.index(), address, self.s, meter);
            meter.load_word::<W>(&self.leaves[leaf])
        }
    }

    /// Walks from the node at `index`, which consumes the bits from `offset` on, to a leaf. Returns
    /// the index of the leaf.
    #[inline(always)]
    fn walk(&self, mut index: u32, address: A, mut offset: u8, meter: &mut impl Meter) -> usize {
        loop {
            let node = meter.load_word::<Node>(&self.nodes[index as usize]);
            let (is_child, next) = node.step(address.bits(offset, STRIDE) as u32);
            if !is_child {
                return next as usize;
            }
            index = next;
            offset += STRIDE;
        }
    }

    /// Looks up any number of addresses.
    #[inline(always)]
    pub(super) fn search_all(&self, addresses: &[A], next_hops: &mut [W]) {
        let mut coming = addresses.chunks(LANES).skip(1);
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            // IPv4 uses most of the direct table: prefetching one round ahead is 7 to 13 % faster.
            // IPv6 uses so little of it that prefetching costs more than it saves.
            if A::FAMILY == Family::Ipv4 {
                for &address in coming.next().unwrap_or_default() {
                    prefetch(&self.direct, slot(self.s, address));
                }
            }
            self.search_lanes(addresses, next_hops);
        }
    }

    /// Looks up as many as [`LANES`] addresses.
    ///
    /// All lanes take their step at one level before any goes to the next, so that their cache
    /// misses overlap. Lanes that have reached a leaf drop out of the list of those still walking.
    /// That is done by arithmetic instead of a branch, because the level at which an address ends
    /// cannot be predicted.
    ///
    /// The node of the next step is prefetched as soon as it is known (20 to 30 % faster where
    /// other cores contend for the outer cache). Not adopted: prefetching the leaves too (5 % for
    /// IPv4, nothing for IPv6), and nodes padded to 32 bytes so that none straddles two cache lines
    /// (3 % for a third more memory).
    #[inline(always)]
    fn search_lanes(&self, addresses: &[A], next_hops: &mut [W]) {
        // Copied to locals once: fields of `self` would be read again after every atomic load.
        let (s, direct, nodes, leaves) = (self.s, &self.direct[..], &self.nodes[..], &self.leaves[..]);
        let mut at = [0_u32; LANES];
        let mut rest = [0_u64; LANES];
        let mut walked = [0_u8; LANES];
        let mut count = 0;
        for (lane, (&address, next_hop)) in addresses.iter().zip(next_hops.iter_mut()).enumerate() {
            let entry = Direct::load(&direct[slot(s, address)]);
            let answer = select_unpredictable(entry.is_leaf(), entry.next_hop(), NextHop::NONE);
            *next_hop = W::narrow(answer);
            prefetch(nodes, select_unpredictable(entry.is_leaf(), 0, entry.index()) as usize);
            at[lane % LANES] = entry.index();
            rest[lane % LANES] = address.bits(s, 64);
            walked[count % LANES] = lane as u8;
            count += usize::from(!entry.is_leaf());
        }
        let mut walking = walked;
        let mut left = count;
        let mut shift = 64 - u32::from(STRIDE);
        for _ in 0..LEVELS_TOGETHER {
            if left == 0 {
                break;
            }
            let mut still = 0;
            for k in 0..left {
                let lane = usize::from(walking[k % LANES]) % LANES;
                let (is_child, next) =
                    Node::load(&nodes[at[lane] as usize]).step((rest[lane] >> shift) as u32);
                prefetch(nodes, select_unpredictable(is_child, next, 0) as usize);
                at[lane] = next;
                walking[still % LANES] = lane as u8;
                still += usize::from(is_child);
            }
            left = still;
            shift = shift.wrapping_sub(STRIDE.into());
        }
        for k in 0..left {
            let lane = usize::from(walking[k % LANES]) % LANES;
            let offset = s + LEVELS_TOGETHER * STRIDE;
            at[lane] = self.walk(at[lane], addresses[lane], offset, &mut Unmetered) as u32;
        }
        for k in 0..count {
            let lane = usize::from(walked[k % LANES]) % LANES;
            next_hops[lane] = W::load(&leaves[at[lane] as usize]);
        }
    }
}

impl<A: Address, W: Width> Lookup<A> for PoptrieView<A, W> {
    type Width = W;
    const SETS: Sets = Sets::Words;
    const ON_BASELINE: bool = false;
    const FEW: usize = if A::BITS == 32 { 10 } else { 4 };

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        self.search(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        self.search_all(addresses, next_hops);
    }
}
