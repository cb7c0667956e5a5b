//! The root: a tile number for each /18, of 16 bits as long as they suffice.

use super::SLOTS;
use crate::memory::{Array, Pages};

/// An integer that holds tile numbers.
pub(super) trait TileNumber: Copy + Eq {
    /// The number.
    fn index(self) -> usize;
}

impl TileNumber for u16 {
    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }
}

impl TileNumber for u32 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// The tile number of every slot.
#[derive(Clone, Debug)]
pub(super) enum Root {
    Narrow(Array<u16>),
    Wide(Array<u32>),
}

/// The slots with their number, so that no index of 18 bits needs a check.
#[inline(always)]
pub(super) fn sized<T: Copy>(root: &Array<T>) -> &[T; SLOTS] {
    root[..].try_into().expect("one number a slot")
}

impl Root {
    /// How many tiles a narrow root can tell apart.
    const NARROW: usize = 1 << 16;

    /// A root that becomes narrow again has so many numbers to spare.
    const SPARE: usize = Self::NARROW / 32;

    pub(super) fn filled(tile: u32, pages: Pages) -> Self {
        Self::Narrow(Array::filled(tile as u16, SLOTS, pages))
    }

    /// The tile of a slot.
    pub(super) fn get(&self, slot: usize) -> u32 {
        match self {
            Self::Narrow(root) => root[slot].into(),
            Self::Wide(root) => root[slot],
        }
    }

    /// Gives a slot another tile. O(1), or O(slots) where that is the first whose number takes more than 16 bits.
    pub(super) fn set(&mut self, slot: usize, tile: u32, pages: Pages) {
        match self {
            Self::Narrow(root) => {
                if let Ok(tile) = u16::try_from(tile) {
                    root[slot] = tile;
                } else {
                    let mut wide = Array::new(pages);
                    wide.set_capacity(SLOTS);
                    root.iter().for_each(|&tile| wide.push(u32::from(tile)));
                    wide[slot] = tile;
                    *self = Self::Wide(wide);
                }
            }
            Self::Wide(root) => root[slot] = tile,
        }
    }

    /// Gives every slot the new number of its tile, and is narrow if the number of tiles lets it. O(slots).
    pub(super) fn renumber(&mut self, renumbered: &[u32], pages: Pages) {
        match self {
            Self::Narrow(root) => {
                root.iter_mut().for_each(|tile| *tile = renumbered[usize::from(*tile)] as u16);
            }
            Self::Wide(root) => root.iter_mut().for_each(|tile| *tile = renumbered[*tile as usize]),
        }
        let tiles = renumbered.iter().filter(|&&number| number != u32::MAX).count();
        if let Self::Wide(root) = self
            && tiles + Self::SPARE <= Self::NARROW
        {
            let mut narrow = Array::new(pages);
            narrow.set_capacity(SLOTS);
            root.iter().for_each(|&tile| narrow.push(tile as u16));
            *self = Self::Narrow(narrow);
        }
    }

    pub(super) fn number_bits(&self) -> usize {
        match self {
            Self::Narrow(_) => 16,
            Self::Wide(_) => 32,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(root) => root.bytes(),
            Self::Wide(root) => root.bytes(),
        }
    }
}
