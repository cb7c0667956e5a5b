//! `sail-m`: SAIL for many tables, one overlay trie that all of them share.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014), section 4.3. [`SailM`] is the structure: many tables (VRFs), a lookup takes an
//! address and a table's id, and an update changes one table. [`Replicated`] is the engine of the
//! registry: one table in a given number of copies.
//!
//! # Layout
//! The tries of all tables are overlaid and pushed to levels 16, 24 and 32 as one
//! ([`sail_l`](super::sail_l)). A node has a chunk of 256 slots below it if *some* table has a
//! more-specific route there. Otherwise it has an answer in every table. So the bit maps and chunk
//! ids, which say where an answer is stored, serve all tables. Each slot has an array of m next
//! hops, one per table.
//!
//! ```text
//!          slots of level 16               slots of level 24                  slots of level 32
//!          0 .. 65,535                     65,536 +                           C24 << 8 | a & 255
//!                                          (C16 << 8 | a >> 8 & 255)
//!
//! on chip  BC16 17 bits:                   B24  1 bit   1: an answer
//!          B16  1 bit   1: an answer
//!          C16  16 bits chunk of level 24
//! off chip                                 C24  32 bits chunk of level 32
//!          N16  m next hops                N24  m next hops                   N32  m next hops
//! ```
//!
//! A lookup reads one entry of BC16, then N16 or B24, then N24 or C24 and N32: two loads for an
//! answer of level 16, three for level 24, four for level 32. Entries of BC16 are packed without
//! gaps. A load takes four bytes, in which any entry fits.
//!
//! N16 and N24 are one array: the slots of level 24 follow those of level 16, so that a batch reads
//! either without a branch. The m next hops of a slot are at one index of m arrays, one array per
//! table. A lookup touches one line of them in any layout. In this one, neighbours that share a
//! line or a page belong to the same table, a prefix is painted in one stroke, and a table comes or
//! goes without moving the others.
//!
//! The other layout, with all tables in one array and 256 next hops of one beside 256 of the next,
//! was slower. On batches of one table each, prefix trace, it gave 0.48 of the throughput of twelve
//! `sail-l`, where separate arrays give 0.77. A table's next hops then lie on twelve times as many
//! pages.
//!
//! Every table has a next hop in every slot. So the structure pays when tables have their prefixes
//! in common, as the routers of one network do. Twelve views of a made table of 100,000 prefixes
//! take 13.7 MB, and 50.1 MB with a `sail-l` each. Twelve tables that have nothing in common take
//! 116.3 MB (`cargo test -p fibula-lab --test many_tables -- --nocapture`).
//!
//! # Worked example
//! Table 0 is that of Figure 2, mapped to levels 16, 24 and 32 as on the page of
//! [`sail_l`](super::sail_l#worked-example). Table 1 has 0.1.2.0/24 -> 5 and 0.0.2.0/24 -> 7 and no
//! default route. Node 1 of level 16 is a leaf of table 0 and has a chunk only because of table 1:
//!
//! ```text
//! B16  0: 0     1: 0     2: 1      3: 0      all others: 1
//! C16  0: 0     1: 2               3: 1
//! N16                    2: 4 0              all others: 6 0
//! B24  chunk 0:  1  1  0  1 then 1      chunk 1:  1  1  0  1 then 1     chunk 2:  1  1  1 then 1
//! C24  chunk 0:        0                chunk 1:        1
//! N24  chunk 0: 60 60    10 then 60     chunk 1: 40 40    70 then 40    chunk 2: 30 30 35 then 30
//! N32  chunk 0: 37 37 37 97 then 37     chunk 1: 20 20 80 80 then 80
//! ```
//!
//! (Two digits are the next hops of tables 0 and 1.) The address 0.0.2.2 goes from node 0 to slot 2
//! of chunk 0 of level 24, then to slot 2 of chunk 0 of level 32: 3 in table 0, 7 in table 1.
//!
//! # Updates
//! A change of one table paints that table's next hops and leaves all others as they are. A chunk
//! is allocated with the first route of any table below its node and freed with the last. Each
//! chunk counts the routes below its node, so that [`SailM::apply`] need not read the other tables.
//!
//! # What differs from the paper
//! - The paper leaf-pushes the binary overlay trie of its Figure 5 and then runs the lookup of
//!   SAIL_L on it. What that lookup reads is the overlay pushed to the three levels, which is what
//!   is built here.
//! - The paper bounds the memory on chip by 16 bits of C16 and one of B16 for each node of level
//!   16, and one of B24 for each of 2^24 slots ([`ON_CHIP_MAX`]). That holds here to the byte. On
//!   processors, SAIL_L lets a zero in N24 replace the bit of B24. Here internal slots hold zeros
//!   too, but a zero may also mean that this table has no route where others have one. The batch
//!   path then reads B24. Single lookups read in the paper's order.
//! - No table needs a default route.
//! - Updates take the changed intervals from the changed table itself
//!   (`exposed`), so that no overlay trie is needed beside this
//!   one. Chunks are numbered without holes (`dense`), so an update may
//!   move one.

