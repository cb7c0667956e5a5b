//! Retired memory: what was replaced while others read waits here for the end of a grace period.
//!
//! An engine that changes [in place](crate::engine::Share) builds the new structure beside
//! the old and stores one word. A reader that loaded that word before may still follow it until its
//! batch ends. So the old structure is retired, not freed, and reused after two calls of
//! [`readers_passed`](crate::engine::Share::readers_passed). A call only says that all readers
//! have passed a quiescent state since the previous call, so it frees what was retired before that
//! one.

/// Items that nothing points to any more, but that a reader may still hold.
///
/// ```
/// use fibula::parts::blocks::retired::Retired;
/// let mut retired = Retired::new();
/// retired.retire("chunk 7");
/// assert_eq!(retired.readers_passed().next(), None); // some reader may have come in between
/// retired.retire("chunk 9");
/// assert_eq!(retired.readers_passed().collect::<Vec<_>>(), ["chunk 7"]);
/// assert_eq!(retired.readers_passed().collect::<Vec<_>>(), ["chunk 9"]);
/// ```
#[derive(Clone, Debug)]
pub struct Retired<T> {
    /// The items retired before the last call of [`readers_passed`](Self::readers_passed), and
    /// those since.
    waiting: [Vec<T>; 2],
}

impl<T> Default for Retired<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Retired<T> {
    /// Creates an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { waiting: [Vec::new(), Vec::new()] }
    }

    /// Retires `item`. O(1) amortised.
    pub fn retire(&mut self, item: T) {
        self.waiting[1].push(item);
    }

    /// Ends a grace period. Returns the items retired before the previous call, which no reader
    /// holds any more, for reuse.
    pub fn readers_passed(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.reverse();
        self.waiting[1].drain(..)
    }

    /// Drops the items for which `stays` is false, without waiting for readers. O(all).
    pub fn retain(&mut self, stays: impl Fn(&T) -> bool) {
        self.waiting.iter_mut().for_each(|some| some.retain(&stays));
    }

    /// Returns all retired items.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().flatten()
    }

    /// Returns the number of retired items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// Returns whether nothing is retired.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes it occupies, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.waiting.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_not_handed_back() {
        let mut retired = Retired::new();
        retired.retire(1);
        assert_eq!(retired.readers_passed().count(), 0);
        retired.retire(2);
        assert_eq!((retired.len(), retired.is_empty(), retired.bytes() >= 8), (2, false, true));
        retired.retain(|&item| item != 1);
        assert_eq!(retired.iter().collect::<Vec<_>>(), [&2]);
        assert_eq!(retired.readers_passed().count(), 0);
        assert_eq!(retired.readers_passed().collect::<Vec<_>>(), [2]);
        assert!(retired.is_empty());
    }
}
