//! The lookups of an [`InitialArray`]: one address at a time, many in step, and in stages.
//!
//! # Stages
//! For a thread pipeline a lookup goes level by level: the paper's Figure 5. Each stage looks into
//! one node: its internal map for the longest match there, its external map for the child. So
//! nothing can be deferred to the way back, as [`Trie::find`] does.
//!
//! ```text
//! passed on   | word of the next node, plus one; 0: the walk has ended | longest match so far |
//!              63                                                   32  31                  0
//! ```

use super::initial_array::InitialArray;
use super::node::{Map, Node, path};
use super::trie::Trie;
use fibula::engine::{Meter, Unmetered, Width};
use fibula::parts::arch::prefetch;
use fibula::{Address, Family};
use std::hint::select_unpredictable;

/// The number of addresses that go down the trie in step.
pub const LANES: usize = 64;

/// The index of no node: the first words are reserved.
const NONE: u32 = 0;

/// The state of one address on its way down.
#[derive(Clone, Copy)]
struct Lane {
    /// The index of the word where the next node begins.
    at: u32,
    /// The last node below the root with a match inside, and the path through it.
    matched: u32,
    matched_path: u32,
}

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// Returns the next hop of the longest match of an address, or 0 if there is none.
    #[inline(always)]
    pub fn find(&self, address: A, meter: &mut impl Meter) -> W {
        self.find_by::<true>(address, meter)
    }

    /// As [`find`](Self::find), with lazy checking or without it; see [`Trie::find`].
    #[inline(always)]
    pub fn find_by<const LAZY: bool>(&self, address: A, meter: &mut impl Meter) -> W {
        let root = M::unpack(meter.load(&self.roots[address.bits(0, self.bits) as usize]));
        let found = match A::FAMILY {
            Family::Ipv4 => self.trie.find::<A, 8, LAZY>(root, self.bits, address, meter),
            Family::Ipv6 => self.trie.find::<A, 32, LAZY>(root, self.bits, address, meter),
        };
        found.unwrap_or_default()
    }

    /// Returns the number of stages: one for the array with the nodes that it holds, and one for
    /// each level of nodes below.
    #[must_use]
    pub fn stages(&self) -> usize {
        1 + usize::from((A::BITS - self.bits) / M::STRIDE)
    }

    /// Runs one stage of many lookups.
    #[inline(always)]
    pub fn run_stage(&self, stage: usize, addresses: &[A], found: &mut [u64]) {
        let offset = self.bits + stage as u8 * M::STRIDE;
        for (&address, found) in addresses.iter().zip(found) {
            let (node, best) = if stage == 0 {
                (self.root(self.slot(address)), 0)
            } else {
                let Some(at) = (*found >> u32::BITS).checked_sub(1) else { continue };
                (self.trie.node(at as usize, &mut Unmetered), *found as u32)
            };
            let path = path::<A, M>(address, offset);
            let longest = node.longest(path);
            let best = longest.map_or(best, |position| {
                let place = Trie::<W, M>::result_place(node, position);
                self.trie.result_at(place, &mut Unmetered).widen().0
            });
            let next = node.child(path).map_or(0, |at| at as u64 + 1);
            *found = next << u32::BITS | u64::from(best);
        }
    }

    /// Looks up any number of addresses.
    #[inline(always)]
    pub fn find_all(&self, addresses: &[A], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            self.find_lanes(addresses, next_hops);
        }
    }

    /// Looks up at most [`LANES`] addresses.
    ///
    /// All take their step at one level before any goes to the next, so that their cache misses
    /// overlap. Lanes that have reached their last node leave the list by arithmetic, because where
    /// an address ends cannot be predicted.
    ///
    /// Of the paper's stack each lane keeps two things: the one node whose result is read at the
    /// end, and the index of the root's result. An alternative was to compute the result's index in
    /// every node with a match, which spares reading that node again. It was 20 to 25 % slower on
    /// the table of January 2024.
    #[inline(always)]
    fn find_lanes(&self, addresses: &[A], next_hops: &mut [W]) {
        let (bits, roots, words) = (self.bits, &self.roots[..], &self.trie.words[..]);
        let levels = 64 / M::STRIDE;
        let mut lanes = [Lane { at: NONE, matched: NONE, matched_path: 0 }; LANES];
        let mut places = [0; LANES];
        let mut rest = [0_u64; LANES];
        let mut walking = [0_u8; LANES];
        let mut left = 0;
        let mut shift = 64 - u32::from(M::STRIDE);
        for (lane, &address) in addresses.iter().enumerate() {
            let root = M::unpack(roots[address.bits(0, bits) as usize]);
            let ahead = address.bits(bits, 64);
            let path = (ahead >> shift) as u32;
            let is_child = root.external.has(path);
            lanes[lane % LANES].at = root.child_place(path) as u32;
            prefetch(words, select_unpredictable(is_child, lanes[lane % LANES].at, NONE) as usize);
            places[lane % LANES] = longest_in::<W, M>(root, path);
            rest[lane % LANES] = ahead;
            walking[left % LANES] = lane as u8;
            left += usize::from(is_child);
        }
        for _ in 1..levels {
            if left == 0 {
                break;
            }
            shift = shift.wrapping_sub(M::STRIDE.into());
            let mut still = 0;
            for k in 0..left {
                let lane = usize::from(walking[k % LANES]) % LANES;
                let path = (rest[lane] >> shift) as u32 % (1 << M::STRIDE);
                let is_child = lanes[lane].step::<W, M>(words, path);
                prefetch(words, select_unpredictable(is_child, lanes[lane].at, NONE) as usize);
                walking[still % LANES] = lane as u8;
                still += usize::from(is_child);
            }
            left = still;
        }
        for &lane in &walking[..left] {
            let lane = usize::from(lane) % LANES;
            let mut offset = bits + levels * M::STRIDE;
            while lanes[lane].step::<W, M>(words, path::<A, M>(addresses[lane], offset)) {
                offset += M::STRIDE;
            }
        }
        for (place, lane) in places.iter_mut().zip(&lanes).take(addresses.len()) {
            let node = Trie::<W, M>::load_node(words, lane.matched as usize, &mut Unmetered);
            let below = longest_in::<W, M>(node, lane.matched_path);
            *place = select_unpredictable(lane.matched == NONE, *place, below);
            prefetch(words, Trie::<W, M>::word_of(*place));
        }
        for (place, next_hop) in places.iter().zip(next_hops) {
            *next_hop = Trie::<W, M>::load_result(words, *place, &mut Unmetered);
        }
    }
}

impl Lane {
    /// Steps through a node. Returns whether there is a child to go to.
    #[inline(always)]
    fn step<W: Width, M: Map>(&mut self, words: &[u32], path: u32) -> bool {
        let node = Trie::<W, M>::load_node(words, self.at as usize, &mut Unmetered);
        let has_match = node.internal & M::covers(path) != M::NONE;
        self.matched = select_unpredictable(has_match, self.at, self.matched);
        self.matched_path = select_unpredictable(has_match, path, self.matched_path);
        self.at = node.child_place(path) as u32;
        node.external.has(path)
    }
}

/// Returns the index of the result of the longest match in a node, or 0, which holds no route, if
/// there is none.
#[inline(always)]
fn longest_in<W: Width, M: Map>(node: Node<M>, path: u32) -> usize {
    let covers = node.internal & M::covers(path);
    let place = Trie::<W, M>::result_place(node, (covers | M::bit(Node::<M>::ABOVE)).last());
    select_unpredictable(covers == M::NONE, 0, place)
}
