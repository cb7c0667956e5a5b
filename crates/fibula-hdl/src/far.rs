//! The chunks of routes longer than /24, and the numbers of what the driver allocates.

use crate::memories::Writer;
use std::collections::HashMap;
use std::fmt;

/// The error of a table that does not fit the sizes of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// What there are too many of.
    pub what: &'static str,
    /// The most that the pipeline holds.
    pub max: u64,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} {}", self.max, self.what)
    }
}

impl std::error::Error for Full {}

/// The numbers 0 to `max` - 1, of which some are in use.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    what: &'static str,
    free: Vec<u32>,
    unused: u32,
    max: u32,
}

impl Numbers {
    pub(crate) fn new(what: &'static str, bits: u32) -> Self {
        Self { what, free: Vec::new(), unused: 0, max: 1 << bits }
    }

    /// Allocates a number.
    pub(crate) fn allocate(&mut self) -> Result<u32, Full> {
        if let Some(number) = self.free.pop() {
            return Ok(number);
        }
        if self.unused == self.max {
            return Err(Full { what: self.what, max: self.max.into() });
        }
        self.unused += 1;
        Ok(self.unused - 1)
    }

    /// Returns the bits of the numbers that were ever in use at once.
    pub(crate) fn bits(&self) -> u32 {
        self.unused.max(2).next_power_of_two().trailing_zeros()
    }

    /// Frees a number.
    pub(crate) fn free(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// The answers of the 256 addresses of a /24.
pub(crate) type Answers = [u32; 256];

/// One chunk of 256 answers for each /24 with more-specific routes.
#[derive(Clone, Debug)]
pub(crate) struct Far {
    memory: u8,
    chunks: HashMap<u32, u32>,
    numbers: Numbers,
}

impl Far {
    pub(crate) fn new(memory: u8, bits: u32) -> Self {
        Self {
            memory,
            chunks: HashMap::new(),
            numbers: Numbers::new("chunks of routes longer than /24", bits),
        }
    }

    /// Returns the bits of the number of a chunk.
    pub(crate) fn bits(&self) -> u32 {
        self.numbers.bits()
    }

    /// Writes the answers of a /24 to its chunk, and returns the number of the chunk. A new chunk
    /// is reached by no lookup until the caller writes what leads to it.
    pub(crate) fn fill(&mut self, writer: &mut Writer, slot: u32, answers: &Answers) -> Result<u32, Full> {
        let chunk = match self.chunks.get(&slot) {
            Some(&chunk) => chunk,
            None => self.numbers.allocate()?,
        };
        self.chunks.insert(slot, chunk);
        for (low, &answer) in (0..).zip(answers) {
            writer.set(self.memory, chunk << 8 | low, answer.into());
        }
        Ok(chunk)
    }

    /// Frees the chunk of a /24, if it has one. No lookup that enters from now on may reach it.
    pub(crate) fn free(&mut self, slot: u32) {
        if let Some(chunk) = self.chunks.remove(&slot) {
            self.numbers.free(chunk);
        }
    }
}
