//! `triec`: an IPv6 trie of fixed strides that stores runs of equal next hops once, and a hash
//! table behind it.
//!
//! Xianghui Hu, Xinan Tang and Bei Hua, "High-performance IPv6 Forwarding Algorithm for Multi-core
//! and Multithreaded Network Processor" (PPoPP 2006), section 3, Figures 2 to 5: TrieC, for
//! addresses of 2000::/3.
//!
//! # Layout
//!
//! Strides 24-8-8-8-16. The first three bits are always 001 and are not read. The 21 bits after
//! them are looked up in TrieC15/6, then eight at a time in TrieC4/4, and the last 16 by hash. In
//! TrieC*m*/*n*, the first *m* bits of a stride (*Tindex*) choose an entry and the other *n*
//! (*BAindex*) one of its 2^*n* slots. Bit *i* of an entry's *BitAtlas* is set if slot *i* differs
//! from the one before. Only then does the slot have a next-hop index (NHI) of its own: *modified
//! compact prefix expansion*.
//!
//! ```text
//! NHI              15  14            6 5           0
//!                 +---+---------------+-------------+
//!                 | 0 | next hop      | length      |   an answer, and its route's length
//!                 | 1 | node of the next level      |   a pointer
//!                 | 1 | next hop      | length      |   4th level: Hash16 may have more;
//!                 +---+---------------+-------------+   Hash16: routes longer than /64 exist
//! TrieC15/6       0              8              16
//!  2^15 entries   +--------------+--------------+
//!  of 16 bytes    | BitAtlas, 64 | 4 NHI        |   Basic: up to four runs
//!                 | BitAtlas, 64 | lo hi  -  -  |   more: a 32-bit pointer to the ExtraNHIA
//!                 +--------------+--------------+
//! TrieC4/4        0              2           8
//!  16 entries     +--------------+-----------+
//!  a node,        | BitAtlas, 16 | 3 NHI     |       Basic: up to three runs
//!  8 bytes each   | BitAtlas, 16 | lo hi  -  |       more
//!                 +--------------+-----------+
//! Hash16          0              8                             24
//!                 +--------------+-----------------------------+
//!                 | prefix of 58 | as an entry of TrieC15/6    |   for the 64 /64s of a /58
//!                 +--------------+-----------------------------+
//! ExtraNHIA       NHIs side by side, as many for an entry as its BitAtlas has bits set
//! ```
//!
//! `TotalEntropy`, the number of bits set in a BitAtlas, tells whether its entry is Basic.
//! `PositionEntropy`, the number of bits set up to a slot, tells which NHI is the slot's. Each is
//! one population count; with `count=ffs` it is the loop over FFS of section 5.4. A lookup reads an
//! entry and perhaps its ExtraNHIA on four levels, **at most eight accesses, and then may hash
//! once**.
//!
//! As in the paper the hash, with the search that is part of it, is counted separately. So is the
//! tree of routes longer than /64, which the paper does not have. `fibula study triec` prints the
//! most accesses without those.
//!
//! # Worked examples
//!
//! Figure 2: 2002:4000::/18 to A and 2002:5000::/20 to B share entry 9 of TrieC15/6. Its 64 slots
//! hold A 48 times and B 16 times, in three runs that begin at slots 0, 16 and 32: BitAtlas
//! `0x0000_0001_0001_0001`, NHIA A B A. Address 2002:6A00:: is slot 42, up to which three bits are
//! set: the third NHI, A.
//!
//! Figure 5: 2002:4000::/18 to A and 2002:4C60::/28 to B, and an address 2002:4C6A::200C. Bits 3 to
//! 17 give entry 9, bits 18 to 23 give slot 12. Two bits are set up to there, and the second NHI
//! points to a TrieC4/4 node. In its entry 6 (bits 24 to 27), one bit is set up to slot 10 (bits 28
//! to 31): the first NHI, B. Two accesses.
//!
//! # Updates
//!
//! Every NHI stores the length of its route. A new route is written wherever the stored length is
//! not greater than its own. A withdrawn route is replaced by its parent wherever the length is its
//! own. Both happen in the slots that it covers and in all nodes below them. An entry is unpacked,
//! changed and packed again. A node is allocated with the first route below it and freed with the
//! last.
//!
//! # What differs from the paper
//!
//! - **Wider NHIs.** 9 bits of next hop and 15 of pointer are enough for 511 next hops and 32,768
//!   nodes a level. With more nodes, the NHIs that may point have 32 bits: entries of 24 and 16
//!   bytes. Those of the 4th level and of Hash16, most of the table, only answer and stay as they
//!   are. With more next hops, all NHIs have 32 bits (25 of next hop) or 64: entries of 40 and 32
//!   bytes. `nhi=16` refuses what the paper's widths do not hold; `nhi=32-16`, `nhi=32` and
//!   `nhi=64` take wider ones for any table.
//! - **Every address.** The paper looks up nothing outside 2000::/3 or past /64. Two [Patricia
//!   trees](fibula::parts::blocks::patricia) hold those routes. One compare of the first three bits
//!   leads to one, and a flag in an NHI of Hash16 to the other. Other addresses pay nothing for
//!   them.
//! - **Hash16 in blocks.** The paper hashes each /64, which makes 32,768 entries of a /49;
//!   `hash16=triples` does so, with the paper's NHIs. By default 58 bits are the key of an entry,
//!   and the entry resolves the last six as TrieC15/6 does: 512 entries, one for a /58 or longer.
//!   Its *pointer* to the next entry of a chain has become the next bucket. The search is part of
//!   the hash operation. At most half of the buckets are used, so that it mostly reads one or two,
//!   and then perhaps an ExtraNHIA.
//! - **The 4th level keeps its answer** beside the flag, for addresses that Hash16 does not cover.
//! - **The default is a register.** A route of 2000::/3 or shorter is not written to all 2^15
//!   entries; an NHI of zeros means it. So an empty TrieC15/6 is all zeros, and memory is mapped
//!   only where it is written.
//! - **Bit 0 of a BitAtlas** counts as set even if it is not, for the same reason.
//! - Nodes are numbered without holes (`dense`), so one may move when
//!   another is removed. [`Engine::memory`] lists what finds them again, "node owners".
//! - The paper keeps all tables in SRAM chips beside the processor, so all parts count as off chip.

