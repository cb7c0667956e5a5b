//! [`Cells`]: the memory of a map, which programs read while this process writes it.
#![allow(unsafe_code, reason = "memory that the kernel's programs read is seen as atomic words")]

use crate::Error;
use aya::maps::MapData;
use memmap2::{MmapOptions, MmapRaw};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// The bytes of a cell: programs read inside one (`bpf/tables.h`).
pub(super) const CELL: usize = 64;

/// The words of a cell.
pub(super) const CELL_WORDS: usize = CELL / size_of::<u32>();

/// The mapped memory of an array map whose elements are cells.
#[derive(Debug)]
pub(super) struct Cells {
    map: MmapRaw,
}

impl Cells {
    /// Maps the memory of a map of `count` cells.
    pub(super) fn map(name: &str, data: &MapData, count: u32) -> Result<Self, Error> {
        let mapped = MmapOptions::new().len(count as usize * CELL).map_raw(&data.fd().as_fd());
        mapped.map(|map| Self { map }).map_err(|error| Error::System { what: format!("map {name}"), error })
    }

    /// Returns the number of cells.
    pub(super) fn count(&self) -> usize {
        self.map.len() / CELL
    }

    #[allow(clippy::cast_ptr_alignment, reason = "a mapping begins on a page")]
    fn words(&self) -> &[AtomicU32] {
        let words = self.map.as_mut_ptr().cast::<AtomicU32>();
        // SAFETY: the mapping has this length, begins on a page and lives as long as `self`. Its
        // memory is only accessed as atomics here, and a program never writes a word that this
        // process writes.
        unsafe { std::slice::from_raw_parts(words, self.map.len() / size_of::<u32>()) }
    }

    /// Stores words from index `first` on, each by one store. A program that loads one of them sees
    /// everything that was stored before it.
    ///
    /// # Panics
    /// If they end past the end.
    pub(super) fn store(&self, first: usize, words: impl ExactSizeIterator<Item = u32>) {
        let places = &self.words()[first..first + words.len()];
        places.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Release));
    }

    /// Returns the first `count` words.
    pub(super) fn load(&self, count: usize) -> Vec<u32> {
        self.words()[..count].iter().map(|word| word.load(Ordering::Acquire)).collect()
    }
}
