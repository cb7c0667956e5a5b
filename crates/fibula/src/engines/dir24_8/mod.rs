//! `dir24-8`: DIR-24-8-BASIC, one table of 2^24 entries, and blocks of 256 entries for routes
//! longer than /24.
//!
//! Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory Access Speeds" (INFOCOM 1998).
//! The layout of entries that can be updated in place is that of He, Guan, Xie and Salamatian,
//! "Evaluating and Optimizing IP Lookup on Many core Processors" (ICCCN 2012), section III.A.
//!
//! # Layout
//! ```text
//!                    31  30      25 24                                  0
//!                  +---+----------+-------------------------------------+
//! TBL24[a >> 8]    | 0 |  length  |              next hop               |   2^24 entries
//!                  | 1 |    0     |                block                |
//!                  +---+----------+-------------------------------------+
//! TBLlong[block << 8 | (a & 255)]
//!                  | 0 |  length  |              next hop               |   256 entries a block
//!                  +---+----------+-------------------------------------+
//! ```
//! A lookup is one load, or two below a /24 with more-specific routes. The length is that of the
//! route that wrote the entry. "No route" is length 0, next hop 0.
//!
//! # Updates
//! An announced prefix of length *l* writes the entries under it whose length is at most *l*: those
//! of its covers and its own. A withdrawn prefix writes the entries of exactly its length, which
//! are its own, with the route above it. Entries of more-specific routes are never written, and an
//! update looks up only one route in the table. The first route longer than /24 under a /24
//! allocates its block; withdrawing the last one frees it.
//!
//! # Concurrent readers
//! All entries are atomic words. Readers of a shared table see each entry as it was or as it is. A
//! batch of changes is applied in the order that writes every entry once
//! (`entry`).
//!
//! A block is filled with the entry of its /24 before that entry points to it. When it is removed,
//! all its entries are equal again before one of them replaces the pointer. Its memory is reused
//! after a grace period. Blocks have room to grow without moving; when the room is used up, the
//! table asks for a rebuild.
//!
//! # Worked example
//! Figure 2 of the second paper, with the next hops 1 to 3: 10.21.3.0/24 to 1, 10.21.2.0/24 to 2,
//! 10.21.2.0/25 to 3.
//!
//! ```text
//! TBL24[0x0A1503]         0x3000_0001    length 24, next hop 1
//! TBL24[0x0A1502]         0x8000_0000    block 0
//! TBLlong[0..128]         0x3200_0003    length 25, next hop 3
//! TBLlong[128..256]       0x3000_0002    length 24, next hop 2
//! ```
//!
//! # What differs from the paper
//! 6 bits of length where the second paper has 5: an entry of TBLlong may come from any of the
//! lengths 0 to 32. That leaves 25 bits of value ([`NEXT_HOPS_MAX`]). Block numbers, at most 2^24,
//! always fit.

#[cfg(test)]
mod tests;
mod update;
mod validate;
mod view;

pub(crate) use view::Dir24_8View;

use crate::blocks::chunks::SharedPool;
use crate::blocks::entry::{Entry, in_order};
use crate::engine::{
    About, Config, Engine, Estimate, Figure, Persist, Persistence, Share, Sharing, Update, Updates, Width,
};
use crate::memory::{Memory, Words, WordsView};
use crate::sections::{SectionWriter, Sections};
use crate::{Delta, Error, Prefix, Rib};
use std::ops::Range;

pub(crate) use crate::blocks::entry::NEXT_HOPS_MAX;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "dir24-8",
    paper: "Gupta, Lin, McKeown, Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998 (DIR-24-8-BASIC)",
    year: 1998,
    updates: Updates::InPlace,
    next_hops_max: NEXT_HOPS_MAX,
    estimate: |survey, _| Estimate {
        ns: 4.0 + survey.wait_below_24(1024),
        bytes: 4 * (TBL24 + BLOCK * survey.different_24s()),
    },
    ..About::DEFAULT
};

/// The entries of TBL24.
const TBL24: usize = 1 << 24;

