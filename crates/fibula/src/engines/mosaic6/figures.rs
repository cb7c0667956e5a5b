//! The figures printed of a compiled table.

use super::word::{Word, array_cells};
use super::{Mosaic6, STEPS};
use crate::engine::{Figure, Width};

impl<W: Width> Mosaic6<W> {
    /// Counts the blocks of each kind, their bytes and their depths. O(words).
    pub(super) fn count_blocks(&self) -> Vec<Figure> {
        let (mut arrays, mut cells, mut buckets, mut slots, mut beyond) = (0, 0, 0, 0, 0);
        let (mut deepest, mut detours) = (0, 0);
        let mut ahead: Vec<(u32, usize)> = self.root.to_vec().into_iter().map(|word| (word, 0)).collect();
        while let Some((word, depth)) = ahead.pop() {
            deepest = deepest.max(depth);
            match Word::unpack(word) {
                Word::Answer(_) => {}
                Word::Bucket { spot, longer } => {
                    buckets += 1;
                    beyond += usize::from(longer);
                    slots += self.blocks.lines.pairs(spot).count();
                }
                Word::Array { stride, base } => {
                    arrays += 1;
                    detours += usize::from(depth >= STEPS);
                    cells += array_cells(stride);
                    ahead.extend(self.blocks.words(base, array_cells(stride)).map(|word| (word, depth + 1)));
                }
            }
        }
        vec![
            Figure::count("arrays", arrays),
            Figure::count("cells of arrays", cells),
            Figure::count("buckets", buckets),
            Figure::count("slots of buckets", slots),
            Figure::count("words with longer routes", beyond),
            Figure::count("arrays in the longest way", deepest),
            Figure::count("arrays that batches make a detour to", detours),
        ]
    }
}
