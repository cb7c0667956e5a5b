//! [`words_written`]: updates counted in words, as SAIL counts them.

use std::ops::Range;

/// Returns the number of words of `per_word` slots that contain at least one of `slots` that
/// changes: the cost of writing them where neighbours share a word. O(slots), and O(words) where
/// the first slot of each changes.
///
/// ```
/// use fibula::blocks::pushing::words_written;
/// assert_eq!(words_written(3..130, 64, |_| true), 3);
/// assert_eq!(words_written(3..130, 64, |slot| slot == 64), 1);
/// assert_eq!(words_written(64..64, 64, |_| true), 0);
/// ```
#[must_use]
pub fn words_written(slots: Range<usize>, per_word: usize, changes: impl Fn(usize) -> bool) -> u64 {
    let mut words = 0;
    let mut start = slots.start;
    while start < slots.end {
        let end = ((start / per_word + 1) * per_word).min(slots.end);
        words += u64::from((start..end).any(&changes));
        start = end;
    }
    words
}
