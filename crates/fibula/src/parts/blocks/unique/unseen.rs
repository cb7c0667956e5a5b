//! [`Unseen`]: the numbers of chunks that no reader has met yet.

/// A set of numbers, one bit each. Clearing it takes as long as it was filled.
#[derive(Clone, Debug, Default)]
pub(super) struct Unseen {
    bits: Vec<u64>,
    /// Every number inserted since the set was last cleared, in order, those removed included.
    inserted: Vec<u32>,
}

impl Unseen {
    /// Adds a number.
    pub(super) fn insert(&mut self, number: u32) {
        let (word, bit) = (number as usize / 64, number % 64);
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << bit;
        self.inserted.push(number);
    }

    /// Removes a number. Returns whether it was there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let Some(word) = self.bits.get_mut(number as usize / 64) else { return false };
        let bit = 1 << (number % 64);
        let was_there = *word & bit != 0;
        *word &= !bit;
        was_there
    }

    /// Removes all numbers. Keeps the memory of a small set only.
    pub(super) fn clear(&mut self) {
        const KEPT: usize = 1024;
        for number in self.inserted.drain(..) {
            self.bits[number as usize / 64] = 0;
        }
        self.inserted.shrink_to(KEPT);
    }

    /// Returns the bytes it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>() + self.inserted.capacity() * size_of::<u32>()
    }
}
