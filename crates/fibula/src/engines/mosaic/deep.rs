//! The batch path of `mosaic-deep` and `mosaic-spans`: three loads for every address, and no branch
//! on what they find.
//!
//! Where a tile holds no mark, the third load reads the first answer of block 0, and a mask drops
//! it. Those loads hit one line. A branch in their place is mispredicted for every other address of
//! a table with as many marks as answers.
//!
//! Where the near caches hold the tables, instructions are what limits the speed. So a stage loads
//! and stores one number after the other and does nothing else with it, and the next stage turns
//! the numbers of its whole block, vector by vector, into where to read next. In the same stage a
//! vector would wait until the numbers have left the store queue.
//!
//! The lines of tiles that are not [`NEAR`] are prefetched, and the first span of each block of
//! `mosaic-spans`: most have one, and to find the right one of several costs eight instructions
//! more. A prefetch of the lines of whole blocks costs an instruction for every address, and was
//! slower on most tables (docs/perf-log.md, "mosaic-deep").

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

/// The most bytes of tiles that are not prefetched. The processor has enough loads of them under
/// way by itself, and each prefetch is an instruction more.
const NEAR: usize = 4 << 20;

/// The stages: root, tiles, what is below marks, the choice between both.
const STAGES: usize = 4;

/// A table and its root, in the root's width.
struct Deep<'e, T: TileNumber, F: Tiles<u32>, P: BlockForm> {
    table: &'e MosaicView<P::Answer, F, Blocks<P>>,
    root: &'e [Published<T>; SLOTS],
    /// Whether the tiles are prefetched.
    is_far: bool,
}

impl<T: TileNumber, F: Tiles<u32>, P: BlockForm> Stages<u32, P::Answer, STAGES> for Deep<'_, T, F, P> {
    /// For each address the number of its tile, then the entry found in it.
    type Found<const N: usize> = [u32; N];

    #[inline(always)]
    fn nothing<const N: usize>() -> [u32; N] {
        [0; N]
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut [u32; N],
        next_hops: &mut [P::Answer; N],
    ) {
        let (tiles, words) = (&self.table.tiles[..], self.table.below.words());
        match stage {
            0 => {
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    found[at] = tile as u32;
                    if self.is_far {
                        prefetch(tiles, F::first_word(F::begin(tile, place_of(addresses[at]))));
                    }
                }
            }
            1 => {
                for at in 0..N {
                    found[at] = F::begin(found[at] as usize, place_of(addresses[at]));
                }
                for at in 0..N {
                    found[at] = F::answer(tiles, found[at], place_of(addresses[at]), &mut Unmetered);
                    if P::IS_PREFETCHED {
                        // Of an answer, the line is one that nobody reads.
                        prefetch(words, (found[at] & P::NUMBER) as usize * P::UNIT);
                    }
                }
            }
            2 => {
                let mut begins = [0; N];
                for at in 0..N {
                    begins[at] = BlocksView::<P>::begin_or_0(found[at], addresses[at]);
                }
                for at in 0..N {
                    next_hops[at] = P::answer(words, begins[at], addresses[at], &mut Unmetered);
                }
            }
            _ => {
                for at in 0..N {
                    next_hops[at] = BlocksView::<P>::choose(found[at], next_hops[at]);
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
    let is_far = size_of_val(&table.tiles[..]) > NEAR;
    let deep = Deep { table, root, is_far };
    pipeline::look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(&deep, addresses, next_hops);
}
