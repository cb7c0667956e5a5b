//! What has been replaced while others read: it waits until they have passed.
//!
//! An engine that changes [in place](crate::engine::Engine::share) builds the new beside the old and stores one word. A reader that has
//! loaded that word before may still follow it, for as long as the batch lasts that it is at. So what the word led to is retired, not
//! freed, and used again once [`readers_passed`](crate::engine::Engine::readers_passed) has been called twice: the first call
//! says only that the readers have passed what was retired before the call before.

/// Things that nothing leads to any more and somebody may still be at.
///
/// ```
/// use fibula::blocks::retired::Retired;
/// let mut retired = Retired::new();
/// retired.retire("chunk 7");
/// assert_eq!(retired.readers_passed().next(), None); // some reader may have come in between
/// retired.retire("chunk 9");
/// assert_eq!(retired.readers_passed().collect::<Vec<_>>(), ["chunk 7"]);
/// assert_eq!(retired.readers_passed().collect::<Vec<_>>(), ["chunk 9"]);
/// ```
#[derive(Clone, Debug)]
pub struct Retired<T> {
    /// Those retired before the last call of [`readers_passed`](Self::readers_passed), and those since.
    waiting: [Vec<T>; 2],
}

impl<T> Default for Retired<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Retired<T> {
    /// Nothing waits.
    #[must_use]
    pub const fn new() -> Self {
        Self { waiting: [Vec::new(), Vec::new()] }
    }

    /// Lets something wait. O(1) amortised.
    pub fn retire(&mut self, item: T) {
        self.waiting[1].push(item);
    }

    /// Every reader has passed what was retired before the last call of this: that is handed back, to be used again.
    pub fn readers_passed(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.reverse();
        self.waiting[1].drain(..)
    }

    /// Takes back what is to be used again by those who read it. O(all).
    pub fn retain(&mut self, stays: impl Fn(&T) -> bool) {
        self.waiting.iter_mut().for_each(|some| some.retain(&stays));
    }

    /// All that waits.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().flatten()
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes it occupies, unused capacity included.
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
