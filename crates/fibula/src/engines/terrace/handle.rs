//! [`Handle`]: an answer word that goes on in a tree.

/// The flag of a word that is no next hop.
pub(super) const MARK: u32 = 1 << 31;
/// The flag of a tree whose root is a directory.
const DIRECTORY: u32 = 1 << 30;
/// The bits of an origin.
const ORIGIN_BITS: u32 = 27;

/// The most lines: those that a handle can name.
pub(in crate::engines) const LINES_MAX: u64 = 1 << ORIGIN_BITS;

/// The greatest number of levels of a block that a handle can name.
pub(super) const LEVELS_MAX: u32 = 7;

/// All that a walk needs to know about a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handle {
    /// The line of the first node of the root block.
    pub origin: u32,
    /// The levels of the root block.
    pub levels: u32,
    /// Whether the intervals of the root block are leaf blocks.
    pub is_directory: bool,
}

impl Handle {
    /// Returns the word, which has the mark.
    pub(super) fn pack(self) -> u32 {
        debug_assert!((1..=LEVELS_MAX).contains(&self.levels) && u64::from(self.origin) < LINES_MAX);
        let directory = if self.is_directory { DIRECTORY } else { 0 };
        MARK | directory | self.levels << ORIGIN_BITS | self.origin
    }

    /// Returns what a word with the mark says. Any word says something.
    #[inline(always)]
    pub(super) fn unpack(word: u32) -> Self {
        Self {
            origin: word & ((1 << ORIGIN_BITS) - 1),
            levels: word >> ORIGIN_BITS & LEVELS_MAX,
            is_directory: word & DIRECTORY != 0,
        }
    }
}

/// Returns the number of the word that answers for interval `interval` of the block at `origin`.
#[inline(always)]
pub(super) fn answer_at(origin: u32, interval: u32) -> u32 {
    // The word directly before the nodes is the number of intervals.
    (origin * WORDS).wrapping_sub(2).wrapping_sub(interval)
}

/// The words of a line.
pub(super) const WORDS: u32 = 16;
