//! Snapshots: the roots of the array and the words of the trie as they are.

use super::initial_array::InitialArray;
use super::node::Map;
use super::trie::{MAX_WORDS, Trie, WORDS};
use crate::blocks::chunks::SharedPool;
use crate::engine::Width;
use crate::memory::{Pages, Words};
use crate::snapshot::{SectionWriter, Sections, unsound};
use crate::{Address, Error};
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const ROOTS: &str = "initial array";
const TRIE: &str = "nodes and results";
const RESULT_WORDS: &str = "words of results";
const LENGTHS: &str = "initial lengths";

impl<A: Address, W: Width, M: Map<Root: IntoBytes + FromBytes + Immutable>> InitialArray<A, W, M> {
    /// Hands its arrays to a snapshot.
    pub fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made(ROOTS, &self.roots.to_vec());
        sections.made(TRIE, &self.trie.words.to_vec());
        sections.number(RESULT_WORDS, self.trie.result_words as u64);
        sections.array(LENGTHS, &self.written_by);
    }

    /// The array and trie that [`save`](Self::save) handed over, only to be read.
    ///
    /// # Errors
    /// If a section is missing or has another size than lookups rely on.
    pub fn open(sections: &Sections<'_>, bits: u8, pages: Pages) -> Result<Self, Error> {
        let words = sections.array(TRIE)?;
        let result_words = sections.number(RESULT_WORDS)? as usize;
        if words.len() < M::WORDS || result_words > words.len() - M::WORDS {
            return Err(unsound(TRIE, "does not hold its results and the node that is nobody's"));
        }
        let trie = Trie {
            words: SharedPool::reading(words, WORDS, 0),
            result_words,
            max_words: MAX_WORDS,
            pages,
            kind: PhantomData,
        };
        Ok(Self {
            bits,
            trie,
            roots: Words::holding(sections.array_of(ROOTS, 1 << bits)?),
            written_by: sections.array_of(LENGTHS, 1 << bits)?,
            family: PhantomData,
        })
    }
}
