//! What is printed of a compiled table.

use super::Mosaic6;
use super::build::words_of;
use super::word::{Word, array_cells};
use crate::engine::{Figure, Width};

/// Blocks of one kind.
#[derive(Default)]
struct Count {
    blocks: usize,
    cells: usize,
}

impl Count {
    fn add(&mut self, cells: usize) {
        self.blocks += 1;
        self.cells += cells;
    }

    fn figures(&self, blocks: &'static str, cells: &'static str) -> [Figure; 2] {
        [Figure::count(blocks, self.blocks), Figure::count(cells, self.cells)]
    }
}

impl<W: Width> Mosaic6<W> {
    /// How many blocks of each kind there are, what they occupy and how deep they lie. O(words).
    pub(super) fn count_blocks(&self) -> Vec<Figure> {
        let (mut arrays, mut buckets) = (Count::default(), Count::default());
        let (mut beyond, mut deepest) = (0, 0);
        let mut ahead: Vec<(u32, usize)> = self.root.to_vec().into_iter().map(|word| (word, 0)).collect();
        while let Some((word, depth)) = ahead.pop() {
            deepest = deepest.max(depth);
            match Word::unpack(word) {
                Word::Answer(_) => {}
                Word::Beyond { .. } => beyond += 1,
                Word::Bucket { cells, .. } => buckets.add(cells),
                Word::Array { stride, base } => {
                    let cells = array_cells(stride);
                    arrays.add(cells);
                    ahead.extend(words_of(&self.blocks, base, cells).map(|word| (word, depth + 1)));
                }
            }
        }
        let rest = [
            Figure::count("words with longer routes", beyond),
            Figure::count("arrays in the longest way", deepest),
        ];
        let arrays = arrays.figures("arrays", "cells of arrays");
        let buckets = buckets.figures("buckets", "cells of buckets");
        arrays.into_iter().chain(buckets).chain(rest).collect()
    }
}
