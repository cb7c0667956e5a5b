//! [`OneWord`]: an atomic integer on a cache line of its own.

use super::words::Published;
use crate::memory::Shareable;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The cache line of a word, which no other data shares.
#[derive(Debug)]
#[repr(align(64))]
struct Line(Published<u64>);

/// A word that its one owner changes while others read its [views](OneWord::view).
///
/// ```
/// use fibula::parts::memory::OneWord;
/// let word = OneWord::new(7);
/// let view = word.view();
/// word.set(8);
/// assert_eq!((view.load(), word.clone().get()), (8, 8));
/// ```
#[derive(Debug)]
pub struct OneWord(OneWordView);

/// A reader's view of a [`OneWord`]. Clones read the same memory.
#[derive(Clone, Debug)]
pub struct OneWordView(Arc<Line>);

impl OneWord {
    /// Creates a word.
    #[must_use]
    pub fn new(value: u64) -> Self {
        Self(OneWordView(Arc::new(Line(Published(AtomicU64::new(value))))))
    }

    /// Returns a view of this word for readers.
    #[must_use]
    pub fn view(&self) -> OneWordView {
        self.0.clone()
    }

    /// Returns the value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load()
    }

    /// Stores a value. A reader that loads it also sees all earlier writes.
    pub fn set(&self, value: u64) {
        value.store(&self.0.0.0.0);
    }
}

/// A clone is another word with the same value.
impl Clone for OneWord {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl Deref for OneWordView {
    type Target = Published<u64>;

    #[inline(always)]
    fn deref(&self) -> &Published<u64> {
        &self.0.0
    }
}
