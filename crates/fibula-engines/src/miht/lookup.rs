//! The lookup, of one address and of many in step.

use super::dnode::Dnode;
use super::inode::{Inode, NIL, slot};
use super::table::Table;
use fibula::Address;
use fibula::engine::{Meter, Width};
use fibula::parts::arch::prefetch;
use fibula::parts::memory::CACHE_LINE;
use std::hint::select_unpredictable;

/// The lookups that a batch takes in step.
pub const LANES: usize = 64;

const _: () = assert!(LANES <= u8::MAX as usize + 1); // `Descent::index`

/// One descent through a priority trie.
#[derive(Clone, Copy, Default)]
struct Descent {
    /// The node to read next; never [`NIL`].
    at: u32,
    /// Its level.
    level: u8,
    /// The index of its address in the batch.
    index: u8,
}

/// Prefetches all lines of an inode.
#[inline(always)]
fn prefetch_inode<const M: usize>(inode: &Inode<M>) {
    for start in (0..M).step_by(CACHE_LINE / size_of::<u32>()) {
        prefetch(&inode.keys, start);
        prefetch(&inode.links, start);
    }
}

/// Prefetches a dnode, which may begin on one line and end on the next.
#[inline(always)]
fn prefetch_dnode<A, W>(dnodes: &[Dnode<A, W>], at: u32) {
    prefetch(dnodes, at as usize);
    if !CACHE_LINE.is_multiple_of(size_of::<Dnode<A, W>>()) {
        prefetch(dnodes, at as usize + 1);
    }
}

impl<A: Address, W: Width, const M: usize> Table<A, W, M> {
    /// Returns the next hop of the longest match of `address`. If the trie of its key has no match,
    /// PT\[-1\] may have a shorter one.
    #[inline(always)]
    pub(super) fn lookup(&self, address: A, meter: &mut impl Meter) -> W {
        let root = self.tree.get(self.key(address), meter);
        let next_hop = self.tries.search(root, self.k, address, meter);
        if next_hop == W::default() { self.tries.search(self.keyless, 0, address, meter) } else { next_hop }
    }

    /// Looks up many addresses.
    #[inline(always)]
    pub(super) fn lookup_batch(&self, addresses: &[A], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            let roots = self.roots(addresses);
            self.descend(addresses, roots, next_hops);
        }
    }

    /// Returns the roots of the tries of at most [`LANES`] addresses. It goes through the tree one
    /// level after the other: all its leaves are on one level, so no lane waits for another.
    #[inline(always)]
    fn roots(&self, addresses: &[A]) -> [u32; LANES] {
        let inodes: &[Inode<M>] = &self.tree.inodes;
        let mut at = [self.tree.root; LANES];
        for _ in 1..self.tree.height {
            for (at, &address) in at.iter_mut().zip(addresses) {
                let inode = &inodes[*at as usize];
                *at = inode.links[slot(&inode.keys, self.key(address))];
                prefetch_inode(&inodes[*at as usize]);
            }
        }
        for (at, &address) in at.iter_mut().zip(addresses) {
            *at = inodes.get(*at as usize).map_or(NIL, |leaf| leaf.link_of(self.key(address)));
            prefetch_dnode(&self.tries.dnodes, *at);
        }
        at
    }

    /// Looks up at most [`LANES`] addresses whose tries are known, one level of the tries after the
    /// other. A lane that found nothing below its key continues in PT\[-1\]. A lane that is done
    /// drops out.
    #[inline(always)]
    fn descend(&self, addresses: &[A], roots: [u32; LANES], next_hops: &mut [W]) {
        let dnodes: &[_] = &self.tries.dnodes;
        let mut lanes = [Descent::default(); LANES];
        let mut active = 0;
        for (index, next_hop) in next_hops.iter_mut().enumerate() {
            *next_hop = W::default();
            let keyed = roots[index] != NIL;
            let (at, level) = if keyed { (roots[index], self.k) } else { (self.keyless, 0) };
            lanes[active] = Descent { at, level, index: index as u8 };
            active += usize::from(at != NIL);
        }
        while active > 0 {
            let mut kept = 0;
            for at in 0..active {
                let lane = lanes[at];
                let index = usize::from(lane.index);
                let (address, node) = (addresses[index], dnodes[lane.at as usize]);
                let child = node.child(address, lane.level);
                let matches = node.matches(address);
                let best = select_unpredictable(matches, node.next_hop, next_hops[index]);
                next_hops[index] = best;
                let next = select_unpredictable(matches & node.has_longest(), NIL, child);
                // Levels of PT[-1] never reach `k`: its prefixes are shorter.
                #[allow(clippy::needless_bitwise_bool, reason = "a jump here could not be predicted")]
                let nothing = (next == NIL) & (lane.level >= self.k) & (best == W::default());
                let next = select_unpredictable(nothing, self.keyless, next);
                let level = select_unpredictable(nothing, 0, lane.level + 1);
                prefetch_dnode(dnodes, next);
                lanes[kept] = Descent { at: next, level, index: lane.index };
                kept += usize::from(next != NIL);
            }
            active = kept;
        }
    }
}
