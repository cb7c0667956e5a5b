//! [`in_rounds`]: a batch goes down a first tree by blocks. The addresses that have a second one
//! wait until there is a block of them.

use crate::blocks::pipeline::{BURST, ask_ahead};

/// The addresses of each block at the end of a batch, the last of which is filled up.
const SHORT_BLOCK: usize = 8;

/// The addresses of a call that has blocks of that many.
const SHORT_CALL: usize = 16;

/// The lanes in a row without a jump, because the end of a longer loop is mispredicted.
const UNROLLED: usize = 8;

/// Calls `with` for each of `N` lanes.
#[inline(always)]
pub fn for_lanes<const N: usize>(mut with: impl FnMut(usize)) {
    const { assert!(N.is_multiple_of(UNROLLED)) }
    for lanes in (0..N).step_by(UNROLLED) {
        with(lanes);
        with(lanes + 1);
        with(lanes + 2);
        with(lanes + 3);
        with(lanes + 4);
        with(lanes + 5);
        with(lanes + 6);
        with(lanes + 7);
    }
}

/// Addresses that may have a second tree, at most `MOST`: twice a block. Less than a block waits
/// before a block is looked up, or before the end of a batch, which is less than a block.
#[derive(Clone, Debug)]
pub struct Waiting<const MOST: usize> {
    /// What was found for each in the first tree.
    found: [u32; MOST],
    /// Their indices in the batch.
    at: [usize; MOST],
    len: usize,
}

impl<const MOST: usize> Waiting<MOST> {
    /// No address.
    pub const NONE: Self = Self { found: [0; MOST], at: [0; MOST], len: 0 };

    /// Returns the number of addresses.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no address waits.
    #[must_use]
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends those of a block of `len` addresses that have more to do. `found` returns what was
    /// found for a lane, and whether it has more to do. The first address is at index `start` of
    /// the batch. Nothing jumps on an answer.
    ///
    /// # Panics
    /// If there is no room for the whole block.
    #[inline(always)]
    pub fn push(&mut self, len: usize, start: usize, found: impl Fn(usize) -> (u32, bool)) {
        // In a register: a length in memory would be stored and loaded again for each address.
        let mut waiting = self.len;
        for lane in 0..len {
            let (found, has_more) = found(lane);
            (self.found[waiting], self.at[waiting]) = (found, start + lane);
            waiting += usize::from(has_more);
        }
        self.len = waiting;
    }

    /// Returns the same addresses, of which there are fewer than `LESS`, with room for `LESS`.
    #[inline(always)]
    fn less_than_a_block<const LESS: usize>(&self) -> Waiting<LESS> {
        let mut less = Waiting { len: self.len, ..Waiting::NONE };
        less.found.copy_from_slice(&self.found[..LESS]);
        less.at.copy_from_slice(&self.at[..LESS]);
        less
    }

    /// Removes the last `BLOCK` addresses. Returns what was found for them, and their indices.
    /// Repeats the first address if there are too few.
    #[inline(always)]
    pub fn pop<const BLOCK: usize>(&mut self) -> ([u32; BLOCK], [usize; BLOCK]) {
        const { assert!(2 * BLOCK == MOST) }
        while self.len < BLOCK {
            (self.found[self.len], self.at[self.len]) = (self.found[0], self.at[0]);
            self.len += 1;
        }
        self.len -= BLOCK;
        let (mut found, mut at) = ([0; BLOCK], [0; BLOCK]);
        found.copy_from_slice(&self.found[self.len..][..BLOCK]);
        at.copy_from_slice(&self.at[self.len..][..BLOCK]);
        (found, at)
    }
}

/// Trees that a batch goes down in rounds.
pub trait Rounds<A, W> {
    /// Whether any address may have a second tree. If not, nothing is compiled for it.
    const HAS_SECOND: bool = true;

    /// Looks up the first `len` addresses of a block in the first tree. The block is at index
    /// `start` of the batch. Those that are not done yet go to `waiting`.
    fn begin<const N: usize, const MOST: usize>(
        &self,
        addresses: &[A; N],
        len: usize,
        start: usize,
        next_hops: &mut [W],
        waiting: &mut Waiting<MOST>,
    );

