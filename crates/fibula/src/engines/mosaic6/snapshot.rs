//! Snapshots: root, arrays and lines as they are in memory, and those of the routes longer than
//! /48.

use super::word::as_array;
use super::{Mosaic6, Mosaic6View, ROOT_BITS};
use crate::Error;
use crate::blocks::fallback::FallbackView;
use crate::blocks::levels::check_levels;
use crate::engine::{Config, Persist, Width};
use crate::engines::terrace::{Names, TerraceView};
use crate::memory::{Shareable, WordsView, flattened};
use crate::sections::{SectionWriter, Sections, unsound};
use std::cell::RefCell;
use std::sync::Arc;

const ARRAYS: &str = "arrays";
const LONGER: Names =
    Names { lines: "longer routes", root: "longer routes' root", marked: "longer routes' marks" };

impl<W: Width> Persist<u128> for Mosaic6<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("root", &self.root.to_vec());
        sections.made(ARRAYS, &self.blocks.arrays.to_vec());
        sections.made("lines", &self.blocks.lines.to_vec());
        self.view.longer.save_as(LONGER, sections);
        self.fallback.save(sections);
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<Mosaic6View<W>, Error> {
        let view = Mosaic6View {
            root: WordsView::holding(sections.array_of("root", 1 << ROOT_BITS)?),
            arrays: WordsView::holding(sections.array(ARRAYS)?),
            lines: WordsView::holding(sections.array("lines")?),
            longer: Arc::new(TerraceView::open_as(LONGER, sections)?),
            fallback: FallbackView::open(sections)?,
        };
        view.check_levels()?;
        Ok(view)
    }
}

/// The most arrays that an address goes through: each takes at least one of 32 bits.
const ARRAYS_MAX: u8 = 32;

impl<W: Width> Mosaic6View<W> {
    /// Checks that every search ends. O(n).
    fn check_levels(&self) -> Result<(), Error> {
        let words = flattened(&self.arrays);
        // Each array is known by its first word; its stride is that of whoever leads to it.
        let mut strides = vec![0; words.len()];
        let strides = RefCell::new(&mut strides);
        let lead = |word: u32| {
            let (stride, first) = as_array(word)?;
            if let Some(of_first) = strides.borrow_mut().get_mut(first) {
                *of_first = stride.max(*of_first);
            }
            Some(first)
        };
        let roots = self.root.iter().filter_map(|word| lead(u32::load(word)));
        let mut left = words.len();
        check_levels(ARRAYS, words.len(), roots, ARRAYS_MAX, |first, down| {
            let len = 1 << strides.borrow()[first];
            // Arrays share no word. If they did, this would take longer than O(n).
            left = left.checked_sub(len).ok_or_else(|| unsound(ARRAYS, "overlap"))?;
            let array = words.get(first..first + len).ok_or_else(|| unsound(ARRAYS, "end too early"))?;
            array.iter().filter_map(|word| lead(u32::load(word))).try_for_each(&mut *down)
        })
    }
}
