//! The batch path: the slots of one block of addresses while the block before reads its tiles, and two blocks later the
//! marks.

use super::root::{self, Root, TileNumber};
use super::{Mosaic, SLOTS, TILE, place_of, slot_of};
use crate::arch::prefetch;
use crate::blocks::pipeline::{Stages, look_up};
use crate::engine::{Unmetered, Width};

/// The addresses of a block, and of the blocks that a short batch makes. Blocks of 32 gave as much on the prefix trace and nine
/// tenths on random addresses.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 8;

/// The stages: root, tiles, nothing, marks. Without the stage of nothing the answers are still in the store queue when they
/// are read again, and 5 to 9 % of the throughput is gone.
const STAGES: usize = 4;

/// An engine and its root, whichever width it has.
struct View<'e, T: TileNumber, W: Width> {
    engine: &'e Mosaic<W>,
    root: &'e [T::Atomic; SLOTS],
}

impl<T: TileNumber, W: Width> Stages<u32, W, STAGES> for View<'_, T, W> {
    /// Where the answers stand among the tiles.
    type Found<const N: usize> = [u32; N];

    #[inline(always)]
    fn nothing<const N: usize>() -> [u32; N] {
        [0; N]
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        places: &mut [u32; N],
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    places[at] = (tile * TILE + place_of(addresses[at])) as u32;
                    prefetch(tiles, places[at] as usize);
                }
            }
            1 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    next_hops[at] = W::load(&tiles[places[at] as usize]);
                }
            }
            2 => {}
            _ => self.follow_marks(addresses, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.engine.look_up::<T>(self.root, address, &mut Unmetered)
    }
}

impl<T: TileNumber, W: Width> View<'_, T, W> {
    /// Replaces the marks among the answers; most blocks have none.
    #[inline(always)]
    fn follow_marks<const N: usize>(&self, addresses: &[u32; N], next_hops: &mut [W; N]) {
        let is_mark = |answer: &W| answer.widen().0 == Mosaic::<W>::MARK;
        if next_hops.iter().fold(false, |any, answer| any | is_mark(answer)) {
            for (address, answer) in addresses.iter().zip(next_hops) {
                if is_mark(answer) {
                    *answer = self.engine.marked(*address, &mut Unmetered);
                }
            }
        }
    }
}

impl<W: Width> Mosaic<W> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        match &self.root {
            Root::Narrow(root) => self.in_blocks::<u16>(root::sized(root), addresses, next_hops),
            Root::Wide(root) => self.in_blocks::<u32>(root::sized(root), addresses, next_hops),
        }
    }

    #[inline(always)]
    fn in_blocks<T: TileNumber>(&self, root: &[T::Atomic; SLOTS], addresses: &[u32], next_hops: &mut [W]) {
        let view: View<'_, T, W> = View { engine: self, root };
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(&view, addresses, next_hops);
    }
}
