//! [`Inode`]: a node of the B+ tree.

/// The link that leads nowhere. It is past the end of every array, so following it finds nothing.
pub(super) const NIL: u32 = u32::MAX;

/// An index node of at most `M` entries, ordered by key; drawn on the [module page](super).
///
/// An entry of an *external* inode (a leaf) is a key and its priority trie. An entry of an
/// *internal* one is a child and a bound: no key below the child is greater, and every key right of
/// it is. Unused entries come last and have the greatest key and no link, so that a search needs no
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Inode<const M: usize> {
    pub(super) keys: [u32; M],
    pub(super) links: [u32; M],
}

/// A key or a bound, and what it leads to.
pub(super) type InodeEntry = (u32, u32);

impl<const M: usize> Inode<M> {
    /// The fewest entries of an inode that is not the root.
    pub(super) const MIN: usize = M / 2;

    const UNUSED: InodeEntry = (u32::MAX, NIL);

    /// Returns an inode of some entries.
    pub(super) fn of(entries: &[InodeEntry]) -> Self {
        let entry = |at: usize| entries.get(at).copied().unwrap_or(Self::UNUSED);
        Self { keys: std::array::from_fn(|at| entry(at).0), links: std::array::from_fn(|at| entry(at).1) }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.links.iter().position(|&link| link == NIL).unwrap_or(M)
    }

    /// Iterates over the used entries, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = InodeEntry> {
        self.keys.into_iter().zip(self.links).take(self.len())
    }

    /// Returns the last key or bound. The inode must have one.
    pub(super) fn last_key(&self) -> u32 {
        self.keys[self.len() - 1]
    }

    /// Returns the link of a key in a leaf, or [`NIL`] if the key is missing.
    #[inline(always)]
    pub(super) fn link_of(&self, key: u32) -> u32 {
        let slot = slot(&self.keys, key);
        if self.keys[slot] == key { self.links[slot] } else { NIL }
    }

    /// Inserts an entry before the one at `at`. There must be room.
    pub(super) fn insert(&mut self, at: usize, (key, link): InodeEntry) {
        debug_assert!(self.len() < M);
        self.keys.copy_within(at..M - 1, at + 1);
        self.links.copy_within(at..M - 1, at + 1);
        (self.keys[at], self.links[at]) = (key, link);
    }

    /// Removes the entry at `at` and returns it.
    pub(super) fn remove(&mut self, at: usize) -> InodeEntry {
        let removed = (self.keys[at], self.links[at]);
        self.keys.copy_within(at + 1.., at);
        self.links.copy_within(at + 1.., at);
        (self.keys[M - 1], self.links[M - 1]) = Self::UNUSED;
        removed
    }

    /// Splits off the first half of a full inode.
    pub(super) fn split_off_lower(&mut self) -> Self {
        let entries: Vec<InodeEntry> = self.entries().collect();
        let (lower, upper) = entries.split_at(Self::MIN);
        *self = Self::of(upper);
        Self::of(lower)
    }

    /// Inserts all entries of the left neighbour in front. There must be room.
    pub(super) fn prepend(&mut self, left: &Self) {
        *self = Self::of(&left.entries().chain(self.entries()).collect::<Vec<_>>());
    }
}

/// Returns the slot where a search continues: the first of the keys that is not less than `key`, or
/// the last slot. It halves the rest log2 `M` times, whatever the keys are, and never branches.
///
/// Comparing all keys at once and counting the lesser ones was slower. The tree's share of a
/// batch's time was about twice as great, mostly for the sum that the compiler makes of a vector
/// comparison's mask.
#[inline(always)]
pub(super) fn slot<const M: usize>(keys: &[u32; M], key: u32) -> usize {
    const { assert!(M.is_power_of_two()) }
    let mut slot = 0;
    let mut half = M / 2;
    while half > 0 {
        slot += if keys[slot + half - 1] < key { half } else { 0 };
        half /= 2;
    }
    slot
}
