//! Lookups by Figure 4, one address at a time, and many level by level.

use super::entry::{Atlas, Counting};
use super::hash16::Hash16;
use super::nhi::Nhi;
use super::side::Side;
use super::table::{LAST, LEVELS, NODE_ENTRIES, NODE_SLOTS, ROOT_ENTRIES, Table};
use fibula::NextHop;
use fibula::engine::{Meter, Unmetered, Width};
use fibula::parts::arch::{Isa, crc32c, prefetch};
use std::hint::select_unpredictable;

/// The addresses that take their steps together.
const LANES: usize = 64;

/// The first three bits of the addresses that the trie covers.
const FORMAT_PREFIX: u64 = 0b001;

/// Returns whether an address, given its first 64 bits, is in 2000::/3.
#[inline(always)]
pub(super) fn is_global(high: u64) -> bool {
    high >> 61 == FORMAT_PREFIX
}

/// Returns the bits `from..to` of an address, given its first 64.
#[inline(always)]
fn bits(high: u64, from: u8, to: u8) -> usize {
    (high << from >> (64 - (to - from))) as usize
}

/// Looks up one address.
#[inline(always)]
pub(super) fn search<C: Counting, N: Nhi, L: Nhi, M: Atlas, const HELD: usize, W: Width>(
    table: &Table<N, L, M, HELD>,
    side: &Side<W>,
    address: u128,
    meter: &mut impl Meter,
) -> W {
    let high = (address >> 64) as u64;
    if !is_global(high) {
        return side.outside.descend(address, meter);
    }
    let (next_hop, longer) = table.walk::<C>(high, meter);
    if longer {
        let next_hop = side.longer.descend(address, meter);
        if next_hop != W::default() {
            return next_hop;
        }
    }
    W::narrow(side.or_default(next_hop))
}

/// Looks up many addresses.
#[inline(always)]
pub(super) fn search_all<C: Counting, N: Nhi, L: Nhi, M: Atlas, const HELD: usize, W: Width>(
    table: &Table<N, L, M, HELD>,
    side: &Side<W>,
    isa: impl Isa,
    addresses: &[u128],
    next_hops: &mut [W],
) {
    for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
        let mut found = table.walk_lanes::<C>(isa, addresses);
        for (next_hop, nhi) in next_hops.iter_mut().zip(found.nhi) {
            *next_hop = W::narrow(side.or_default(nhi.next_hop()));
        }
        // Few tables have routes for these lanes, and few addresses come here.
        while found.rest != 0 {
            let lane = found.rest.trailing_zeros() as usize % LANES;
            found.rest &= found.rest - 1;
            next_hops[lane] = search::<C, N, L, M, HELD, W>(table, side, addresses[lane], &mut Unmetered);
        }
    }
}

