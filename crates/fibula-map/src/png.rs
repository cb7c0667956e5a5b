//! PNG: maps and pictures, a byte a pixel.

use crate::figure::Mark;
use crate::{Figure, Palette, Raster};
use png::{BitDepth, ColorType, Compression, Encoder, Filter};
use std::io::{self, Write};

impl Raster {
    /// Writes the map alone as PNG.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_png(&self, palette: &Palette, out: impl Write) -> io::Result<()> {
        write(self.size(), self.size(), self.pixels(), palette, out)
    }
}

impl Figure<'_> {
    /// Writes the picture as PNG. Characters past Latin Extended-A are question marks.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_png(&self, out: impl Write) -> io::Result<()> {
        let (width, side) = (self.width as usize, self.raster.size() as usize);
        let mut pixels = vec![Palette::grey(0); width * self.height as usize];
        let rows = pixels.chunks_exact_mut(width).skip(self.at.1 as usize);
        for (row, map) in rows.zip(self.raster.pixels().chunks_exact(side)) {
            row[self.at.0 as usize..][..side].copy_from_slice(map);
        }
        for mark in &self.marks {
            self.draw(mark, &mut pixels);
        }
        write(self.width, self.height, &pixels, self.palette, out)
    }

    fn draw(&self, mark: &Mark, pixels: &mut [u8]) {
        let row = self.width as usize;
        let at = |x: u32, y: u32| y as usize * row + x as usize;
        match mark {
            &Mark::Fill { x, y, width, height, colour } => {
                (y..y + height).for_each(|y| pixels[at(x, y)..][..width as usize].fill(colour));
            }
            Mark::Text { x, y, text, is_outlined } => {
                let start = at(*x, *y);
                if *is_outlined {
                    let wide = self.text.height() as usize / 16;
                    self.text.draw(text, |x, y, intensity| {
                        // What antialiasing lightens is half outside already.
                        if intensity > u8::MAX / 2 {
                            for line in 0..=2 * wide {
                                let first = start + (y + line) * row + x - wide * row - wide;
                                pixels[first..=first + 2 * wide].fill(Palette::grey(0));
                            }
                        }
                    });
                }
                self.text.draw(text, |x, y, intensity| {
                    let pixel = &mut pixels[start + y * row + x];
                    *pixel = Palette::grey(intensity);
                });
            }
        }
    }
}

/// Writes pixels, which are indices of colours.
fn write(width: u32, height: u32, pixels: &[u8], palette: &Palette, out: impl Write) -> io::Result<()> {
    let used = usize::from(pixels.iter().copied().max().unwrap_or_default()) + 1;
    let colours = palette.colours()[..used].iter().flat_map(|colour| [colour.0, colour.1, colour.2]);
    let mut encoder = Encoder::new(out, width, height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(colours.collect::<Vec<_>>());
    encoder.set_compression(Compression::Fast);
    // Neighbours are mostly equal, so their differences are mostly 0.
    encoder.set_filter(Filter::Up);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}
