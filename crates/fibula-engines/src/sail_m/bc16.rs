//! [`Bc16`]: the bit map and the chunk ids of level 16 in one array, 17 bits a node.

use super::NODES16;
use fibula::engine::{Meter, Unmetered};
use fibula::parts::memory::{Array, Pages};

/// The bits of an entry.
pub(super) const BITS: usize = 17;

/// The bits of an entry, set.
const MASK: u32 = (1 << BITS) - 1;

/// The bytes of all entries.
const BYTES: usize = NODES16 * BITS / 8;

/// The bytes that hold an entry, from an even byte on.
const WINDOW: usize = 4;

/// An entry: bit 16 is B16, the bits below it are C16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    /// The node holds answers.
    pub(super) const ANSWER: Self = Self(1 << 16);

    /// Returns the entry of an internal node.
    pub(super) fn internal(chunk: u16) -> Self {
        Self(chunk.into())
    }

    /// Returns whether the node holds answers.
    #[inline(always)]
    pub(super) fn is_answer(self) -> bool {
        self.0 >> 16 & 1 != 0
    }

    /// Returns the chunk below the node, which must be internal.
    #[inline(always)]
    pub(super) fn chunk(self) -> u16 {
        self.0 as u16
    }
}

/// The entries of all nodes of level 16, without gaps: that of node `i` begins at bit 17 × `i`.
#[derive(Clone, Debug)]
pub(super) struct Bc16(Array<u8>);

impl Bc16 {
    /// Returns entries that all say [`Entry::ANSWER`].
    pub(super) fn new(pages: Pages) -> Self {
        let mut entries = Self(Array::filled(0, BYTES, pages));
        (0..NODES16).for_each(|node| entries.set(node, Entry::ANSWER));
        entries
    }

    /// Loads the entry of a node: one load, as the entry and its neighbours are in one window.
    #[inline(always)]
    pub(super) fn load(&self, node: usize, meter: &mut impl Meter) -> Entry {
        let (at, shift) = window(node);
        let bytes: &[u8; BYTES] = self.0.first_chunk().expect("the entries of all nodes");
        let window = bytes[at..].first_chunk::<WINDOW>().expect("no window is past the end");
        Entry(u32::from_le_bytes(meter.load(window)) >> shift & MASK)
    }

    /// Returns the entry of a node.
    pub(super) fn get(&self, node: usize) -> Entry {
        self.load(node, &mut Unmetered)
    }

    /// Writes the entry of a node.
    pub(super) fn set(&mut self, node: usize, entry: Entry) {
        let (at, shift) = window(node);
        let window = self.0[at..].first_chunk_mut::<WINDOW>().expect("no window is past the end");
        let others = u32::from_le_bytes(*window) & !(MASK << shift);
        *window = (others | entry.0 << shift).to_le_bytes();
    }

    /// Returns the bytes it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// Returns the first byte of the window that holds the entry of a node, and the entry's first bit
/// in it. Bit 17 `i` is bit `i` mod 16 of the 16-bit word `i` + `i` / 16. No window of two words is
/// past the end.
#[inline(always)]
fn window(node: usize) -> (usize, usize) {
    (2 * (node + node / 16), node % 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_apart_from_their_neighbours() {
        let mut entries = Bc16::new(Pages::Small);
        let chunk = |node: usize| (node as u16).wrapping_mul(0x9E37);
        let internal = |node: usize| node % 3 != 1;
        for node in (0..NODES16).filter(|&node| internal(node)) {
            entries.set(node, Entry::internal(chunk(node)));
        }
        for node in 0..NODES16 {
            let expected = if internal(node) { Entry::internal(chunk(node)) } else { Entry::ANSWER };
            assert_eq!(entries.get(node), expected, "node {node}");
        }
        (0..NODES16).for_each(|node| entries.set(node, Entry::ANSWER));
        assert_eq!(entries.0[..], Bc16::new(Pages::Small).0[..]);
        assert_eq!(entries.bytes(), (1 << 16) * 17 / 8);
    }
}
