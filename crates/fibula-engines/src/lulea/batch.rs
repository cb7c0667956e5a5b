//! The batch path: a block of addresses takes each step together, sorted by the kind of chunk on
//! their path.

use super::chunk::Coded;
use super::pointer::{Base, Kind, Pointer};
use super::table::Table;
use fibula::NextHop;
use fibula::engine::{Unmetered, Width};
use fibula::parts::arch::prefetch;
use fibula::parts::blocks::pipeline::for_each_set;

/// The addresses that take a step together.
pub(super) const LANES: usize = 64;

/// The lanes that take a certain next step, each with the index of a pointer or of a chunk.
///
/// A lane is added without a branch, because whether it is cannot be predicted. It is always
/// written after the last one, and counted only if it is added. So the list has one element more
/// than there are lanes.
struct List {
    len: usize,
    lanes: [u8; LANES + 1],
    places: [u32; LANES + 1],
}

impl List {
    fn new() -> Self {
        Self { len: 0, lanes: [0; LANES + 1], places: [0; LANES + 1] }
    }

    #[inline(always)]
    fn join(&mut self, joins: bool, lane: usize, place: u32) {
        let at = self.len.min(LANES);
        self.lanes[at] = lane as u8;
        self.places[at] = place;
        self.len += usize::from(joins);
    }

    /// Iterates over the lanes, each with its index.
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        let len = self.len.min(LANES);
        let lanes = self.lanes[..len].iter().map(|&lane| usize::from(lane) % LANES);
        lanes.zip(self.places[..len].iter().copied())
    }
}

/// The lists of a block, and the answers found so far.
struct Block {
    /// The lanes that read a pointer of level 1 next.
    to_pointer_1: List,
    /// The lanes that read a chunk of level 2 next, by kind.
    to_sparse: List,
    to_dense: List,
    to_very_dense: List,
    /// The lanes that read a pointer of level 2 next.
    to_pointer_2: List,
    answers: [u32; LANES],
}

impl Block {
    fn new() -> Self {
        Self {
            to_pointer_1: List::new(),
            to_sparse: List::new(),
            to_dense: List::new(),
            to_very_dense: List::new(),
            to_pointer_2: List::new(),
            answers: [0; LANES],
        }
    }

    fn clear(&mut self) {
        let Self { to_pointer_1, to_sparse, to_dense, to_very_dense, to_pointer_2, .. } = self;
        for list in [to_pointer_1, to_sparse, to_dense, to_very_dense, to_pointer_2] {
            list.len = 0;
        }
    }
}

/// Reads a code word: an answer, or the index of a pointer, which is prefetched.
#[inline(always)]
fn read_word<P, B: Base, const BASES: usize>(
    chunk: &Coded<B, BASES>,
    slot: u32,
    lane: usize,
    pointers: &[P],
    answers: &mut [u32; LANES],
    to_pointer: &mut List,
) {
    let (direct, answer, pointer) = chunk.find_both(slot);
    answers[lane] = answer;
    to_pointer.join(!direct, lane, pointer as u32);
    prefetch(pointers, pointer);
}

impl<P: Pointer, B: Base> Table<P, B> {
    /// Looks up many addresses.
    #[inline(always)]
    pub(super) fn find_all<W: Width>(&self, addresses: &[u32], next_hops: &mut [W]) {
        let mut block = Block::new();
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            block.clear();
            self.find_block(addresses, &mut block);
            for (next_hop, answer) in next_hops.iter_mut().zip(block.answers) {
                *next_hop = W::narrow(NextHop(answer));
            }
        }
    }

    /// Looks up at most [`LANES`] addresses.
    #[inline(always)]
    fn find_block(&self, addresses: &[u32], block: &mut Block) {
        let Block { to_pointer_1, to_sparse, to_dense, to_very_dense, to_pointer_2, answers } = block;
        let mut to_level_3 = 0_u64;
        let level = &self.levels[0];

        for (lane, &address) in addresses.iter().enumerate() {
            let chunk = &self.top[(address >> 24) as usize];
            read_word(chunk, address >> 16, lane, &self.pointers, answers, to_pointer_1);
        }
        for (lane, at) in to_pointer_1.iter() {
            let pointer = self.pointers[at as usize];
            answers[lane] = pointer.next_hop_or_any();
            to_sparse.join(pointer.is(Kind::Sparse), lane, pointer.index());
            to_dense.join(pointer.is(Kind::Dense), lane, pointer.index());
            to_very_dense.join(pointer.is(Kind::VeryDense), lane, pointer.index());
        }

        // A chunk may cross a line, so exactly what will be read is prefetched.
        for (lane, at) in to_very_dense.iter() {
            level.very_dense[at as usize].prefetch_for(addresses[lane] >> 8);
        }
        for (lane, at) in to_dense.iter() {
            level.dense[at as usize].prefetch_for(addresses[lane] >> 8);
        }
        for (_, at) in to_sparse.iter() {
            level.sparse[at as usize].prefetch_all();
        }
        for (lane, at) in to_very_dense.iter() {
            let chunk = &level.very_dense[at as usize];
            read_word(chunk, addresses[lane] >> 8, lane, &level.pointers, answers, to_pointer_2);
        }
        for (lane, at) in to_dense.iter() {
            let chunk = &level.dense[at as usize];
            read_word(chunk, addresses[lane] >> 8, lane, &level.pointers, answers, to_pointer_2);
        }
        for (lane, at) in to_sparse.iter() {
            let pointer = level.sparse[at as usize].find(addresses[lane] >> 8, &mut Unmetered);
            answers[lane] = pointer.next_hop_or_any();
            to_level_3 |= u64::from(!pointer.is_next_hop()) << lane;
        }
        for (lane, at) in to_pointer_2.iter() {
            let pointer = level.pointers[at as usize];
            answers[lane] = pointer.next_hop_or_any();
            to_level_3 |= u64::from(!pointer.is_next_hop()) << lane;
        }

        // These are few, and what they have read so far is in the cache.
        for_each_set(to_level_3, |lane| answers[lane] = self.find(addresses[lane], &mut Unmetered));
    }
}
