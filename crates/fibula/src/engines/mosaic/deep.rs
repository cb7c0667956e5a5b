//! The batch path of `mosaic-deep` and `mosaic-spans`: three stages for every address, and no
//! branch on what they find.
//!
//! Where a tile holds no mark, the third load reads the first answer of block 0, and a mask drops
//! it. Those loads hit one line. A branch in their place is mispredicted for every other address of
//! a table with as many marks as answers.
//!
//! The lines of tiles are prefetched, and the spans of `mosaic-spans`. A prefetch of the lines of
//! whole blocks costs an instruction for every address, and was slower on most tables
//! (docs/perf-log.md, "mosaic-deep").

use super::blocks::{Blocks, BlocksView};
use super::forms::BlockForm;
use super::root::TileNumber;
use super::tiles::Tiles;
use super::view::MosaicView;
use super::{SLOTS, place_of, slot_of};
use crate::arch::prefetch;
use crate::blocks::pipeline::{self, Stages};
use crate::engine::Unmetered;
use crate::memory::Published;

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses of each block of a short batch.
const SHORT_BLOCK: usize = 8;

/// The stages: root, tiles, what is below marks.
const STAGES: usize = 3;

/// A table and its root, in the root's width.
struct Deep<'e, T: TileNumber, F: Tiles<u32>, P: BlockForm> {
    table: &'e MosaicView<P::Answer, F, Blocks<P>>,
    root: &'e [Published<T>; SLOTS],
}

impl<T: TileNumber, F: Tiles<u32>, P: BlockForm> Stages<u32, P::Answer, STAGES> for Deep<'_, T, F, P> {
    /// For each address where to begin reading in the tiles, then the entry found there.
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
        found: &mut [u32; N],
        next_hops: &mut [P::Answer; N],
    ) {
        let tiles = &self.table.tiles[..];
        match stage {
            0 => {
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    found[at] = F::begin(tile, place_of(addresses[at]));
                    prefetch(tiles, F::first_word(found[at]));
                }
            }
            1 => {
                for at in 0..N {
                    found[at] = F::answer(tiles, found[at], place_of(addresses[at]), &mut Unmetered);
                    if P::IS_PREFETCHED {
                        let begin = BlocksView::<P>::begin_or_0(found[at], addresses[at]);
                        prefetch(self.table.below.words(), begin as usize);
                    }
                }
            }
            _ => {
                let words = self.table.below.words();
                for at in 0..N {
                    let (entry, address) = (found[at], addresses[at]);
                    let begin = BlocksView::<P>::begin_or_0(entry, address);
                    let below = P::answer(words, begin, address, &mut Unmetered);
                    next_hops[at] = BlocksView::<P>::choose(entry, below);
                }
            }
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> P::Answer {
        self.table.lookup_one::<T>(self.root, address, &mut Unmetered)
    }
}

/// Looks up all addresses.
#[inline(always)]
pub(super) fn look_up<T: TileNumber, F: Tiles<u32>, P: BlockForm>(
    table: &MosaicView<P::Answer, F, Blocks<P>>,
    root: &[Published<T>; SLOTS],
    addresses: &[u32],
    next_hops: &mut [P::Answer],
) {
    pipeline::look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(&Deep { table, root }, addresses, next_hops);
}