mod batch;
mod bc16;
mod overlay;
mod replicated;
mod table;
#[cfg(test)]
mod tests;
mod update;
mod validate;

pub use replicated::Replicated;

use fibula::engine::{
    About, Cost, Figure, LimitInfo, Meter, ParameterInfo, Unmetered, Update, Updates, Width,
};
use fibula::parts::arch::Level;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Delta, Error, Limit, NextHop, Prefix, Rib};
use overlay::{Overlay, Place};
use table::Table;

/// The most tables: as many as there are 16-bit ids.
pub const TABLES_MAX: usize = 1 << 16;

/// The bytes on chip that no number of tables and routes exceeds, the paper's 2.13 MB. BC16 takes
/// 17 bits for each node of level 16, B24 takes a bit for each node of level 24.
pub const ON_CHIP_MAX: usize = (NODES16 * bc16::BITS + (1 << 24)) / 8;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "sail-m",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_M)",
    year: 2014,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: TABLES, max: TABLES_MAX as u64 }],
    parameters: &[ParameterInfo {
        name: TABLES,
        meaning: "copies of the table, 1 to 65536 (1); an address is looked up in the one that its hash chooses",
    }],
    ..About::DEFAULT
};

/// The name of the limit and of the parameter.
const TABLES: &str = "tables";

/// The slots of a chunk.
const CHUNK: usize = 256;

/// The nodes of level 16.
const NODES16: usize = 1 << 16;
/// The chunks that the slots of level 16 fill.
const CHUNKS16: usize = NODES16 / CHUNK;

/// The most chunks of level 24: one per node of level 16.
const CHUNKS24_MAX: usize = NODES16;

/// Many tables in one structure: the arrays of SAIL_M.
///
/// ```
/// use fibula_engines::sail_m::SailM;
/// use fibula::parts::memory::Pages;
/// use fibula::{NextHop, Rib};
/// let mut red: Rib<u32> = Rib::new();
/// red.insert("10.0.0.0/8".parse()?, NextHop(1));
/// let mut blue: Rib<u32> = Rib::new();
/// blue.insert("10.1.0.0/16".parse()?, NextHop(2));
/// let mut tables: SailM<u8> = SailM::build(&[&red, &blue], Pages::Small)?;
/// let address = 0x0A01_0203;
/// assert_eq!((tables.lookup(address, 0), tables.lookup(address, 1)), (1, 2));
///
/// let delta = blue.insert("10.1.2.0/24".parse()?, NextHop(3)).unwrap();
/// tables.apply(1, &blue, &[delta]);
/// assert_eq!((tables.lookup(address, 0), tables.lookup(address, 1)), (1, 3));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SailM<W: Width> {
    overlay: Overlay,
    tables: Vec<Table<W>>,
    pages: Pages,
    /// The cost of the update in progress.
    cost: Cost,
}

impl<W: Width> SailM<W> {
    /// Compiles tables. The id of a table is its index in `ribs`.
    ///
    /// # Errors
    /// If there are more than [`TABLES_MAX`], or a next hop does not fit into `W`.
    pub fn build(ribs: &[&Rib<u32>], pages: Pages) -> Result<Self, Error> {
        Limit::check(TABLES, ribs.len() as u64, TABLES_MAX as u64)?;
        ribs.iter().try_for_each(|rib| check_next_hop::<W>(rib.max_next_hop()))?;
        let [chunks24, chunks32] = [16, 24].map(|level| internal_nodes(ribs, level));
        let overlay = Overlay::new(chunks24, chunks32, pages);
        let mut tables = Self { overlay, tables: Vec::new(), pages, cost: Cost::default() };
        for route in ribs.iter().flat_map(|rib| rib.iter()) {
            tables.grow(route.prefix);
        }
        for rib in ribs {
            tables.add(rib);
        }
        Ok(tables)
    }

    /// Returns the number of tables.
    #[must_use]
    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Returns the answer of one table for one address, or 0 if it has no route.
    ///
    /// # Panics
    /// If there is no such table.
    #[must_use]
    #[inline]
    pub fn lookup(&self, address: u32, table: u16) -> W {
        self.lookup_metered(address, table, &mut Unmetered)
    }

