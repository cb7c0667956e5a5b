//! [`Places`]: which chunk of answers each /24 with more-specific routes has.
//!
//! Every table has the same hash, so [`Places::iter`] yields the entries of one table in the order
//! of their home slots in another. Entries in that order fill a table that is too small from its
//! front: each search passes all that came before it. So whoever copies a table into another
//! [reserves](Places::reserve) the room first.

use crate::engine::{Meter, Unmetered};
use crate::memory::{Pages, Published, Words};

/// The word of a removed entry. A search continues past it.
const GONE: u64 = u64::MAX;

/// A hash table of one word per entry, so that each change is one store. The word holds the number
/// of the /24, then the index of its chunk plus one.
///
/// A search goes from an entry's home slot to the first word of zeros. Entries never move while
/// other threads read.
#[derive(Clone, Debug)]
pub(super) struct Places {
    words: Words<u64>,
    entries: usize,
    gone: usize,
}

/// Returns the home slot of a number in a table of `len` words: the high bits of its MurmurHash3
/// (x86, 32 bits).
#[inline(always)]
fn home(number: u32, len: usize) -> usize {
    let block = number.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
    let hash = block.rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64) ^ 4;
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85EB_CA6B);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
    ((u64::from(hash ^ hash >> 16) * len as u64) >> 32) as usize
}

fn entry(number: u32, chunk: u32) -> u64 {
    u64::from(number) << 32 | u64::from(chunk + 1)
}

/// Returns the chunk of the /24 with this `number` in a table that consists of `words`.
#[inline(always)]
pub(super) fn find(words: &[Published<u64>], number: u32, meter: &mut impl Meter) -> Option<u32> {
    let mut at = home(number, words.len());
    loop {
        let word = meter.load_word::<u64>(&words[at]);
        if word >> 32 == u64::from(number) && word as u32 != 0 {
            return Some(word as u32 - 1);
        }
        if word == 0 {
            return None;
        }
        at = if at + 1 < words.len() { at + 1 } else { 0 };
    }
}

impl Places {
    /// Returns an empty table, sized to be half full with `entries` entries.
    pub(super) fn with_room_for(entries: usize, pages: Pages) -> Self {
        Self { words: Words::zeroed(2 * entries.max(4), pages), entries: 0, gone: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Returns the number of entries that may be added before searches become long.
    pub(super) fn room(&self) -> usize {
        (self.words.len() / 3 * 2).saturating_sub(self.entries + self.gone)
    }

    /// Returns the chunk of the /24 with this `number`.
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        find(&self.words, number, &mut Unmetered)
    }

    /// Returns the words of the table, which [`find`] searches.
    pub(super) fn words(&self) -> &Words<u64> {
        &self.words
    }

    /// Makes room for `more` entries. Where that takes another table, it has room for an eighth
    /// more.
    pub(super) fn reserve(&mut self, more: usize, pages: Pages) {
        if self.room() < more {
            *self = self.resized(self.entries + more.max(self.entries / 8 + 8), pages, |chunk| chunk);
        }
    }

    /// Sets the chunk of the /24 with this `number` and returns its previous chunk. The table must
    /// have room. `meter` counts the words that are read.
    pub(super) fn set(&mut self, number: u32, chunk: u32, meter: &mut impl Meter) -> Option<u32> {
        if let Some(at) = self.position(number, meter) {
            let before = self.words.get(at) as u32 - 1;
            self.words.set(at, entry(number, chunk));
            return Some(before);
        }
        let at = self.search(number, |word| word == 0 || word == GONE, meter);
        self.gone -= usize::from(self.words.get(at) == GONE);
        self.words.set(at, entry(number, chunk));
        self.entries += 1;
        None
    }

    /// Removes the /24 with this `number` and returns its chunk.
    pub(super) fn remove(&mut self, number: u32) -> Option<u32> {
        let at = self.position(number, &mut Unmetered)?;
        let chunk = self.words.get(at) as u32 - 1;
        self.words.set(at, GONE);
        self.entries -= 1;
        self.gone += 1;
        Some(chunk)
    }

    /// Returns a table of the same entries with room for `entries`, their chunks renumbered.
    pub(super) fn resized(&self, entries: usize, pages: Pages, renumbered: impl Fn(u32) -> u32) -> Self {
        let mut resized = Self::with_room_for(entries.max(self.entries), pages);
        for (number, chunk) in self.iter() {
            resized.set(number, renumbered(chunk), &mut Unmetered);
        }
        resized
    }

    /// Iterates over the /24s and their chunks, in the order of their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let words = (0..self.words.len()).map(|at| self.words.get(at));
        words.filter(|&word| word != 0 && word != GONE).map(|word| ((word >> 32) as u32, word as u32 - 1))
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// Checks the counts, and that every entry can be found.
    pub(super) fn validate(&self) -> Result<(), String> {
        if let Some((number, _)) = self.iter().find(|&(n, chunk)| self.get(n) != Some(chunk)) {
            return Err(format!("the entry of {number:#x} cannot be found"));
        }
        let gone = (0..self.words.len()).filter(|&at| self.words.get(at) == GONE).count();
        if (self.iter().count(), gone) != (self.entries, self.gone) {
            return Err(format!("{} entries and {gone} gone, not {self:?}", self.iter().count()));
        }
        Ok(())
    }

    fn position(&self, number: u32, meter: &mut impl Meter) -> Option<usize> {
        let will_do = |word| word == 0 || word != GONE && word >> 32 == u64::from(number);
        let at = self.search(number, will_do, meter);
        (self.words.get(at) != 0).then_some(at)
    }

    /// Returns the index of the first word, from the home slot on, that satisfies `will_do`.
    fn search(&self, number: u32, will_do: impl Fn(u64) -> bool, meter: &mut impl Meter) -> usize {
        let mut at = home(number, self.words.len());
        while !will_do(meter.load_word::<u64>(&self.words[at])) {
            at = if at + 1 < self.words.len() { at + 1 } else { 0 };
        }
        at
    }
}
