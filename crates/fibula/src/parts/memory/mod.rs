//! Arrays laid out for lookups: aligned to cache lines, on huge pages if asked for, and counted by
//! part.

mod array;
mod huge_pages;
mod mapping;
mod one_word;
#[cfg(test)]
pub(crate) mod recorded;
mod usage;
mod words;

pub use array::{Array, CACHE_LINE, Pages};
pub use mapping::Mapping;
pub use one_word::{OneWord, OneWordView};
pub use usage::{Memory, Part};
pub(crate) use words::flattened;
pub use words::word_around;
pub use words::{Around, Published, Shareable, Word, Words, WordsView};
