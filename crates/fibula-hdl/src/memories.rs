//! [`Memories`]: the words that the hardware holds, and the writes that change them.

/// The bits of a word of a bit map.
pub(crate) const MAP_WORD: u32 = 64;

/// One write: a word of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The number of the memory: the level of a table on chip, [`NEAR`](crate::NEAR) or
    /// [`FAR`](crate::FAR).
    pub memory: u8,
    /// The index of the word in that memory.
    pub index: u32,
    /// The new contents.
    pub data: u64,
}

/// Neighbouring words with the same contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first word.
    pub first: Word,
    /// The number of words, at least 1.
    pub count: u32,
}

/// The contents of all memories of a pipeline. They begin as zeros, as in the hardware.
#[derive(Clone, Debug, Default)]
pub struct Memories {
    /// The words by the number of their memory; empty where the pipeline has none of that number.
    words: Vec<Vec<u64>>,
}

impl Memories {
    /// Creates memories of zeros, from pairs of number and length in words.
    #[must_use]
    pub fn new(lengths: &[(u8, usize)]) -> Self {
        let mut words = vec![Vec::new(); usize::from(crate::FAR) + 1];
        for &(memory, length) in lengths {
            words[usize::from(memory)] = vec![0; length];
        }
        Self { words }
    }

    /// Writes a word.
    ///
    /// # Panics
    /// If the pipeline has no such word.
    pub fn write(&mut self, word: Word) {
        self.words[usize::from(word.memory)][word.index as usize] = word.data;
    }

    /// Returns all words that are not zero, as runs of equal neighbours.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.words.iter().zip(0..).flat_map(|(words, memory)| {
            let mut index = 0;
            let runs = words.chunk_by(|a, b| a == b).map(move |run| {
                let first = Word { memory, index, data: run[0] };
                index += run.len() as u32;
                Run { first, count: run.len() as u32 }
            });
            runs.filter(|run| run.first.data != 0)
        })
    }
}

/// What a lookup reads. An implementation may count or record the reads.
pub trait Read {
    /// Returns a word.
    ///
    /// # Panics
    /// If the pipeline has no such word.
    fn read(&self, memory: u8, index: u32) -> u64;

    /// Returns bit `index` of a bit map.
    ///
    /// # Panics
    /// If the pipeline has no such bit.
    fn bit(&self, memory: u8, index: u32) -> bool {
        self.read(memory, index / MAP_WORD) >> (index % MAP_WORD) & 1 == 1
    }
}

impl Read for Memories {
    fn read(&self, memory: u8, index: u32) -> u64 {
        self.words[usize::from(memory)][index as usize]
    }
}

/// Memories, and the words written to them since they were last taken.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) memories: Memories,
    written: Vec<Word>,
}

impl Writer {
    pub(crate) fn new(memories: Memories) -> Self {
        Self { memories, written: Vec::new() }
    }

    /// Writes a word, if its contents change.
    pub(crate) fn set(&mut self, memory: u8, index: u32, data: u64) {
        if self.memories.read(memory, index) != data {
            let word = Word { memory, index, data };
            self.memories.write(word);
            self.written.push(word);
        }
    }

    /// Writes the word of a bit map that holds bit `index`, if that bit changes.
    pub(crate) fn set_bit(&mut self, memory: u8, index: u32, value: bool) {
        let (word, bit) = (index / MAP_WORD, 1 << (index % MAP_WORD));
        let rest = self.memories.read(memory, word) & !bit;
        self.set(memory, word, rest | if value { bit } else { 0 });
    }

    /// Returns what was written since the last call, in order.
    pub(crate) fn take(&mut self) -> Vec<Word> {
        std::mem::take(&mut self.written)
    }
}
