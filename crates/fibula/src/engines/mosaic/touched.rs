//! [`Touched`]: the /24s that changes of routes have another answer for.

use super::below::Below;
use super::brush::Brush;
use super::tiles::Tiles;
use super::{BELOW, IN_TILES, Mosaic, TILE_END};
use crate::blocks::fallback::Routes;
use crate::engine::{Cost, Width};
use crate::rib::Range;
use crate::{Delta, Prefix, Rib};
use std::ops::Range as Span;

/// The bits of an address after its /24.
const WITHIN_BITS: u8 = 32 - TILE_END;

/// The spans up to which the ranges of each are looked up by themselves.
const FEW: usize = 4;

/// The numbers of /24s, as spans in order of which none meets the next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Touched(Vec<Span<u32>>);

impl Touched {
    /// Returns the /24s in which a changed prefix has addresses that no longer route fills. O(n)
    /// for *n* routes in the prefixes.
    pub(super) fn by<'d>(rib: &Rib<u32>, deltas: impl Iterator<Item = &'d Delta<u32>>) -> Self {
        let mut touched = Self(Vec::new());
        let mut changes = 0;
        for delta in deltas.filter(|delta| delta.prefix.len() >= IN_TILES) {
            for (first, last) in rib.at_least(0).gaps(delta.prefix) {
                touched.add(first >> WITHIN_BITS..(last >> WITHIN_BITS) + 1);
            }
            changes += 1;
        }
        // The gaps of one prefix are in order.
        if changes > 1 {
            let mut spans = std::mem::take(&mut touched.0);
            spans.sort_unstable_by_key(|span| span.start);
            for span in spans {
                touched.add(span);
            }
        }
        touched
    }

    /// Appends a span, or lengthens the last one if both meet.
    fn add(&mut self, span: Span<u32>) {
        match self.0.last_mut() {
            Some(last) if (last.start..=last.end).contains(&span.start) => last.end = last.end.max(span.end),
            _ => self.0.push(span),
        }
    }

    /// Returns the number of these /24s.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|span| (span.end - span.start) as usize).sum()
    }

    /// Paints these /24s by these routes. All are in `prefixes`, which are in order.
    pub(super) fn paint<W: Width, F: Tiles<B::Entry>, B: Below<W>>(
        &self,
        engine: &mut Mosaic<W, F, B>,
        routes: &Routes<'_, u32>,
        prefixes: &[Prefix<u32>],
    ) -> Cost {
        let lengths = IN_TILES..=u32::BITS as u8;
        match routes.withdrawn() {
            None => {
                let routes = routes.rib().of_lengths(lengths);
                self.paint_ranges(engine, prefixes, |prefix| routes.ranges_within(prefix))
            }
            Some(withdrawn) => self.paint_ranges(engine, prefixes, |prefix| {
                routes.ranges_beside(withdrawn, lengths.clone(), prefix)
            }),
        }
    }

    fn paint_ranges<W: Width, F: Tiles<B::Entry>, B: Below<W>, R: Iterator<Item = Range<u32>>>(
        &self,
        engine: &mut Mosaic<W, F, B>,
        prefixes: &[Prefix<u32>],
        ranges: impl Fn(Prefix<u32>) -> R,
    ) -> Cost {
        let mut brush = Brush::of(engine);
        if self.0.len() <= FEW {
            let prefixes = self.0.iter().flat_map(|span| {
                let [first, last] = ends(span);
                Prefix::fewest(first, last)
            });
            prefixes.for_each(|prefix| brush.paint(ranges(prefix)));
        } else {
            brush.paint(self.parts_of(prefixes.iter().flat_map(|&prefix| ranges(prefix))));
        }
        brush.cost()
    }

    /// Returns the parts of ranges, given in order, that are in these /24s.
    fn parts_of(&self, ranges: impl Iterator<Item = Range<u32>>) -> impl Iterator<Item = Range<u32>> {
        let mut spans = &self.0[..];
        ranges.flat_map(move |Range { first, last, next_hop }| {
            let passed = spans.iter().take_while(|span| span.end <= first >> WITHIN_BITS).count();
            spans = &spans[passed..];
            spans.iter().take_while(move |span| span.start <= last >> WITHIN_BITS).map(move |span| {
                let [start, end] = ends(span);
                Range { first: first.max(start), last: last.min(end), next_hop }
            })
        })
    }
}

/// Returns the first and the last address of a span.
fn ends(span: &Span<u32>) -> [u32; 2] {
    [span.start << WITHIN_BITS, ((span.end - 1) << WITHIN_BITS) + (BELOW as u32 - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NextHop;
    use crate::testing::rib;

    /// Returns the first and the last /24 of each span.
    fn touched(rib: &Rib<u32>, prefixes: &[&str]) -> Vec<[u32; 2]> {
        let delta = |prefix: &&str| Delta {
            prefix: prefix.parse().unwrap(),
            before: NextHop::NONE,
            after: NextHop(1),
        };
        let touched = Touched::by(rib, prefixes.iter().map(delta).collect::<Vec<_>>().iter());
        touched.0.into_iter().map(|span| [span.start, span.end - 1]).collect()
    }

    #[test]
    fn a_cover_touches_what_no_longer_route_fills() {
        let rib: Rib<u32> = rib(&[
            ("0.0.0.0/0", 1),
            ("10.0.0.0/16", 1),
            ("10.0.1.0/24", 2),
            ("10.0.1.7/32", 3),
            ("10.0.2.0/25", 2),
            ("10.0.2.128/25", 2),
            ("10.0.4.0/25", 2),
        ]);
        let from = |at: u32| 0x0A_0000 + at;
        assert_eq!(touched(&rib, &["10.0.0.0/16"]), [[from(0); 2], [from(3), from(255)]]);
        assert_eq!(touched(&rib, &["10.0.1.0/24"]), [[from(1); 2]]);
        assert!(touched(&rib, &["10.0.2.0/24"]).is_empty());
        assert_eq!(touched(&rib, &["10.0.4.0/24", "10.0.1.7/32"]), [[from(1); 2], [from(4); 2]]);
        assert_eq!(
            touched(&rib, &["10.0.1.7/32", "10.0.0.0/16"]),
            [[from(0), from(1)], [from(3), from(255)]]
        );
        assert!(touched(&rib, &["0.0.0.0/0"]).is_empty());
    }

    #[test]
    fn ranges_are_cut_to_the_spans_that_are_touched() {
        let touched = Touched(vec![1..3, 4..5]);
        let range = |first, last, hop| Range { first, last, next_hop: NextHop(hop) };
        let ranges =
            [range(0, 0x1FF, 1), range(0x200, 0x20F, 2), range(0x210, 0x4FF, 3), range(0x500, 0xFFF, 4)];
        let parts =
            [range(0x100, 0x1FF, 1), range(0x200, 0x20F, 2), range(0x210, 0x2FF, 3), range(0x400, 0x4FF, 3)];
        assert!(touched.parts_of(ranges.into_iter()).eq(parts));
    }
}
