//! The lookup, of one address and of many in step.

use super::LcTrie;
use super::node::Node;
use fibula::Address;
use fibula::engine::{Meter, Unmetered, Width};
use fibula::parts::arch::prefetch;

/// The lookups that a batch takes in step: enough that a level's first node has arrived when the
/// last is prefetched. Twice as many are no faster on full tables, half as many a little slower.
pub const LANES: usize = 64;

const _: () = assert!(LANES <= u8::MAX as usize + 1); // `Lane::index`

/// One lookup of a batch.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// The node to read next.
    at: u32,
    /// The address bits that the path to it has used.
    position: u8,
    /// The index of its address in the batch.
    index: u8,
}

impl Lane {
    /// Returns the lane where a lookup continues after a branch.
    #[inline(always)]
    fn below<A: Address>(node: Node, position: u8, address: A, index: u8) -> Self {
        let position = position + node.skip();
        let at = node.children() + address.bits(position, node.branch()) as usize;
        Self { at: at as u32, position: position + node.branch(), index }
    }
}

impl<A: Address, W: Width> LcTrie<A, W> {
    /// Returns the next hop of the longest match of `address`.
    #[inline(always)]
    pub(super) fn find(&self, address: A, meter: &mut impl Meter) -> W {
        let mut node = meter.load(&self.trie[0]);
        let mut position = 0;
        while !node.is_leaf() {
            position += node.skip();
            let at = node.children() + address.bits(position, node.branch()) as usize;
            position += node.branch();
            node = meter.load(&self.trie[at]);
        }
        self.answer(node.base(), address, meter)
    }

    /// Returns the answer of an address whose walk ended at a base string. The walk skipped bits,
    /// so the string and then its covers are compared with the address here.
    #[inline(always)]
    fn answer(&self, base: usize, address: A, meter: &mut impl Meter) -> W {
        let base = meter.load(&self.strings.bases[base]);
        let common = base.string.common_prefix_len(address);
        if base.len <= common {
            return base.next_hop;
        }
        self.answer_above(base.above, common, meter)
    }

    /// Returns the answer of the first cover in a chain that has at most `common` bits.
    #[inline(always)]
    fn answer_above(&self, mut cover: u32, common: u8, meter: &mut impl Meter) -> W {
        let covers = &self.strings.covers;
        while let Some(found) = covers.get(cover as usize) {
            let found = meter.load(found);
            if found.len <= common {
                return found.next_hop;
            }
            cover = found.above;
        }
        W::default()
    }

    /// Looks up many addresses.
    #[inline(always)]
    pub(super) fn find_all(&self, addresses: &[A], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            self.find_in_step(addresses, next_hops);
        }
    }

    /// Looks up at most [`LANES`] addresses, one level of the trie after the other. Lookups that
    /// have reached their base string drop out and prefetch it. All are compared at the end.
    ///
    /// Whether a node is a leaf is a real jump, although it is hard to predict. Without one, every
    /// lane waits for its node to know where the next lane goes, which was slower.
    #[inline(always)]
    fn find_in_step(&self, addresses: &[A], next_hops: &mut [W]) {
        let trie: &[Node] = &self.trie;
        let mut bases = [0_u32; LANES];
        let mut lanes = [Lane::default(); LANES];
        let root = trie[0];
        let mut active = 0;
        if !root.is_leaf() {
            active = addresses.len();
            for (index, (lane, &address)) in lanes.iter_mut().zip(addresses).enumerate() {
                *lane = Lane::below(root, 0, address, index as u8);
                prefetch(trie, lane.at as usize);
            }
        }
        while active > 0 {
            let mut kept = 0;
            for at in 0..active {
                let lane = lanes[at];
                let index = usize::from(lane.index) % LANES;
                let node = trie[lane.at as usize];
                if node.is_leaf() {
                    bases[index] = node.base() as u32;
                    prefetch(&self.strings.bases, node.base());
                } else {
                    let lane = Lane::below(node, lane.position, addresses[index], lane.index);
                    prefetch(trie, lane.at as usize);
                    lanes[kept] = lane;
                    kept += 1;
                }
            }
            active = kept;
        }
        for ((&address, next_hop), base) in addresses.iter().zip(next_hops).zip(bases) {
            *next_hop = self.answer(base as usize, address, &mut Unmetered);
        }
    }
}