    /// Looks up a block of `N` waiting addresses, and removes them.
    fn finish<const N: usize, const MOST: usize>(
        &self,
        waiting: &mut Waiting<MOST>,
        addresses: &[A],
        next_hops: &mut [W],
    );
}

/// Looks up a batch, by blocks of `BLOCK` addresses: at most a [`BURST`], or two. What is left is
/// looked up by bursts. In a short call the blocks of those that wait are short too.
#[inline(always)]
pub fn in_rounds<const BLOCK: usize, const MOST: usize, A: Copy + Default, W, R: Rounds<A, W>>(
    trees: &R,
    addresses: &[A],
    next_hops: &mut [W],
) {
    const { assert!(MOST == 2 * BLOCK && (BLOCK <= BURST || BLOCK == 2 * BURST)) }
    if addresses.len() <= SHORT_CALL {
        let mut waiting = Waiting::<{ 2 * SHORT_BLOCK }>::NONE;
        return to_the_end::<SHORT_BLOCK, _, _, _, _>(trees, 0, addresses, next_hops, &mut waiting);
    }
    if BLOCK <= BURST {
        let mut waiting = Waiting::<MOST>::NONE;
        return to_the_end::<BLOCK, _, _, _, _>(trees, 0, addresses, next_hops, &mut waiting);
    }
    if addresses.len() < BLOCK {
        let mut waiting = Waiting::<{ 2 * BURST }>::NONE;
        return to_the_end::<BURST, _, _, _, _>(trees, 0, addresses, next_hops, &mut waiting);
    }
    let mut waiting = Waiting::<MOST>::NONE;
    let done = whole_blocks::<BLOCK, _, _, _, _>(trees, addresses, next_hops, &mut waiting);
    if done < addresses.len() {
        let mut waiting = waiting.less_than_a_block();
        to_the_end::<BURST, { 2 * BURST }, _, _, _>(trees, done, addresses, next_hops, &mut waiting);
    }
}

/// Looks up the whole blocks, and returns the index where they end. Less than a block waits then,
/// and nothing if that is the end of all.
#[inline(always)]
fn whole_blocks<const BLOCK: usize, const MOST: usize, A: Copy, W, R: Rounds<A, W>>(
    trees: &R,
    addresses: &[A],
    next_hops: &mut [W],
    waiting: &mut Waiting<MOST>,
) -> usize {
    let mut done = 0;
    loop {
        let rest = &addresses[done..];
        if R::HAS_SECOND && (waiting.len() >= BLOCK || (rest.is_empty() && !waiting.is_empty())) {
            trees.finish::<BLOCK, MOST>(waiting, addresses, next_hops);
        } else if let Some(block) = rest.first_chunk() {
            ask_ahead::<BLOCK, A>(addresses, done);
            trees.begin::<BLOCK, MOST>(block, BLOCK, done, next_hops, waiting);
            done += BLOCK;
        } else {
            return done;
        }
    }
}

/// Looks up all addresses from index `done` on, and all that wait. Each stage is called in one
/// place, because every call is compiled as a copy of it.
#[inline(always)]
fn to_the_end<const BLOCK: usize, const MOST: usize, A: Copy + Default, W, R: Rounds<A, W>>(
    trees: &R,
    mut done: usize,
    addresses: &[A],
    next_hops: &mut [W],
    waiting: &mut Waiting<MOST>,
) {
    loop {
        let rest = &addresses[done..];
        if R::HAS_SECOND && (waiting.len() >= BLOCK || (rest.is_empty() && !waiting.is_empty())) {
            trees.finish::<BLOCK, MOST>(waiting, addresses, next_hops);
        } else if BLOCK > SHORT_BLOCK
            && let Some(block) = rest.first_chunk()
        {
            ask_ahead::<BLOCK, A>(addresses, done);
            trees.begin::<BLOCK, MOST>(block, BLOCK, done, next_hops, waiting);
            done += BLOCK;
        } else if !rest.is_empty() {
            let len = rest.len().min(SHORT_BLOCK);
            let mut block = [A::default(); SHORT_BLOCK];
            block[..len].copy_from_slice(&rest[..len]);
            trees.begin(&block, len, done, next_hops, waiting);
            done += len;
        } else {
            return;
        }
    }
}