mod entry;
mod extra;
mod figures;
mod hash16;
mod lookup;
mod nhi;
mod side;
mod stages;
mod table;
#[cfg(test)]
mod tests;
mod update;
mod validate;

use entry::{Counting, FindFirstSet, One, PopCount};
use fibula::engine::Stages;
use fibula::engine::{
    About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Staging, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::blocks::entry::in_order;
use fibula::parts::blocks::patricia;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Delta, Error, ErrorKind, Limit, Rib};
use nhi::{Nhi16, Nhi32, Nhi64};
use side::Side;
use table::Table;

pub use figures::{EXTRA_NHIA_PERCENT, LAST_NHI_BITS, NHI_BITS};
pub use hash16::HASH16_ENTRIES_MAX;
pub use nhi::NODES_MAX;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "triec",
    paper: "X. Hu, X. Tang, B. Hua, \"High-performance IPv6 Forwarding Algorithm for Multi-core and Multithreaded \
            Network Processor\", PPoPP 2006 (TrieC)",
    year: 2006,
    updates: Updates::InPlace,
    limits: &[
        LimitInfo { what: nhi::NODES, max: NODES_MAX },
        LimitInfo { what: hash16::HASH16_ENTRIES, max: HASH16_ENTRIES_MAX },
        LimitInfo { what: patricia::NODES, max: patricia::MAX_NODES },
    ],
    parameters: &[COUNT, HASH16, NHI],
    ..About::DEFAULT
};

const COUNT: ParameterInfo = ParameterInfo {
    name: "count",
    meaning: "how bits are counted: popcount (default), or ffs, a loop that finds one bit after the other",
};
const HASH16: ParameterInfo = ParameterInfo {
    name: "hash16",
    meaning: "entries of the hash table: blocks (default) of 64 neighbouring /64s, or triples, one for each /64, as in \
              the paper, with nhi=16",
};
const NHI: ParameterInfo = ParameterInfo {
    name: "nhi",
    meaning: "bits of a next-hop index: narrowest (default) that holds the table, 16 as in the paper, 32-16 \
              (answers of the last levels 16), 32 or 64",
};

/// The compiled table; see the [module page](self).
#[derive(Debug)]
pub struct TrieC<W: Width> {
    layout: Layout,
    /// The routes outside the trie.
    side: Side<W>,
    count_by: CountBy,
    /// The number of routes when it was built.
    routes_built: usize,
}

/// The table by the widths of its next-hop indices: those that may point, and those that only
/// answer. The paper's widths, unless something does not fit.
#[derive(Debug)]
enum Layout {
    Bits16(Table<Nhi16, Nhi16>),
    Bits32Over16(Table<Nhi32, Nhi16>),
    Bits32(Table<Nhi32, Nhi32>),
    Bits64(Table<Nhi64, Nhi64>),
    Triples(Table<Nhi16, Nhi16, One, 2>),
}

/// The widths of next-hop indices that a configuration allows.
#[derive(Clone, Copy, Debug)]
enum Widths {
    Narrowest,
    Bits16,
    Bits32Over16,
    Bits32,
    Bits64,
    Triples,
}

/// The two ways to count bits, as a configuration names them.
#[derive(Clone, Copy, Debug)]
enum CountBy {
    PopCount,
    FindFirstSet,
}

/// Calls a method with the type that counts.
macro_rules! counting {
    ($count_by:expr, $table:ident.$function:ident($($argument:expr),+)) => {
        match $count_by {
            CountBy::PopCount => $table.$function::<PopCount, _>($($argument),+),
            CountBy::FindFirstSet => $table.$function::<FindFirstSet, _>($($argument),+),
        }
    };
}

