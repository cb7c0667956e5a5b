//! The root: a tile number for each /18, of 16 bits as long as they suffice.

use super::SLOTS;
use crate::memory::{Pages, Published, Word, Words, WordsView};

/// An integer type that holds tile numbers.
pub(crate) trait TileNumber: Word + Eq {
    /// Returns the number as an index.
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
    Narrow(Words<u16>),
    Wide(Words<u32>),
}

/// The root as lookups read it.
#[derive(Clone, Debug)]
pub(super) enum RootView {
    Narrow(WordsView<u16>),
    Wide(WordsView<u32>),
}

/// Returns the slots as an array of known size, so that no 18-bit index needs a bounds check.
#[inline(always)]
pub(super) fn sized<T: Word>(root: &WordsView<T>) -> &[Published<T>; SLOTS] {
    root[..].try_into().expect("one number a slot")
}

impl Root {
    /// The tiles that a narrow root can tell apart.
    const NARROW: usize = 1 << 16;

    /// The tile numbers that must be spare before a root becomes narrow again.
    const SPARE: usize = Self::NARROW / 32;

    pub(super) fn filled(tile: u32, pages: Pages) -> Self {
        Self::Narrow(filled(pages, |_| tile as u16))
    }

    /// Returns the view that lookups read.
    pub(super) fn view(&self) -> RootView {
        match self {
            Self::Narrow(root) => RootView::Narrow(root.view()),
            Self::Wide(root) => RootView::Wide(root.view()),
        }
    }

    /// Makes `view` show this root, if it shows another.
    pub(super) fn show_in(&self, view: &mut RootView) {
        match (self, view) {
            (Self::Narrow(root), RootView::Narrow(view)) => root.show_in(view),
            (Self::Wide(root), RootView::Wide(view)) => root.show_in(view),
            (_, view) => *view = self.view(),
        }
    }

    /// Returns the tile of `slot`.
    pub(super) fn get(&self, slot: usize) -> u32 {
        match self {
            Self::Narrow(root) => root.get(slot).into(),
            Self::Wide(root) => root.get(slot),
        }
    }

    /// Sets the tile of `slot`. O(1), or O(slots) for the first tile whose number takes more than
    /// 16 bits.
    pub(super) fn set(&mut self, slot: usize, tile: u32, pages: Pages) {
        if tile as usize >= Self::NARROW {
            self.widen(pages);
        }
        match self {
            Self::Narrow(root) => root.set(slot, tile as u16),
            Self::Wide(root) => root.set(slot, tile),
        }
    }

    /// Widens tile numbers to 32 bits.
    pub(super) fn widen(&mut self, pages: Pages) {
        if let Self::Narrow(root) = self {
            *self = Self::Wide(filled(pages, |slot| root.get(slot).into()));
        }
    }

    /// Returns the greatest number of tile numbers ever needed, where one tile takes at most
    /// `of_a_tile` of them: one tile per slot, and an eighth more for tiles that only late readers
    /// use. A narrow root caps it.
    pub(super) fn most_numbers(&self, of_a_tile: usize) -> usize {
        match self {
            Self::Narrow(_) => Self::NARROW,
            Self::Wide(_) => (SLOTS + SLOTS / 8) * of_a_tile,
        }
    }

    /// Returns the number of different tiles. O(slots).
    pub(super) fn tiles(&self) -> usize {
        let mut tiles: Vec<u32> = (0..SLOTS).map(|slot| self.get(slot)).collect();
        tiles.sort_unstable();
        tiles.dedup();
        tiles.len()
    }

    /// Gives every slot the new number of its tile. Becomes narrow if `numbers` tile numbers allow
    /// it. O(slots).
    pub(super) fn renumber(&mut self, renumbered: &[u32], numbers: usize, pages: Pages) {
        match self {
            Self::Narrow(root) => {
                (0..SLOTS).for_each(|slot| root.set(slot, renumbered[usize::from(root.get(slot))] as u16));
            }
            Self::Wide(root) => {
                (0..SLOTS).for_each(|slot| root.set(slot, renumbered[root.get(slot) as usize]));
            }
        }
        if let Self::Wide(root) = self
            && numbers + Self::SPARE <= Self::NARROW
        {
            *self = Self::Narrow(filled(pages, |slot| root.get(slot) as u16));
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
            Self::Narrow(root) => size_of_val(&root[..]),
            Self::Wide(root) => size_of_val(&root[..]),
        }
    }
}

fn filled<T: Word>(pages: Pages, number: impl Fn(usize) -> T) -> Words<T> {
    let root = Words::zeroed(SLOTS, pages);
    (0..SLOTS).for_each(|slot| root.set(slot, number(slot)));
    root
}
