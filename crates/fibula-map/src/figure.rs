//! [`Figure`]: a map with its title, legend and labels.

use crate::raster::UNROUTED;
use crate::text::{TextSize, cut};
use crate::view::Square;
use crate::{Entry, Palette, Raster, View, labels};
use fibula::Address;

/// The most characters of a line of the legend.
const LEGEND_CHARACTERS: usize = 24;

/// How dark frames and ticks are, from white at 0 to black at 255.
const FRAME: u8 = 150;

/// A map as a picture: below a title, with labels in it and a legend on its right.
#[derive(Clone, Debug)]
pub struct Figure<'m> {
    pub(crate) raster: &'m Raster,
    pub(crate) palette: &'m Palette,
    pub(crate) text: TextSize,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The upper left corner of the map.
    pub(crate) at: (u32, u32),
    pub(crate) marks: Vec<Mark>,
}

/// What is drawn beside or on the map.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// A filled rectangle.
    Fill { x: u32, y: u32, width: u32, height: u32, colour: u8 },
    /// A text and the upper left corner of its line, with an outline if it is on the map.
    Text { x: u32, y: u32, text: String, is_outlined: bool },
}

impl<'m> Figure<'m> {
    /// Lays out the picture of what was drawn of a map with a palette. `title` is cut where it does
    /// not fit; a second line has the block and how much of it is covered.
    #[must_use]
    pub fn new<A: Address>(view: &View<A>, raster: &'m Raster, palette: &'m Palette, title: &str) -> Self {
        let text = TextSize::for_map(view.size());
        let height = text.height();
        let (line, gap) = (height * 5 / 4, height / 2);
        let at = (gap, gap + 2 * line + gap / 2);
        let mut marks = marks_on_map(view, text, at);

        // The legend.
        let left = at.0 + view.size() + 2 * gap;
        let rows = (view.size() / line).saturating_sub(2) as usize;
        let heading = palette.title().to_owned() + if palette.has_shares() { ", of covered" } else { "" };
        marks.push(Mark::text(left, at.1, &heading));
        let covered = percent(raster.covered());
        let facts = format!("{}, {covered} of the addresses covered", view.block());
        let mut right = (left + text.width(&heading)).max(at.0 + text.width(&facts));
        let mut bottom = at.1 + view.size();
        let entries = thinned(palette, rows).map(|entry| {
            let mut text = cut(&entry.text, LEGEND_CHARACTERS);
            if palette.has_shares() {
                text = format!("{text} · {}", percent(raster.share(entry)));
            }
            (entry.class, text)
        });
        let unrouted = (UNROUTED, "no route".to_owned());
        for (entry, y) in entries.chain([unrouted]).zip((at.1 + line..).step_by(line as usize)) {
            let ((class, entry), x) = (entry, left + line);
            marks.extend(swatch(left, y + height / 8, height * 3 / 4, class));
            (right, bottom) = (right.max(x + text.width(&entry)), bottom.max(y + height));
            marks.push(Mark::text(x, y, &entry));
        }

        // The title, as wide as both.
        let width = right + gap;
        let characters = ((width - 2 * gap) / text.width("0")) as usize;
        marks.push(Mark::text(at.0, gap, &cut(title, characters)));
        marks.push(Mark::text(at.0, gap + line, &facts));
        Self { raster, palette, text, width, height: bottom + gap, at, marks }
    }
}

impl Mark {
    fn text(x: u32, y: u32, text: &str) -> Self {
        Self::Text { x, y, text: text.to_owned(), is_outlined: false }
    }

    /// A text in the middle of a part of the map.
    fn label(square: Square, size: TextSize, at: (u32, u32), text: String) -> Self {
        let middle = |start: u32, side: u32, length: u32| start + side / 2 - length / 2;
        let (width, height) = (size.width(&text), size.height());
        let (x, y) = (middle(square.x, square.side, width), middle(square.y, square.side, height));
        Self::Text { x: at.0 + x, y: at.1 + y, text, is_outlined: true }
    }
}

/// Returns a square of a colour with a grey frame.
fn swatch(x: u32, y: u32, side: u32, colour: u8) -> [Mark; 2] {
    let frame = side / 12 + 1;
    let fill = |inset: u32, colour| Mark::Fill {
        x: x + inset,
        y: y + inset,
        width: side - 2 * inset,
        height: side - 2 * inset,
        colour,
    };
    [fill(0, Palette::grey(FRAME)), fill(frame, colour)]
}

/// Returns the labels of a map, and ticks between the parts that have them.
fn marks_on_map<A: Address>(view: &View<A>, size: TextSize, at: (u32, u32)) -> Vec<Mark> {
    let labels = labels::labels(view, size);
    let mut marks = Vec::new();
    for (_, square) in &labels {
        // At its upper left corner, unless that is at the edge of the map.
        let (x, y) = (at.0 + square.x, at.1 + square.y);
        let (long, wide) = (square.side / 8, size.height() / 20 + 1);
        let reach = |start: u32| if start == 0 { (0, long) } else { (long, 2 * long) };
        if square.y > 0 {
            let (back, width) = reach(square.x);
            marks.push(Mark::Fill { x: x - back, y, width, height: wide, colour: Palette::grey(FRAME) });
        }
        if square.x > 0 {
            let (back, height) = reach(square.y);
            marks.push(Mark::Fill { x, y: y - back, width: wide, height, colour: Palette::grey(FRAME) });
        }
    }
    marks.extend(labels.into_iter().map(|(text, square)| Mark::label(square, size, at, text)));
    marks
}

/// Returns the entries of a legend with at most `rows` of them: of a ramp every second, third or
/// so; of others the first ones and the last.
fn thinned(palette: &Palette, rows: usize) -> impl Iterator<Item = &Entry> {
    let entries = palette.entries();
    let last = entries.len().saturating_sub(1);
    let step = if palette.is_ramp() { entries.len().div_ceil(rows.max(1)).max(1) } else { 1 };
    let count = entries.len().div_ceil(step).min(rows);
    (0..count).map(move |row| &entries[if row + 1 == count { last } else { row * step }])
}

/// Returns a part as text, such as `12.3%` or `0.012%`.
fn percent(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0%".into(),
        100.0 => "100%".into(),
        some if some < 0.001 => "<0.001%".into(),
        // What is not all is less than 100%.
        most if most >= 99.95 => ">99.9%".into(),
        part if part < 0.1 => format!("{part:.3}%"),
        part => format!("{part:.1}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Map;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 1e-9, 0.000_122, 0.5, 0.999_999, 1.0].map(percent),
            ["0%", "<0.001%", "0.012%", "50.0%", ">99.9%", "100%"]
        );
    }

    #[test]
    fn a_legend_has_no_more_rows_than_there_is_room_for() {
        let mut ramp = Palette::new("a ramp", []).ramp();
        ramp.entries.extend((1..=25).map(|class| Entry::new(class, String::new())));
        let classes = |rows| thinned(&ramp, rows).map(|entry| entry.class).collect::<Vec<_>>();
        assert_eq!(classes(30), (1..=25).collect::<Vec<_>>());
        assert_eq!(classes(10), [1, 4, 7, 10, 13, 16, 19, 22, 25]);
        assert!(classes(0).is_empty());
        let none = fibula::Rib::<u32>::new();
        let changes = Map::changes(&none, &none, fibula::Prefix::ALL);
        assert_eq!(
            thinned(changes.palette(), 3).map(|entry| &*entry.text).collect::<Vec<_>>(),
            ["added", "removed", "same"]
        );
    }
}
