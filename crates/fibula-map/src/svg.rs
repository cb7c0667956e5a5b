//! SVG: pictures with real text. The map in it is rectangles, or a PNG image if that is shorter.

use crate::figure::Mark;
use crate::raster::UNROUTED;
use crate::{Figure, Palette, Raster};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

impl Figure<'_> {
    /// Writes the picture as SVG.
    ///
    /// The map is a path a colour, of the rectangles into which its pixels merge, as long as those
    /// are shorter than the same map as PNG.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_svg(&self, mut out: impl Write) -> io::Result<()> {
        let (width, height) = (self.width, self.height);
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"{}\">",
            self.text.height() * 3 / 4
        )?;
        writeln!(
            out,
            "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
            self.colour(Palette::grey(0))
        )?;
        out.write_all(self.map()?.as_bytes())?;
        for mark in &self.marks {
            self.write_mark(mark, &mut out)?;
        }
        writeln!(out, "</svg>")
    }

    /// Returns the element that is the map.
    fn map(&self) -> io::Result<String> {
        let mut png = Vec::new();
        self.raster.write_png(self.palette, &mut png)?;
        let (x, y) = self.at;
        let side = self.raster.size();
        let image = || {
            format!(
                "<image x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" \
                 image-rendering=\"pixelated\" href=\"data:image/png;base64,{}\"/>\n",
                STANDARD.encode(&png)
            )
        };
        let Some(paths) = paths(self.raster, png.len() / 3 * 4) else { return Ok(image()) };
        let mut map = format!("<g transform=\"translate({x} {y})\" shape-rendering=\"crispEdges\">\n");
        let background = self.colour(UNROUTED);
        let _ = writeln!(map, "<rect width=\"{side}\" height=\"{side}\" fill=\"{background}\"/>");
        for (colour, path) in paths {
            let _ = writeln!(map, "<path fill=\"{}\" d=\"{path}\"/>", self.colour(colour));
        }
        map.push_str("</g>\n");
        Ok(map)
    }

    fn write_mark(&self, mark: &Mark, out: &mut impl Write) -> io::Result<()> {
        match mark {
            Mark::Fill { x, y, width, height, colour } => writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
                self.colour(*colour)
            ),
            Mark::Text { x, y, text, is_outlined } => {
                // As wide as in the PNG picture, whatever the font.
                let (width, line) = (self.text.width(text), self.text.height());
                let outline = if *is_outlined {
                    format!(" stroke=\"#fff\" stroke-width=\"{}\" paint-order=\"stroke\"", line / 8)
                } else {
                    String::new()
                };
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\"{outline}>{}</text>",
                    y + line * 3 / 4,
                    escaped(text)
                )
            }
        }
    }

    fn colour(&self, class: u8) -> String {
        self.palette.colour(class).to_string()
    }
}

/// A rectangle that the rows to come may extend.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    first: usize,
    end: usize,
    colour: u8,
    top: usize,
}

/// Returns a path for each colour but the background, of the rectangles of a map: runs of one
/// colour in a row, merged with equal runs of the rows below. None if they take more than `most`
/// bytes.
fn paths(raster: &Raster, most: usize) -> Option<BTreeMap<u8, String>> {
    let side = raster.size() as usize;
    let mut paths: BTreeMap<u8, String> = BTreeMap::new();
    let (mut open, mut bytes): (Vec<Open>, usize) = (Vec::new(), 0);
    for y in 0..=side {
        // Past the last row there is nothing.
        let row = raster.pixels().get(y * side..(y + 1) * side).unwrap_or_default();
        let mut first = 0;
        let mut runs: Vec<Open> = Vec::new();
        for run in row.chunk_by(|a, b| a == b) {
            let end = first + run.len();
            runs.push(Open { first, end, colour: run[0], top: y });
            first = end;
        }
        let mut below = runs.iter_mut().peekable();
        for old in open {
            while below.next_if(|run| run.first < old.first).is_some() {}
            match below
                .peek_mut()
                .filter(|run| (run.first, run.end, run.colour) == (old.first, old.end, old.colour))
            {
                Some(run) => run.top = old.top,
                None if old.colour == UNROUTED => {}
                None => {
                    let path = paths.entry(old.colour).or_default();
                    let before = path.len();
                    let _ = write!(path, "M{} {}H{}V{}H{}z", old.first, old.top, old.end, y, old.first);
                    bytes += path.len() - before;
                }
            }
        }
        if bytes > most {
            return None;
        }
        open = runs;
    }
    Some(paths)
}

/// Returns a text as XML has it, without the characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '>' => escaped.push_str("&gt;"),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            character => escaped.push(character),
        }
    }
    escaped
}
