//! Snapshots: the roots of the array and the words of the trie as they are.

use super::initial_array::InitialArray;
use super::node::Map;
use super::view::InitialArrayView;
use crate::engine::Width;
use crate::memory::{Array, WordsView};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Address, Error};
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const ROOTS: &str = "initial array";
const TRIE: &str = "nodes and results";

impl<A: Address, W: Width, M: Map<Root: IntoBytes + FromBytes + Immutable>> InitialArray<A, W, M> {
    /// Passes its arrays to a snapshot.
    pub fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made(ROOTS, &self.roots.to_vec());
        sections.made(TRIE, &self.trie.words.to_vec());
    }

    /// Returns the view whose arrays [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If a section is missing or has another size than lookups rely on.
    pub fn open(sections: &Sections<'_>, bits: u8) -> Result<InitialArrayView<A, W, M>, Error> {
        let words: Array<u32> = sections.array(TRIE)?;
        if words.len() < M::WORDS {
            return Err(unsound(TRIE, "does not hold the node that is nobody's"));
        }
        let roots = WordsView::holding(sections.array_of(ROOTS, 1 << bits)?);
        Ok(InitialArrayView { bits, roots, words: WordsView::holding(words), kind: PhantomData })
    }
}