    /// Does what [`SailM::lookup`] does and reports its memory accesses to `meter`.
    ///
    /// # Panics
    /// If there is no such table.
    #[inline(always)]
    pub fn lookup_metered(&self, address: u32, table: u16, meter: &mut impl Meter) -> W {
        let table = &self.tables[usize::from(table)];
        match self.overlay.place(address, meter) {
            Place::Upper(slot) => meter.load(&table.upper[slot]),
            Place::Lower(slot) => meter.load(&table.lower[slot]),
        }
    }

    /// Looks up many addresses, each in a table of its own: `next_hops[i]` becomes the answer for
    /// `addresses[i]` in `tables[i]`. As fast whether the ids are mixed or all the same.
    ///
    /// # Panics
    /// If the three differ in length, or there is no such table.
    pub fn lookup_batch(&self, isa: Level, addresses: &[u32], tables: &[u16], next_hops: &mut [W]) {
        batch::lookup(self, isa, addresses, tables, next_hops);
    }

    /// Updates one table. `rib` has just changed by `deltas`, at most one per prefix, in any order.
    /// The answers of all other tables stay as they are.
    ///
    /// Returns [`Update::Applied`]. If a next hop does not fit into `W`, returns [`Update::Limit`]
    /// and changes no answer. The cost is in proportion to the addresses whose answer changes, and
    /// to the number of tables where a chunk comes or goes.
    ///
    /// # Panics
    /// If there is no such table.
    pub fn apply(&mut self, table: u16, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let table = usize::from(table);
        assert!(table < self.tables.len(), "table {table} of {}", self.tables.len());
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        if let Err(limit) = check_next_hop::<W>(greatest) {
            return Update::Limit(limit);
        }
        self.cost = Cost::default();
        self.follow(table, rib, deltas);
        Update::Applied(self.cost)
    }

    /// Adds a table after all others and returns its id. The others do not change, except for the
    /// chunks that the new table adds to the overlay.
    ///
    /// # Errors
    /// If there are [`TABLES_MAX`] already, or a next hop does not fit into `W`. Then nothing has
    /// changed.
    pub fn push_table(&mut self, rib: &Rib<u32>) -> Result<u16, Error> {
        let table = self.tables.len();
        Limit::check(TABLES, table as u64 + 1, TABLES_MAX as u64)?;
        check_next_hop::<W>(rib.max_next_hop())?;
        rib.iter().for_each(|route| self.grow(route.prefix));
        self.add(rib);
        Ok(table as u16)
    }

    /// Removes the last table, whose routes are `rib`, and the chunks that no other table needs.
    ///
    /// To free an id before the last one, withdraw the routes of its table. It then answers "no
    /// route" and can take the routes of another table.
    ///
    /// # Panics
    /// If there is no table.
    pub fn pop_table(&mut self, rib: &Rib<u32>) {
        self.tables.pop().expect("a table to remove");
        rib.iter().for_each(|route| self.shrink(route.prefix));
    }

    /// Returns the memory that the tables occupy, by part.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let [bc16, b24, c24] = self.overlay.bytes();
        let n16 = NODES16 * self.tables.len() * size_of::<W>();
        let upper: usize = self.tables.iter().map(|table| table.upper.bytes()).sum();
        let lower = self.tables.iter().map(|table| table.lower.bytes()).sum();
        Memory::new()
            .on_chip("BC16", bc16)
            .on_chip("B24", b24)
            .off_chip("N16", n16)
            .off_chip("N24", upper - n16)
            .off_chip("C24", c24)
            .off_chip("N32", lower)
            .off_chip("chunk owners and routes", self.overlay.below16.bytes() + self.overlay.below24.bytes())
    }

    /// Returns the size of the overlay: the number of tables, and the numbers of nodes that are
    /// internal in some of them and so have chunks.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("tables", self.tables.len()),
            Figure::count("chunks, level 24", self.overlay.below16.len()),
            Figure::count("chunks, level 32", self.overlay.below24.len()),
        ]
    }

    /// Checks the structure against the tables it was built from, in the order of their ids. Each
    /// chunk is below an internal node and counts its routes, each internal node has one, and all
    /// answers are right. For tests; O(tables × slots).
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, ribs: &[&Rib<u32>]) -> Result<(), String> {
        validate::validate(self, ribs)
    }
}

/// Checks that a next hop fits into a width.
fn check_next_hop<W: Width>(greatest: NextHop) -> Result<(), Limit> {
    Limit::check(Limit::NEXT_HOPS, greatest.0.into(), W::MAX.into())
}

/// Returns the number of nodes of a level that are internal in some table.
fn internal_nodes(ribs: &[&Rib<u32>], level: u8) -> usize {
    let mut nodes = Vec::new();
    for rib in ribs {
        let longer = rib.iter().filter(|route| route.prefix.len() > level);
        nodes.extend(longer.map(|route| Prefix::containing(route.prefix.first(), level)));
        nodes.dedup();
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}
