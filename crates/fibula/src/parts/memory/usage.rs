//! [`Memory`]: the bytes a structure occupies, part by part.

/// One named part of a structure and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The paper's name of the part.
    pub name: &'static str,
    /// Its size in bytes, unused capacity included.
    pub bytes: usize,
    /// Whether the paper keeps this part in on-chip memory and others off chip, as SAIL does.
    /// Papers that trust in the cache place nothing.
    pub on_chip: bool,
}

/// The bytes an engine occupies, in the parts its paper names.
///
/// ```
/// use fibula::parts::memory::Memory;
/// let memory = Memory::new().on_chip("BCN16", 131_072).off_chip("N32", 4096);
/// assert_eq!((memory.total(), memory.total_on_chip()), (135_168, 131_072));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The parts, in the order a lookup meets them.
    pub parts: Vec<Part>,
}

impl Memory {
    /// Creates an empty list of parts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part that the paper keeps on chip.
    #[must_use]
    pub fn on_chip(mut self, name: &'static str, bytes: usize) -> Self {
        self.parts.push(Part { name, bytes, on_chip: true });
        self
    }

    /// Adds a part that the paper keeps in ordinary memory, or does not place.
    #[must_use]
    pub fn off_chip(mut self, name: &'static str, bytes: usize) -> Self {
        self.parts.push(Part { name, bytes, on_chip: false });
        self
    }

    /// Returns the bytes of all parts.
    #[must_use]
    pub fn total(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the bytes of the parts the paper keeps on chip.
    #[must_use]
    pub fn total_on_chip(&self) -> usize {
        self.parts.iter().filter(|part| part.on_chip).map(|part| part.bytes).sum()
    }
}