/// What a walk of many addresses found.
struct Found<N> {
    nhi: [N; LANES],
    /// The lanes, a bit each, whose answers are not, or not only, in the table.
    rest: u64,
}

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    /// Prefetches the entry below a next-hop index. If that is no pointer, prefetches an entry that
    /// always exists.
    #[inline(always)]
    fn prefetch_below(&self, depth: usize, nhi: N, high: u64) {
        let pointer = select_unpredictable(nhi.flag(), nhi, N::NONE);
        let entry = Self::place_below(depth, pointer, high).0;
        match self.levels.get(depth - 1) {
            Some(nodes) => prefetch(nodes, entry),
            None => prefetch(&self.last, entry),
        }
    }

    /// Returns the index of an entry in TrieC15/6, and the slot in it.
    #[inline(always)]
    pub(super) fn root_place(high: u64) -> (usize, u32) {
        (bits(high, 3, 18) % ROOT_ENTRIES, bits(high, 18, LEVELS[0]) as u32)
    }

    /// Returns the index of an entry below a pointer, among all entries of a level, and the slot in
    /// it.
    #[inline(always)]
    pub(super) fn place_below(depth: usize, pointer: N, high: u64) -> (usize, u32) {
        let slot = bits(high, LEVELS[depth - 1], LEVELS[depth]);
        (pointer.node() * NODE_ENTRIES + slot / NODE_SLOTS, (slot % NODE_SLOTS) as u32)
    }

    /// Returns the next hop for an address of 2000::/3 among routes of 4 to 64 bits, and whether
    /// longer ones are near.
    #[inline(always)]
    fn walk<C: Counting>(&self, high: u64, meter: &mut impl Meter) -> (NextHop, bool) {
        let (entry, slot) = Self::root_place(high);
        let mut nhi = self.root[entry].get::<C>(slot, self.extra.indices(), meter);
        for (depth, nodes) in (1..).zip(&self.levels) {
            if !nhi.flag() {
                return (nhi.next_hop(), false);
            }
            let (entry, slot) = Self::place_below(depth, nhi, high);
            nhi = nodes[entry].get::<C>(slot, self.extra.indices(), meter);
        }
        if !nhi.flag() {
            return (nhi.next_hop(), false);
        }
        let (entry, slot) = Self::place_below(LAST, nhi, high);
        let last = self.last[entry].get::<C>(slot, self.last_extra.indices(), meter);
        if !last.flag() {
            return (last.next_hop(), false);
        }
        meter.hash();
        let hashed = self.hash16.get::<C>(high, crc32c(Hash16::<L, M, HELD>::key_of(high)), meter);
        let found = if hashed.next_hop().is_some() { hashed } else { last };
        (found.next_hop(), hashed.flag())
    }

    /// Does what [`Self::walk`] does for as many as [`LANES`] addresses, of any kind. All lanes
    /// take their step at one level before any goes to the next, so that their cache misses
    /// overlap. Lanes that have an answer leave the list of those still walking by arithmetic.
    #[inline(always)]
    fn walk_lanes<C: Counting>(&self, isa: impl Isa, addresses: &[u128]) -> Found<N> {
        let root = self.root.first_chunk::<ROOT_ENTRIES>().expect("the root has `ROOT_ENTRIES` entries");
        let (extra, last_extra) = (self.extra.indices(), self.last_extra.indices());
        let mut found = Found { nhi: [N::NONE; LANES], rest: 0 };
        let mut high = [0_u64; LANES];
        let mut walking = [0_u8; LANES];
        let mut left = 0;
        for (lane, &address) in addresses.iter().enumerate() {
            let lane = lane % LANES;
            high[lane] = (address >> 64) as u64;
            let (entry, slot) = Self::root_place(high[lane]);
            let nhi = root[entry].get_in_step::<C>(slot, extra);
            found.nhi[lane] = nhi;
            found.rest |= u64::from(!is_global(high[lane])) << lane;
            walking[left % LANES] = lane as u8;
            left += usize::from(nhi.flag());
            self.prefetch_below(1, nhi, high[lane]);
        }
        for (depth, nodes) in (1..).zip(&self.levels) {
            let mut still = 0;
            for k in 0..left {
                let lane = usize::from(walking[k % LANES]) % LANES;
                let (entry, slot) = Self::place_below(depth, found.nhi[lane], high[lane]);
                let nhi = nodes[entry].get_in_step::<C>(slot, extra);
                found.nhi[lane] = nhi;
                walking[still % LANES] = lane as u8;
                still += usize::from(nhi.flag());
                self.prefetch_below(depth + 1, nhi, high[lane]);
            }
            left = still;
        }
        let mut still = 0;
        for k in 0..left {
            let lane = usize::from(walking[k % LANES]) % LANES;
            let (entry, slot) = Self::place_below(LAST, found.nhi[lane], high[lane]);
            let nhi = self.last[entry].get_in_step::<C>(slot, last_extra);
            found.nhi[lane] = nhi.convert();
            walking[still % LANES] = lane as u8;
            still += usize::from(nhi.flag());
        }
        left = still;
        if left > 0 {
            self.hash_lanes::<C>(isa, &walking[..left], &high, &mut found);
        }
        found
    }

    /// Looks up some lanes in Hash16. A lane without an entry there keeps its answer.
    #[inline(always)]
    fn hash_lanes<C: Counting>(
        &self,
        isa: impl Isa,
        lanes: &[u8],
        high: &[u64; LANES],
        found: &mut Found<N>,
    ) {
        let mut hashes = [0_u32; LANES];
        for (hash, &lane) in hashes.iter_mut().zip(lanes) {
            *hash = isa.crc32c(Hash16::<L, M, HELD>::key_of(high[usize::from(lane) % LANES]));
            self.hash16.prefetch(*hash);
        }
        for (hash, &lane) in hashes.into_iter().zip(lanes) {
            let lane = usize::from(lane) % LANES;
            let hashed = self.hash16.get::<C>(high[lane], hash, &mut Unmetered);
            found.nhi[lane] = if hashed.next_hop().is_some() { hashed.convert() } else { found.nhi[lane] };
            found.rest |= u64::from(hashed.flag()) << lane;
        }
    }
}
