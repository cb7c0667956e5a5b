//! [`Waiting`]: the addresses of a batch that go down a second tree later, a block at a time.

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

    /// Appends an address if `is_more`. Nothing jumps on it.
    #[inline(always)]
    pub fn push(&mut self, found: u32, at: usize, is_more: bool) {
        (self.found[self.len], self.at[self.len]) = (found, at);
        self.len += usize::from(is_more);
    }

    /// Removes the last `BLOCK` addresses. Returns what was found for them, and their indices.
    /// Repeats the first address if there are too few.
    #[inline(always)]
    pub fn pop<const BLOCK: usize>(&mut self) -> ([u32; BLOCK], [usize; BLOCK]) {
        const { assert!(2 * BLOCK == MOST) }
        while self.len < BLOCK {
            self.push(self.found[0], self.at[0], true);
        }
        self.len -= BLOCK;
        let (mut found, mut at) = ([0; BLOCK], [0; BLOCK]);
        found.copy_from_slice(&self.found[self.len..][..BLOCK]);
        at.copy_from_slice(&self.at[self.len..][..BLOCK]);
        (found, at)
    }
}
