//! Text of pictures: its size, and a bitmap font.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

const WEIGHT: FontWeight = FontWeight::Regular;

/// The size of a picture's text: a size of the font, of which each pixel is a square of pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextSize {
    height: RasterHeight,
    scale: usize,
}

impl TextSize {
    /// Returns the size for a map of `size` pixels a side.
    pub(crate) fn for_map(size: u32) -> Self {
        let (height, scale) = match size {
            0..=512 => (RasterHeight::Size16, 1),
            513..=1024 => (RasterHeight::Size20, 1),
            1025..=2048 => (RasterHeight::Size32, 1),
            _ => (RasterHeight::Size32, 2),
        };
        Self { height, scale }
    }

    /// Returns the height of a line in pixels.
    pub(crate) fn height(self) -> u32 {
        (self.height.val() * self.scale) as u32
    }

    /// Returns the width of a text in pixels.
    pub(crate) fn width(self, text: &str) -> u32 {
        (get_raster_width(WEIGHT, self.height) * self.scale * text.chars().count()) as u32
    }

    /// Calls `ink` with the column, row and intensity of every pixel of a text, counted from its
    /// upper left corner. Characters that the font lacks, those past Latin Extended-A, are question
    /// marks.
    pub(crate) fn draw(self, text: &str, mut ink: impl FnMut(usize, usize, u8)) {
        let glyphs = text.chars().filter_map(|character| {
            get_raster(character, WEIGHT, self.height).or_else(|| get_raster('?', WEIGHT, self.height))
        });
        for (at, glyph) in glyphs.enumerate() {
            for (row, line) in glyph.rows().enumerate() {
                for (column, &intensity) in line.iter().enumerate().filter(|(_, intensity)| **intensity > 0) {
                    let (x, y) = ((at * glyph.width() + column) * self.scale, row * self.scale);
                    for dot in 0..self.scale * self.scale {
                        ink(x + dot % self.scale, y + dot / self.scale, intensity);
                    }
                }
            }
        }
    }
}

/// Returns a text of at most `most` characters; of one that is cut the last three are full stops.
pub(crate) fn cut(text: &str, most: usize) -> String {
    const DOTS: &str = "...";
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(DOTS.len())).chain(DOTS.chars()).collect()
}
