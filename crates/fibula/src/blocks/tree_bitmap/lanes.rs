//! Many addresses in step.

use super::InitialArray;
use super::node::{Map, Node, path};
use super::trie::Trie;
use crate::Address;
use crate::arch::prefetch;
use crate::engine::{Unmetered, Width};
use std::hint::select_unpredictable;

/// How many addresses go down the trie in step.
pub const LANES: usize = 64;

/// No node; no trie has so many words.
const NONE: u32 = u32::MAX;

/// One address on its way down.
#[derive(Clone, Copy)]
struct Lane {
    /// The word where the next node begins.
    at: u32,
    /// The last node with a match inside, and the path through it.
    matched: u32,
    matched_path: u32,
}

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// The longest matches of any number of addresses.
    #[inline(always)]
    pub fn find_all(&self, addresses: &[A], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            self.find_lanes(addresses, next_hops);
        }
    }

    /// The longest matches of at most [`LANES`] addresses.
    ///
    /// All take their step at one level before any goes to the next, so that their cache misses overlap, and those that
    /// have come to their last node leave the list of the walking by arithmetic: where an address ends cannot be
    /// foreseen. Of the paper's stack each keeps the one node that will be asked for its result, at the end. Not taken:
    /// finding the result's place in every node with a match, to spare reading that node again (20 to 25 % slower on
    /// the table of January 2024).
    #[inline(always)]
    fn find_lanes(&self, addresses: &[A], next_hops: &mut [W]) {
        let (trie, levels) = (&self.trie, 64 / M::STRIDE);
        let mut lanes = [Lane { at: 0, matched: NONE, matched_path: 0 }; LANES];
        let mut rest = [0_u64; LANES];
        let mut walking: [u8; LANES] = std::array::from_fn(|lane| lane as u8);
        for (lane, &address) in addresses.iter().enumerate() {
            lanes[lane % LANES].at = (self.slot(address) * M::WORDS) as u32;
            rest[lane % LANES] = address.bits(self.bits(), 64);
        }
        let mut left = addresses.len();
        let mut shift = 64 - u32::from(M::STRIDE);
        for _ in 0..levels {
            if left == 0 {
                break;
            }
            let mut still = 0;
            for k in 0..left {
                let lane = usize::from(walking[k % LANES]) % LANES;
                let path = (rest[lane] >> shift) as u32 % (1 << M::STRIDE);
                let is_child = lanes[lane].step(trie, path);
                prefetch(&trie.words, select_unpredictable(is_child, lanes[lane].at, 0) as usize);
                walking[still % LANES] = lane as u8;
                still += usize::from(is_child);
            }
            left = still;
            shift = shift.wrapping_sub(M::STRIDE.into());
        }
        for &lane in &walking[..left] {
            let lane = usize::from(lane) % LANES;
            let mut offset = self.bits() + levels * M::STRIDE;
            while lanes[lane].step(trie, path::<A, M>(addresses[lane], offset)) {
                offset += M::STRIDE;
            }
        }
        let mut places = [0; LANES];
        for (place, lane) in places.iter_mut().zip(&lanes).take(addresses.len()) {
            *place = lane.result_place(trie);
            prefetch(&trie.words, Trie::<W, M>::word_of(*place));
        }
        for (lane, (&address, next_hop)) in addresses.iter().zip(next_hops).enumerate() {
            let found = trie.result_at(places[lane % LANES], &mut Unmetered);
            let above = self.next_hops[self.slot(address)];
            *next_hop = select_unpredictable(lanes[lane % LANES].matched != NONE, found, above);
        }
    }
}

impl Lane {
    /// Goes through a node; whether there is a child to go to.
    #[inline(always)]
    fn step<W: Width, M: Map>(&mut self, trie: &Trie<W, M>, path: u32) -> bool {
        let node = trie.node(self.at as usize, &mut Unmetered);
        let has_match = node.internal & M::covers(path) != M::NONE;
        self.matched = select_unpredictable(has_match, self.at, self.matched);
        self.matched_path = select_unpredictable(has_match, path, self.matched_path);
        self.at = node.child_place(path) as u32;
        node.external.has(path)
    }

    /// Where the result is; any place if there is none.
    #[inline(always)]
    fn result_place<W: Width, M: Map>(self, trie: &Trie<W, M>) -> usize {
        let none = self.matched == NONE;
        let node: Node<M> = trie.node(select_unpredictable(none, 0, self.matched) as usize, &mut Unmetered);
        let position = (node.internal & M::covers(self.matched_path) | M::bit(0)).last();
        select_unpredictable(none, 0, Trie::<W, M>::result_place(node, position))
    }
}