layouts!(($) with_table: Bits16, Bits32Over16, Bits32, Bits64, Triples);

impl Layout {
    fn build(rib: &Rib<u128>, widths: Widths, pages: Pages) -> Result<Self, Limit> {
        let bits16 = || Table::<Nhi16, Nhi16>::build(rib, pages).map(Self::Bits16);
        let bits32_over_16 = || Table::<Nhi32, Nhi16>::build(rib, pages).map(Self::Bits32Over16);
        let bits32 = || Table::<Nhi32, Nhi32>::build(rib, pages).map(Self::Bits32);
        let bits64 = || Table::<Nhi64, Nhi64>::build(rib, pages).map(Self::Bits64);
        match widths {
            Widths::Narrowest => {
                bits16().or_else(|_| bits32_over_16()).or_else(|_| bits32()).or_else(|_| bits64())
            }
            Widths::Bits16 => bits16(),
            Widths::Bits32Over16 => bits32_over_16(),
            Widths::Bits32 => bits32(),
            Widths::Bits64 => bits64(),
            Widths::Triples => Table::build(rib, pages).map(Self::Triples),
        }
    }
}

impl<W: Width> Lookup<u128> for TrieC<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        counting!(self.count_by, self.search(address, meter))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        counting!(self.count_by, self.search_all(isa, addresses, next_hops));
    }

    fn staging() -> Option<Staging<Self, u128>> {
        Some(Staging::of_lookup())
    }
}

impl<W: Width> Stages<u128> for TrieC<W> {
    fn stages(&self) -> usize {
        stages::STAGES
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, isa: I, stage: usize, addresses: &[u128], found: &mut [u64]) {
        counting!(self.count_by, self.run(isa, stage, addresses, found));
    }
}

impl<W: Width> TrieC<W> {
    #[inline(always)]
    fn search<C: Counting, M: Meter>(&self, address: u128, meter: &mut M) -> W {
        with_table!(&self.layout, Layout::table => lookup::search::<C, _, _, _, _, _>(table, &self.side, address, meter))
    }

    #[inline(always)]
    fn search_all<C: Counting, I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        with_table!(&self.layout, Layout::table => {
            lookup::search_all::<C, _, _, _, _, _>(table, &self.side, isa, addresses, next_hops);
        });
    }

    #[inline(always)]
    fn run<C: Counting, I: Isa>(&self, _: I, stage: usize, addresses: &[u128], found: &mut [u64]) {
        with_table!(&self.layout, Layout::table => table.run_stage::<C, _>(&self.side, stage, addresses, found));
    }
}

impl<W: Width> Engine<u128> for TrieC<W> {
    type View = Self;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        let count_by =
            config.choice("count", &[("popcount", CountBy::PopCount), ("ffs", CountBy::FindFirstSet)])?;
        let widths = [
            ("narrowest", Widths::Narrowest),
            ("16", Widths::Bits16),
            ("32-16", Widths::Bits32Over16),
            ("32", Widths::Bits32),
            ("64", Widths::Bits64),
        ];
        let widths = match (
            config.choice("hash16", &[("blocks", false), ("triples", true)])?,
            config.choice("nhi", &widths)?,
        ) {
            (false, widths) => widths,
            (true, Widths::Narrowest | Widths::Bits16) => Widths::Triples,
            (true, _) => {
                let text = "parameter hash16=triples: expected nhi=16, the width of the paper's";
                return Err(Error::new(ErrorKind::Parameter, text));
            }
        };
        let layout = Layout::build(rib, widths, config.pages)?;
        let side = Side::build(rib, config.pages)?;
        Ok(Self { layout, side, count_by, routes_built: rib.len() })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        if !matches!(self.layout, Layout::Bits16(_) | Layout::Triples(_)) && rib.len() * 2 < self.routes_built
        {
            // So many routes have gone that a narrower layout may do. This is rare enough for a
            // rebuild.
            return Update::Rebuild;
        }
        let announced = deltas.iter().filter(|delta| delta.after.is_some());
        let routes = announced.map(|delta| (delta.prefix, delta.after));
        let room = with_table!(&self.layout, Layout::table => table.check_room(routes));
        if room.and_then(|()| self.side.check_room(deltas.len())).is_err() {
            return Update::Rebuild;
        }
        let mut cost = with_table!(&mut self.layout, Layout::table => table.follow(rib, &in_order(deltas)));
        cost += self.side.follow(rib, deltas);
        Update::Applied(cost)
    }

    fn memory(&self) -> Memory {
        let (longer, outside) = self.side.bytes();
        with_table!(&self.layout, Layout::table => table.memory())
            .off_chip("routes past /64", longer)
            .off_chip("routes outside 2000::/3", outside)
    }

    fn figures(&self) -> Vec<Figure> {
        with_table!(&self.layout, Layout::table => table.figures())
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        with_table!(&self.layout, Layout::table => table.validate(rib))?;
        self.side.validate(rib)
    }
}
