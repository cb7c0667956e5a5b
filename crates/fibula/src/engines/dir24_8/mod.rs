//! `dir24-8`: DIR-24-8-BASIC, one table of 2^24 entries and blocks of 256 for what is longer.
//!
//! Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory Access Speeds" (INFOCOM 1998); the layout
//! of entries that can be updated in place is that of He, Guan, Xie and Salamatian, "Evaluating and Optimizing IP
//! Lookup on Many core Processors" (ICCCN 2012), section III.A.
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
//! A lookup is one load, or two below a /24 with longer routes. The length is that of the route that wrote the
//! entry; "no route" is length 0, next hop 0.
//!
//! # Updates
//! An announced prefix of length *l* writes the entries under it whose length is at most *l*: those of its covers
//! and its own. A withdrawn one writes the entries of exactly its length, which are its own, with the route above
//! it. No entry of a longer route is touched and the table is asked for one route only. The first route
//! longer than 24 under a /24 makes its block, the last one takes the block away.
//!
//! # Readers meanwhile
//! All entries are atomic words, and those who read a shared table see each as it was or as it is. A batch of changes is followed
//! in the order that writes every entry once ([`entry`](crate::blocks::entry)). A block is filled with the entry of its /24 before that
//! one points to it, and is all one entry again before that one takes its place; its number waits for the readers who
//! may still be at it. Blocks have room to grow where they are; without room the table asks to be built anew.
//!
//! # Worked example
//! Figure 2 of the second paper, with the next hops 1 to 3: 10.21.3.0/24 to 1, 10.21.2.0/24 to 2, 10.21.2.0/25 to 3.
//!
//! ```text
//! TBL24[0x0A1503]         0x3000_0001    length 24, next hop 1
//! TBL24[0x0A1502]         0x8000_0000    block 0
//! TBLlong[0..128]         0x3200_0003    length 25, next hop 3
//! TBLlong[128..256]       0x3000_0002    length 24, next hop 2
//! ```
//!
//! # What differs from the paper
//! - 6 bits of length where the second paper has 5: an entry of TBLlong may come from any of the lengths 0 to 32. That
//!   leaves 25 bits of value ([`NEXT_HOPS_MAX`]); blocks, at most 2^24, always fit.
//! - Blocks are numbered without holes ([`dense`](crate::blocks::dense)), so a withdrawal may move one, unless others read.

mod batch;
#[cfg(test)]
mod tests;
mod update;
mod validate;

use crate::arch::Isa;
use crate::blocks::dense::{Owners, WordChunks};
use crate::blocks::entry::{Entry, in_order};
use crate::blocks::expansion::slots;
use crate::blocks::pushing::internal_nodes;
use crate::engine::{About, Config, Engine, Figure, LimitInfo, Meter, Update, Updates, Width};
use crate::memory::{Memory, Shareable, Words};
use crate::snapshot::{SectionWriter, Sections};
use crate::{Delta, Error, Rib};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

pub use crate::blocks::entry::NEXT_HOPS_MAX;

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "dir24-8",
    paper: "Gupta, Lin, McKeown, Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998 (DIR-24-8-BASIC)",
    year: 1998,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: "next hops", max: NEXT_HOPS_MAX as u64 }],
    parameters: &[],
    preset: &[],
};

/// The entries of TBL24.
const TBL24: usize = 1 << 24;

/// The entries of a block of TBLlong.
const BLOCK: usize = 256;

/// Where the block begins in TBLlong, if an entry points to one.
#[inline(always)]
fn start_of(entry: Entry) -> Option<usize> {
    entry.chunk().map(|block| block * BLOCK)
}

/// The two tables. Entries are 32 bits wide whatever `W`, the width of the answers.
#[derive(Debug)]
pub struct Dir24_8<W> {
    tbl24: Words<Entry>,
    tbl_long: WordChunks<Entry, BLOCK>,
    /// The /24, by its number, that each block belongs to.
    owners: Owners<u32>,
    width: PhantomData<W>,
}

impl<W: Width> Dir24_8<W> {
    /// TBL24 with its length, so that no index of 24 bits needs a check.
    #[inline(always)]
    fn tbl24(&self) -> &[AtomicU32; TBL24] {
        self.tbl24[..].try_into().expect("one entry a /24")
    }

    #[inline(always)]
    fn look_up(&self, address: u32, meter: &mut impl Meter) -> W {
        let mut entry: Entry = meter.load_word(&self.tbl24()[(address >> 8) as usize]);
        if let Some(start) = start_of(entry) {
            entry = meter.load_word(&self.tbl_long[start | (address & 255) as usize]);
        }
        entry.answer()
    }
}

impl<W: Width> Engine<u32, W> for Dir24_8<W> {
    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let mut engine = Self {
            tbl24: Words::zeroed(TBL24, config.pages),
            tbl_long: WordChunks::new(config.pages, internal_nodes(rib, 24)),
            owners: Owners::from(0),
            width: PhantomData,
        };
        // In order, every route comes after its covers and before anything longer under it.
        for route in rib {
            let entry = Entry::of(route);
            if route.prefix.len() <= 24 {
                let slots = slots(route.prefix, 24);
                engine.tbl24.fill(*slots.start() as usize..*slots.end() as usize + 1, entry);
            } else {
                let (start, _) = engine.block_of(route.prefix.first() >> 8);
                let (first, last) = (route.prefix.first() & 255, route.prefix.last() & 255);
                engine.tbl_long.fill(start + first as usize..start + last as usize + 1, entry);
            }
        }
        Ok(engine)
    }

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.look_up(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        self.lookup_blocks(addresses, next_hops);
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let longer = deltas.iter().filter(|delta| delta.prefix.len() > 24 && delta.after.is_some());
        if self.owners.room() < longer.count() {
            return Update::Rebuild;
        }
        Update::Applied(self.follow(rib, &in_order(deltas)))
    }

    fn share(&mut self) -> Option<Self> {
        let (tbl24, tbl_long) = (self.tbl24.clone(), self.tbl_long.share(self.owners.share(usize::MAX)));
        Some(Self { tbl24, tbl_long, owners: Owners::from(0), width: PhantomData })
    }

    fn readers_passed(&mut self) {
        self.owners.readers_passed();
    }

    fn stages(&self) -> usize {
        2
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[u32], found: &mut [u64]) {
        let tbl24 = self.tbl24();
        for (&address, found) in addresses.iter().zip(found) {
            if stage == 0 {
                *found = u32::load(&tbl24[(address >> 8) as usize]).into();
                continue;
            }
            let mut entry = Entry(*found as u32);
            if let Some(start) = start_of(entry) {
                entry = self.tbl_long.get(start | (address & 255) as usize);
            }
            *found = entry.answer::<W>().widen().0.into();
        }
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        sections.made("TBL24", &self.tbl24.read(0..TBL24));
        sections.made("TBLlong", &self.tbl_long.to_vec());
        Ok(())
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<Self, Error> {
        Ok(Self {
            tbl24: Words::holding(sections.array_of("TBL24", TBL24)?),
            tbl_long: WordChunks::holding(sections.array("TBLlong")?),
            owners: Owners::from(0),
            width: PhantomData,
        })
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("TBL24", size_of_val(&self.tbl24[..]))
            .off_chip("TBLlong", self.tbl_long.bytes())
            .off_chip("block owners", self.owners.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let free = self.owners.numbers() - self.owners.len();
        vec![Figure::count("TBLlong blocks", self.tbl_long.chunks() - free)]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }
}