/// The entries of a block of TBLlong.
const BLOCK: usize = 256;

/// Returns the index in TBLlong where the block of `entry` begins, if the entry points to a block.
#[inline(always)]
fn start_of(entry: Entry) -> Option<usize> {
    entry.chunk().map(|block| block * BLOCK)
}

/// The two tables and what updates need. Entries are 32 bits wide whatever `W`, the width of the
/// answers.
#[derive(Debug)]
pub(crate) struct Dir24_8<W> {
    view: Dir24_8View<W>,
    tbl24: Words<Entry>,
    tbl_long: SharedPool<Entry>,
}

/// Returns the entries of TBL24 that `prefix` covers, or is below if it is longer than /24.
fn slots(prefix: Prefix<u32>) -> Range<usize> {
    (prefix.first() >> 8) as usize..(prefix.last() >> 8) as usize + 1
}

/// Returns the entries of a block that `prefix`, which is longer than /24, covers.
fn slots_below(prefix: Prefix<u32>) -> Range<usize> {
    (prefix.first() & 255) as usize..(prefix.last() & 255) as usize + 1
}

impl<W: Width> Engine<u32> for Dir24_8<W> {
    type View = Dir24_8View<W>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let tbl24 = Words::zeroed(TBL24, config.pages);
        let tbl_long = SharedPool::empty("entries of TBLlong", TBL24 as u64 * BLOCK as u64, config.pages);
        let view = Dir24_8View::of(tbl24.view(), tbl_long.view());
        let mut engine = Self { view, tbl24, tbl_long };
        // In this order every route comes after its covers and before its more-specific routes.
        for route in rib {
            let entry = Entry::of(route);
            if route.prefix.len() <= 24 {
                engine.tbl24.fill(slots(route.prefix), entry);
            } else {
                let (start, _) = engine.block_of(slots(route.prefix).start);
                let Range { start: first, end } = slots_below(route.prefix);
                engine.tbl_long.words().fill(start + first..start + end, entry);
            }
        }
        engine.tbl_long.shrink_to_fit();
        engine.tbl_long.show_in(&mut engine.view.tbl_long);
        Ok(engine)
    }

    fn view(&self) -> &Dir24_8View<W> {
        &self.view
    }

    fn copied(&self) -> Option<Self> {
        let (tbl24, tbl_long) = (self.tbl24.clone(), self.tbl_long.clone());
        Some(Self { view: Dir24_8View::of(tbl24.view(), tbl_long.view()), tbl24, tbl_long })
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let longer = deltas.iter().filter(|delta| delta.prefix.len() > 24 && delta.after.is_some());
        if self.room() < longer.count() || self.tbl_long.is_wasteful() {
            return Update::Rebuild;
        }
        let cost = self.follow(rib, &in_order(deltas));
        self.tbl_long.show_in(&mut self.view.tbl_long);
        Update::Applied(cost)
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("TBL24", size_of_val(&self.tbl24[..]))
            .off_chip("TBLlong", self.tbl_long.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure::count("TBLlong blocks", self.blocks())]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }

    fn sharing() -> Option<Sharing<Self, u32>> {
        Some(Sharing::of_engine())
    }

    fn persistence() -> Option<Persistence<Self, u32>> {
        Some(Persistence::of_engine())
    }
}

impl<W: Width> Share<u32> for Dir24_8<W> {
    fn share(&mut self) -> Option<Dir24_8View<W>> {
        self.tbl_long.share(u64::MAX);
        self.tbl_long.show_in(&mut self.view.tbl_long);
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.tbl_long.readers_passed();
    }
}

impl<W: Width> Persist<u32> for Dir24_8<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("TBL24", &self.tbl24.to_plain());
        sections.made("TBLlong", &self.tbl_long.to_plain());
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<Dir24_8View<W>, Error> {
        let tbl24 = WordsView::holding(sections.array_of("TBL24", TBL24)?);
        Ok(Dir24_8View::of(tbl24, WordsView::holding(sections.array("TBLlong")?)))
    }
}
