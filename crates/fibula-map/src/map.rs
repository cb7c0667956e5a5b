//! [`Map`]: the answers of a block, ready to be drawn in any part and size.

use crate::palette::{Palette, ramp};
use crate::raster::{ADDED, CHANGED, CLASSES_OF_COUNTS, Painter, REMOVED, SAME, UNROUTED};
use crate::{Entry, Error, Raster, Rgb, View};
use fibula::rib::Range;
use fibula::{Address, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use std::cmp::Reverse;
use std::iter::Peekable;
use xxhash_rust::xxh3::xxh3_64;

/// The answers of a block of addresses, and the colours that say what they are.
///
/// A pixel of it has the colour of what most of its routed addresses have, and of what comes first
/// if that is several things. It is background where none of its addresses has a route.
///
/// A map is made in one walk over the routes, of which it keeps no reference. It takes 8 bytes for
/// each interval of IPv4 addresses with one answer, and 20 for each of IPv6.
#[derive(Clone, Debug)]
pub struct Map<A: Address> {
    block: Prefix<A>,
    intervals: Intervals<A>,
    /// The index of a colour for each key of an interval.
    classes: Vec<u8>,
    /// The routes that pixels are coloured by the number of, in order: first address and length.
    counted: Option<Vec<Prefix<A>>>,
    /// The key that colours a pixel only where there is no other.
    yields: Option<u32>,
    palette: Palette,
}

/// A block as intervals inside which no answer changes, in order.
#[derive(Clone, Debug)]
struct Intervals<A> {
    lasts: Vec<A>,
    /// What the answers are; 0 is no route.
    keys: Vec<u32>,
}

impl<A: Address> Intervals<A> {
    /// Collects intervals, each by its last address and key. Neighbours of one key are merged.
    fn collect(intervals: impl Iterator<Item = (A, u32)>) -> Self {
        let (mut lasts, mut keys): (Vec<A>, Vec<u32>) = (Vec::new(), Vec::new());
        for (last, key) in intervals {
            match (keys.last(), lasts.last_mut()) {
                (Some(&before), Some(end)) if before == key => *end = last,
                _ => {
                    lasts.push(last);
                    keys.push(key);
                }
            }
        }
        Self { lasts, keys }
    }

    /// Returns those of a part of the block.
    fn within(&self, part: Prefix<A>) -> impl Iterator<Item = (A, u32)> {
        let (first, end) = (part.first(), part.last());
        let of = |address| self.lasts.partition_point(|&last| last < address);
        let part = of(first)..=of(end);
        let lasts = self.lasts[part.clone()].iter().map(move |&last| last.min(end));
        lasts.zip(self.keys[part].iter().copied())
    }

    /// Returns the addresses of the block that each key has, for at least `keys` of them. All of
    /// IPv6 is one less.
    fn space(&self, block: Prefix<A>, keys: usize) -> Vec<u128> {
        let most = self.keys.iter().max().map_or(0, |&key| key as usize + 1);
        let mut space = vec![0_u128; keys.max(most)];
        let mut first = Some(block.first());
        for (&last, &key) in self.lasts.iter().zip(&self.keys) {
            let addresses = first.map_or(0, |first| last.to_u128() - first.to_u128());
            let sum = &mut space[key as usize];
            *sum = sum.saturating_add(addresses).saturating_add(1);
            first = last.next();
        }
        space
    }
}

/// A length has a colour of its own if it has this part of the routes or of the addresses.
const RARE: f64 = 0.001;

/// The colours of the values with most addresses: Paul Tol's discrete rainbow of twelve, which
/// people who see few colours tell apart.
const TOP: [Rgb; 12] = [
    Rgb(0x19, 0x65, 0xb0),
    Rgb(0xdc, 0x05, 0x0c),
    Rgb(0x4e, 0xb2, 0x65),
    Rgb(0xf7, 0xf0, 0x56),
    Rgb(0x88, 0x2e, 0x72),
    Rgb(0xf4, 0xa7, 0x36),
    Rgb(0x7b, 0xaf, 0xde),
    Rgb(0xe8, 0x60, 0x1c),
    Rgb(0xca, 0xe0, 0xab),
    Rgb(0xae, 0x76, 0xa3),
    Rgb(0x52, 0x89, 0xc7),
    Rgb(0xd1, 0xbb, 0xd7),
];

/// The colours of all other values: greys, so that neighbours mostly differ and none is taken for a
/// value of the legend.
const OTHERS: [Rgb; 4] = [Rgb(214, 214, 214), Rgb(196, 196, 196), Rgb(178, 178, 178), Rgb(160, 160, 160)];

impl<A: Address> Map<A> {
    /// Maps the lengths of the longest matches: dark is short, light is long.
    ///
    /// The ramp ends at the shortest and the longest length that a thousandth of the routes or of
    /// the covered addresses have. Those past it have the colour of the end. O(n).
    #[must_use]
    pub fn lengths(rib: &Rib<A>, block: Prefix<A>) -> Self {
        let key = |route: Option<Route<A>>| route.map_or(0, |route| 1 + u32::from(route.prefix.len()));
        let pieces = rib.pieces_within(block).map(|piece| (piece.last, key(piece.route)));
        let intervals = Intervals::collect(pieces);
        let lens = 0..=usize::from(A::BITS);
        let space = intervals.space(block, lens.end() + 2).split_off(1);
        let mut counts = vec![0_usize; space.len()];
        rib.covered(block).for_each(|route| counts[usize::from(route.prefix.len())] += 1);
        let routes = counts.iter().sum::<usize>() as f64;
        let addresses = space.iter().map(|&addresses| addresses as f64).sum::<f64>();
        let is_some = |len: usize| counts[len] > 0 || space[len] > 0;
        let is_common = |&len: &usize| {
            is_some(len) && (counts[len] as f64 >= RARE * routes || space[len] as f64 >= RARE * addresses)
        };
        let shortest = lens.clone().find(is_common).unwrap_or_default();
        let longest = lens.clone().rev().find(is_common).unwrap_or_default();

        let classes = lens.clone().map(|len| 1 + (len.clamp(shortest, longest) - shortest) as u8);
        let classes = std::iter::once(0).chain(classes).collect();
        let steps = longest - shortest + 1;
        let mut palette = Palette::new("longest match", (0..steps).map(|step| ramp(step, steps))).ramp();
        let entries = (shortest..=longest).filter(|&len| is_some(len)).map(|len| {
            let more = if len == shortest && (0..len).any(is_some) {
                " or shorter"
            } else if len == longest && (len + 1..=*lens.end()).any(is_some) {
                " or longer"
            } else {
                ""
            };
            Entry::new(1 + (len - shortest) as u8, format!("/{len}{more}"))
        });
        palette.entries.extend(entries);
        Self { block, intervals, classes, counted: None, yields: None, palette }
    }

    /// Maps the values. The twelve with most addresses have a colour each, and all others greys.
    ///
    /// A value's text decides its colour, so that it has the same on other maps: unless a value
    /// with more addresses has it already. It then has the next that is free. O(n + v log v) for
    /// `v` values.
    #[must_use]
    pub fn values(rib: &Rib<A>, names: &NextHops, block: Prefix<A>) -> Self {
        let ranges = rib.ranges_within(block).map(|range| (range.last, range.next_hop.0));
        let intervals = Intervals::collect(ranges);
        let space = intervals.space(block, names.len() + 1);
        let texts: Vec<String> = names.iter().map(|(_, info): (_, &NextHopInfo)| info.to_string()).collect();
        let chosen = |text: &str, among: usize| (xxh3_64(text.as_bytes()) % among as u64) as usize;
        let other = |text: &String| (1 + TOP.len() + chosen(text, OTHERS.len())) as u8;
        let mut classes: Vec<u8> = std::iter::once(0).chain(texts.iter().map(other)).collect();

        let mut order: Vec<usize> = (1..=names.len()).filter(|&at| space[at] > 0).collect();
        // Values of equally many addresses are in the order of their texts, not of the file.
        order.sort_unstable_by_key(|&at| (Reverse(space[at]), &texts[at - 1]));
        let mut palette = Palette::new("value", TOP.into_iter().chain(OTHERS));
        let mut taken = [false; TOP.len()];
        for &at in order.iter().take(TOP.len()) {
            let text = &texts[at - 1];
            let mut slot = chosen(text, TOP.len());
            while std::mem::replace(&mut taken[slot], true) {
                slot = (slot + 1) % TOP.len();
            }
            classes[at] = 1 + slot as u8;
            palette.entries.push(Entry::new(classes[at], text.clone()));
        }
        if let Some(others) = order.len().checked_sub(TOP.len()).filter(|&others| others > 0) {
            let text = format!("{others} other{}", if others == 1 { "" } else { "s" });
            let first = 1 + TOP.len() as u8;
            palette.entries.push(Entry { last: first + OTHERS.len() as u8 - 1, ..Entry::new(first, text) });
        }
        Self { block, intervals, classes, counted: None, yields: None, palette }
    }

    /// Maps the number of routes that lie in a pixel: that have its prefix or a more specific one.
    /// A colour is a doubling, and many are dark. A pixel without any is grey where a shorter route
    /// covers it.
    ///
    /// It also takes the bytes of all prefixes. O(n).
    #[must_use]
    pub fn routes(rib: &Rib<A>, block: Prefix<A>) -> Self {
        let covered = |range: Range<A>| (range.last, range.next_hop.is_some().into());
        let intervals = Intervals::collect(rib.ranges_within(block).map(covered));
        let counted = Some(rib.covered(block).map(|route| route.prefix).collect());
        let most = usize::from(CLASSES_OF_COUNTS) - 1;
        let colours = (0..=most).map(|at| if at == 0 { Rgb(214, 214, 214) } else { ramp(most - at, most) });
        let mut palette = Palette::new("routes in a pixel", colours).ramp().of_pixels();
        let text = |class: u8| match class {
            1 => "none, covered".to_owned(),
            2 | 3 => (class - 1).to_string(),
            CLASSES_OF_COUNTS => format!("more than {}", 1 << (class - 3)),
            _ => format!("{} to {}", (1 << (class - 3)) + 1, 1 << (class - 2)),
        };
        palette.entries.extend((1..=CLASSES_OF_COUNTS).map(|class| Entry::new(class, text(class))));
        Self { block, intervals, classes: vec![UNROUTED, 1], counted, yields: None, palette }
    }

    /// Maps what addresses are answered in `before` and in `after`, whose next hops have the same
    /// numbers: added, removed, another value or the same. O(n + m).
    ///
    /// A pixel shows what most of its changed addresses are. Only where none is changed, it is the
    /// same.
    #[must_use]
    pub fn changes(before: &Rib<A>, after: &Rib<A>, block: Prefix<A>) -> Self {
        let both = Both {
            before: before.ranges_within(block).peekable(),
            after: after.ranges_within(block).peekable(),
        };
        let class = |before, after| match (before, after) {
            (NextHop::NONE, NextHop::NONE) => UNROUTED,
            (before, after) if before == after => SAME,
            (NextHop::NONE, _) => ADDED,
            (_, NextHop::NONE) => REMOVED,
            _ => CHANGED,
        };
        let intervals =
            Intervals::collect(both.map(|(last, before, after)| (last, class(before, after).into())));
        // Of Okabe and Ito, told apart by people who see few colours.
        let colours = [Rgb(200, 200, 200), Rgb(240, 228, 66), Rgb(0, 114, 178), Rgb(213, 94, 0)];
        let mut palette = Palette::new("changes", colours);
        let texts = [(ADDED, "added"), (REMOVED, "removed"), (CHANGED, "other value"), (SAME, "same")];
        palette.entries.extend(texts.map(|(class, text)| Entry::new(class, text.into())));
        let classes = (UNROUTED..=REMOVED).collect();
        Self { block, intervals, classes, counted: None, yields: Some(SAME.into()), palette }
    }

    /// Returns the colours.
    #[must_use]
    pub fn palette(&self) -> &Palette {
        &self.palette
    }

    /// Draws the block of a view. O(i + q): `i` are the intervals of the block, and `q` the squares
    /// that are painted, at most 3·log(size) for each end of an interval.
    ///
    /// # Errors
    /// If the view's block is not part of the map.
    pub fn draw(&self, view: &View<A>) -> Result<Raster, Error> {
        if !self.block.covers(view.block()) {
            return Err(Error::new(format!("{} is not part of {}", view.block(), self.block)));
        }
        let mut painter = Painter::new(view, self.yields);
        painter.paint(self.intervals.within(view.block()), |key| self.class(key));
        if let Some(prefixes) = &self.counted {
            let first = prefixes.partition_point(|prefix| *prefix < view.block());
            let covered = prefixes[first..].iter().take_while(|prefix| view.block().covers(**prefix));
            painter.count(covered.copied());
        }
        Ok(painter.finish())
    }

    /// Returns the index of the colour of a key: that of other values, if it has none.
    fn class(&self, key: u32) -> u8 {
        self.classes.get(key as usize).copied().unwrap_or(1 + TOP.len() as u8)
    }
}

/// The intervals of two tables together: the last address of each, and both answers.
struct Both<I: Iterator> {
    before: Peekable<I>,
    after: Peekable<I>,
}

impl<A: Address, I: Iterator<Item = Range<A>>> Iterator for Both<I> {
    type Item = (A, NextHop, NextHop);

    fn next(&mut self) -> Option<Self::Item> {
        let (&before, &after) = (self.before.peek()?, self.after.peek()?);
        let last = before.last.min(after.last);
        self.before.next_if(|range| range.last == last);
        self.after.next_if(|range| range.last == last);
        Some((last, before.next_hop, after.next_hop))
    }
}
