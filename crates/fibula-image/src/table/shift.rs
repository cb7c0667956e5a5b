//! [`Shift`]: several tables in the same arrays.

use super::{CHAIN, CHAINS, ENDS, LEAVES, NODES, NUMBER, PARTS, POINTS, ROOT};
use fibula::Limit;

/// Moves a table behind others that share its arrays: each number in its entries grows by the
/// blocks of that part before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    blocks: [u32; PARTS],
}

impl Shift {
    /// Makes a shift by these numbers of blocks ([`Image::blocks`](crate::Image::blocks)) of each
    /// part, for a table that ends before block `ends` of it. Nothing points to entries of the
    /// root: their number is not used.
    ///
    /// # Errors
    /// If an entry could not hold a number below `ends`.
    pub fn new(blocks: [u64; PARTS], ends: [u64; PARTS]) -> Result<Self, Limit> {
        let greatest = ends[ROOT + 1..].iter().copied().fold(0, Ord::max);
        Limit::check("blocks", greatest, u64::from(NUMBER) + 1)?;
        Ok(Self { blocks: blocks.map(|blocks| (blocks & u64::from(NUMBER)) as u32) })
    }

    /// Returns the words of a piece of a part, moved. The piece begins with a whole block, or entry
    /// of the root.
    #[must_use]
    pub fn words(self, part: usize, bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> {
        // Which words of a block are entries: all, none, or the last of a chain.
        let (every, at) = match part {
            ROOT | NODES => (1, 0),
            CHAINS => (4, 3),
            _ => (usize::MAX, usize::MAX),
        };
        let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        words.enumerate().map(move |(index, word)| if index % every == at { self.entry(word) } else { word })
    }

    fn entry(self, entry: u32) -> u32 {
        let [_, nodes, leaves, chains, ends] = self.blocks;
        entry
            + match entry & ENDS {
                POINTS => nodes,
                ENDS => ends,
                kind if kind == POINTS | LEAVES => leaves,
                kind if kind == POINTS | CHAIN => chains,
                _ => 0,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_move_by_what_they_point_to_and_answers_stay() {
        let shift = Shift::new([1, 0x10, 0x20, 0x30, 0x40], [100; PARTS]).unwrap();
        let entries = [7, POINTS | 7, POINTS | LEAVES | 7, POINTS | CHAIN | 7, ENDS | 7];
        let moved = [7, POINTS | 0x17, POINTS | LEAVES | 0x27, POINTS | CHAIN | 0x37, ENDS | 0x47];
        let bytes: Vec<u8> = entries.iter().flat_map(|entry: &u32| entry.to_le_bytes()).collect();
        for part in [ROOT, NODES] {
            assert!(shift.words(part, &bytes).eq(moved));
        }
        assert!(shift.words(2, &bytes).eq(entries), "answers are no entries");
        let chain: Vec<u8> =
            [POINTS, POINTS, POINTS, POINTS].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert!(shift.words(CHAINS, &chain).eq([POINTS, POINTS, POINTS, POINTS | 0x10]), "its entry alone");
    }

    #[test]
    fn what_no_entry_can_number_is_refused() {
        let most = 1 << 29;
        assert!(Shift::new([0; PARTS], [most; PARTS]).is_ok());
        let error = Shift::new([0; PARTS], [0, 0, 0, 0, most + 1]).unwrap_err();
        assert_eq!((error.what, error.had), ("blocks", most + 1));
    }
}
