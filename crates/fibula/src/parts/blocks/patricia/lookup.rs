//! The descent, alone and interleaved.

use super::Patricia;
use super::node::{NIL, Node};
use crate::Address;
use crate::arch::prefetch;
use crate::engine::{Meter, Width};

/// The number of descents that a batch interleaves. Each waits for one cache line at a time, some
/// 25 times. On full tables 32 were a fifth faster than 16 and twice as fast as 8.
pub const LANES: usize = 32;

/// One descent of a batch.
#[derive(Clone, Copy)]
struct Lane<A, W> {
    address: A,
    /// The node to look at next; never [`NIL`].
    at: u32,
    /// The next hop of the last route passed.
    best: W,
    /// The index of the address in the batch.
    index: usize,
}

impl<A: Address, W: Width> Lane<A, W> {
    /// Looks at one node and prefetches the next. Returns false if the descent has ended.
    #[inline(always)]
    fn step(&mut self, nodes: &[Node<A, W>]) -> bool {
        let Some(node) = nodes.get(self.at as usize) else { return false };
        if !node.begins(self.address) {
            return false;
        }
        self.best = if node.is_route() { node.next_hop } else { self.best };
        self.at = node.child(self.address);
        if self.at == NIL {
            return false;
        }
        prefetch(nodes, self.at as usize);
        true
    }
}

impl<A: Address, W: Width> Patricia<A, W> {
    /// Returns the next hop of the longest match of an address, or 0 if there is none. O(bits).
    #[must_use]
    #[inline(always)]
    pub fn descend(&self, address: A, meter: &mut impl Meter) -> W {
        let mut best = W::default();
        let mut at = self.root;
        while let Some(node) = self.nodes.get(at as usize) {
            let node = meter.load(node);
            if !node.begins(address) {
                break;
            }
            best = if node.is_route() { node.next_hop } else { best };
            at = node.child(address);
        }
        best
    }

    /// Looks up `addresses` and writes their answers to `next_hops`, which has the same length.
    /// Descents end at very different depths, so a lane that has ended takes the next address at
    /// once instead of waiting for its neighbours.
    #[inline(always)]
    pub(crate) fn descend_all(&self, addresses: &[A], next_hops: &mut [W]) {
        let nodes: &[Node<A, W>] = &self.nodes;
        let begin = |index: usize| Lane {
            address: addresses.get(index).copied().unwrap_or_default(),
            at: self.root,
            best: W::default(),
            index,
        };
        let mut lanes: [Lane<A, W>; LANES] = std::array::from_fn(begin);
        let mut active = LANES.min(addresses.len());
        let mut waiting = active;
        while active > 0 {
            let mut at = 0;
            while at < active {
                let lane = &mut lanes[at];
                if lane.step(nodes) {
                    at += 1;
                    continue;
                }
                next_hops[lane.index] = lane.best;
                if waiting < addresses.len() {
                    *lane = begin(waiting);
                    waiting += 1;
                    at += 1;
                } else {
                    active -= 1;
                    lanes[at] = lanes[active];
                }
            }
        }
    }
}
