//! [`Meter`]: the memory accesses of a lookup, counted as it runs.

use crate::memory::{Published, Shareable};

/// The bytes of a cache line.
const LINE: usize = 64;

/// A counter that a lookup reports its accesses to.
///
/// An engine writes its scalar lookup once, for any meter. With [`Unmetered`] nothing of it remains
/// after compilation; with [`Accesses`] it counts what the papers count.
pub trait Meter {
    /// Loads one element of the structure: an entry, a word of a bit map, a node.
    fn load<T: Copy>(&mut self, place: &T) -> T;

    /// As [`load`](Meter::load), for an element that others may write meanwhile. The default loads
    /// a copy, for meters that ignore addresses.
    #[inline(always)]
    fn load_word<T: Shareable>(&mut self, place: &Published<T>) -> T {
        self.load(&T::load(place))
    }

    /// Loads an element again that others may have written meanwhile. Counts no access.
    #[inline(always)]
    fn load_again<T: Shareable>(&mut self, place: &Published<T>) -> T {
        T::load(place)
    }

    /// Records that the element loaded last also has these bytes: they are no load of their own,
    /// but may be on another cache line. The default ignores it, as meters do that count no lines.
    #[inline(always)]
    fn beside<T>(&mut self, place: &T) {
        let _ = place;
    }

    /// Makes the loads of `loads` count as loads of what the paper keeps on chip. The default
    /// counts no such loads apart.
    #[inline(always)]
    fn on_chip<R>(&mut self, loads: impl FnOnce(&mut Self) -> R) -> R {
        loads(self)
    }

    /// Records that one hash of a key was computed.
    fn hash(&mut self);
}

/// Counts nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    #[inline(always)]
    fn load<T: Copy>(&mut self, place: &T) -> T {
        *place
    }

    #[inline(always)]
    fn load_word<T: Shareable>(&mut self, place: &Published<T>) -> T {
        T::load(place)
    }

    #[inline(always)]
    fn hash(&mut self) {}
}

/// The accesses of one lookup.
///
/// ```
/// use fibula::engine::{Accesses, Meter};
/// let mut accesses = Accesses::new();
/// let entries = [1_u64, 2];
/// assert_eq!(accesses.load(&entries[0]) + accesses.load(&entries[1]), 3);
/// assert_eq!((accesses.loads(), accesses.hashes()), (2, 0));
/// accesses.on_chip(|meter| meter.load(&entries[0]));
/// assert_eq!((accesses.loads(), accesses.loads_on_chip()), (3, 1));
/// assert!(accesses.lines() <= 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    loads: u32,
    /// The loads among them of what the paper keeps on chip.
    on_chip: u32,
    /// The number of loads before the first hash.
    before_hash: u32,
    hashes: u32,
    /// The cache lines touched, each once.
    lines: Vec<usize>,
}

impl Accesses {
    /// Creates an empty count.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many loads there were, repeated ones included.
    #[must_use]
    pub fn loads(&self) -> u32 {
        self.loads
    }

    /// Returns how many of the loads were of what the paper keeps on chip; 0 where a paper places
    /// nothing.
    #[must_use]
    pub fn loads_on_chip(&self) -> u32 {
        self.on_chip
    }

    /// Returns how many loads there were before the first hash was computed; all of them if none
    /// was.
    #[must_use]
    pub fn loads_before_hash(&self) -> u32 {
        self.before_hash
    }

    /// Returns how many hashes were computed.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Returns how many distinct cache lines of 64 bytes were touched.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Resets all counts, for the next lookup.
    pub fn clear(&mut self) {
        self.loads = 0;
        self.on_chip = 0;
        self.before_hash = 0;
        self.hashes = 0;
        self.lines.clear();
    }
}

impl Accesses {
    fn touch<T>(&mut self, place: &T) {
        self.loads += 1;
        self.before_hash += u32::from(self.hashes == 0);
        self.beside(place);
    }
}

impl Meter for Accesses {
    fn beside<T>(&mut self, place: &T) {
        let first = std::ptr::from_ref(place).addr();
        for line in first / LINE..=(first + size_of::<T>().max(1) - 1) / LINE {
            if !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }

    fn on_chip<R>(&mut self, loads: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.loads - self.on_chip;
        let result = loads(self);
        self.on_chip = self.loads - before;
        result
    }

    fn load<T: Copy>(&mut self, place: &T) -> T {
        self.touch(place);
        *place
    }

    fn load_word<T: Shareable>(&mut self, place: &Published<T>) -> T {
        self.touch(place);
        T::load(place)
    }

    fn hash(&mut self) {
        self.hashes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u32; 32]);

    #[test]
    fn a_line_is_counted_once_and_a_wide_entry_on_every_line_it_touches() {
        let Aligned(words) = &Aligned(std::array::from_fn(|at| at as u32));
        let mut accesses = Accesses::new();
        assert_eq!(accesses.load(&words[3]) + accesses.load(&words[15]), 18);
        assert_eq!((accesses.loads(), accesses.lines()), (2, 1));
        let across: &[u32; 4] = words[14..18].try_into().unwrap();
        assert_eq!(accesses.load(across), [14, 15, 16, 17]);
        assert_eq!((accesses.loads(), accesses.lines()), (3, 2));
        accesses.beside(&words[16]);
        assert_eq!((accesses.loads(), accesses.lines()), (3, 2));
        accesses.beside(across);
        assert_eq!((accesses.loads(), accesses.lines()), (3, 2));
        accesses.hash();
        accesses.load(&words[0]);
        assert_eq!((accesses.loads(), accesses.loads_before_hash(), accesses.hashes()), (4, 3, 1));
        accesses.clear();
        assert_eq!((accesses.loads(), accesses.hashes(), accesses.lines()), (0, 0, 0));
    }
}
