//! Snapshots: the words of the trie and the answers of the array as they are.

use super::initial_array::InitialArray;
use super::node::Map;
use super::trie::{MAX_WORDS, Trie, WORDS};
use crate::blocks::chunks::Pool;
use crate::engine::Width;
use crate::memory::Pages;
use crate::snapshot::{SectionWriter, Sections, unsound};
use crate::{Address, Error};
use std::marker::PhantomData;

const TRIE: &str = "nodes and results";
const RESULT_WORDS: &str = "words of results";
const ANSWERS: &str = "initial answers";
const LENGTHS: &str = "initial lengths";

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// Hands its arrays to a snapshot.
    pub fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(TRIE, &self.trie.words);
        sections.number(RESULT_WORDS, self.trie.result_words as u64);
        sections.array(ANSWERS, &self.next_hops);
        sections.array(LENGTHS, &self.written_by);
    }

    /// The array and trie that [`save`](Self::save) handed over, only to be read.
    ///
    /// # Errors
    /// If a section is missing or has another size than lookups rely on.
    pub fn open(sections: &Sections<'_>, bits: u8, pages: Pages) -> Result<Self, Error> {
        let roots = 1 << bits;
        let words = sections.array(TRIE)?;
        let result_words = sections.number(RESULT_WORDS)? as usize;
        if words.len() < roots * M::WORDS || result_words > words.len() - roots * M::WORDS {
            return Err(unsound(TRIE, "does not hold a root for each entry"));
        }
        let trie = Trie {
            words: Pool::holding(words, WORDS, 0),
            roots,
            result_words,
            max_words: MAX_WORDS,
            pages,
            kind: PhantomData,
        };
        Ok(Self {
            bits,
            trie,
            next_hops: sections.array_of(ANSWERS, roots)?,
            written_by: sections.array_of(LENGTHS, roots)?,
            family: PhantomData,
        })
    }
}
