//! Many tables: memory and speed of several ways to keep them.

use crate::Error;
use crate::bench::{median, rounded};
use fibula::engine::Level;
use fibula::engine::Pages;
use fibula::table_set::{Mixed, TableId, TableSet};
use fibula::{Limit, NextHop, Rib};
use fibula_engines::sail_m::SailM;
use serde::Serialize;
use std::collections::HashSet;
use std::time::Instant;

/// One way to keep some tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VrfRow {
    /// The tables' name.
    pub tables_named: String,
    /// The number of tables.
    pub tables: usize,
    /// The routes of all tables together.
    pub routes: usize,
    /// `set/best` and the like: a [`TableSet`] with this engine for large tables. `each/NAME`: a
    /// set where all tables are large. `sail-m`: all in one. `gpu-mosaic on DEVICE`: on a card.
    pub kept_as: String,
    /// The bytes of all tables.
    pub bytes: usize,
    /// The bytes of one more table without routes.
    pub empty_bytes: usize,
    /// The build time in milliseconds.
    pub build_ms: f64,
    /// Million lookups a second on one core (on a card: from host memory and back), each address in
    /// another table than the one before; the median of the passes.
    pub mlps_mixed: f64,
    /// The same addresses, table by table.
    pub mlps_sorted: f64,
    /// The number of answers that were compared with the tables' own.
    pub checked: usize,
    /// The number of wrong answers.
    pub mismatches: usize,
}

/// The tables, and the addresses to look up in them.
#[derive(Clone, Copy, Debug)]
pub struct VrfWork<'w> {
    /// The tables' name in the rows.
    pub name: &'w str,
    /// The tables. Their numbers are their indices.
    pub ribs: &'w [Rib<u32>],
    /// The addresses, in the order of packets.
    pub addresses: &'w [u32],
    /// The table of each address.
    pub ids: &'w [u16],
    /// Addresses handed over in one call.
    pub batch: usize,
    /// Timed passes.
    pub passes: usize,
}

/// Many tables that answer lookups, wherever they are.
pub trait ManyTables {
    /// Looks up a batch, each address in its table; `ids` and `numbers` name the same tables.
    ///
    /// # Errors
    /// If the tables are lost.
    fn look_up(&mut self, ids: &[TableId], numbers: &[u16], addresses: &[u32]) -> Result<(), Error>;

    /// Returns the answer at an index of the last batch.
    fn answer(&self, at: usize) -> NextHop;

    /// Returns the bytes of all tables.
    fn bytes(&self) -> usize;

    /// Adds a table without routes.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn add_empty(&mut self) -> Result<(), Error>;
}

/// Tables, with memory for the answers of a batch.
enum Kept {
    Set(TableSet<u32>, Box<Mixed<u32>>, Vec<NextHop>),
    Merged(Box<SailM<u32>>, Vec<u32>),
}

impl ManyTables for Kept {
    fn look_up(&mut self, ids: &[TableId], numbers: &[u16], addresses: &[u32]) -> Result<(), Error> {
        match self {
            Self::Set(set, mixed, answers) => {
                set.lookup_batch(ids, addresses, &mut answers[..ids.len()], mixed);
            }
            Self::Merged(tables, answers) => {
                tables.lookup_batch(Level::best(), addresses, numbers, &mut answers[..ids.len()]);
            }
        }
        Ok(())
    }

    fn answer(&self, at: usize) -> NextHop {
        match self {
            Self::Set(_, _, answers) => answers[at],
            Self::Merged(_, answers) => NextHop(answers[at]),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Set(set, ..) => set.bytes(),
            Self::Merged(tables, _) => tables.memory().total(),
        }
    }

    fn add_empty(&mut self) -> Result<(), Error> {
        match self {
            Self::Set(set, ..) => {
                set.create();
            }
            Self::Merged(tables, _) => {
                tables.push_table(&Rib::new())?;
            }
        }
        Ok(())
    }
}

/// How to keep tables.
#[derive(Clone, Debug)]
pub enum VrfKind {
    /// A set that compiles each table by this specification.
    Set(String),
    /// SAIL_M.
    Merged,
}

impl VrfKind {
    fn name(&self) -> String {
        match self {
            Self::Set(engine) => format!("set/{engine}"),
            Self::Merged => "sail-m".into(),
        }
    }

    fn build(&self, VrfWork { ribs, batch, .. }: VrfWork<'_>) -> Result<Kept, Error> {
        match self {
            Self::Merged => {
                Limit::check("bytes of tables merged by sail-m", merged_bytes(ribs), MERGED_MOST)
                    .map_err(fibula::Error::from)?;
                let ribs: Vec<&Rib<u32>> = ribs.iter().collect();
                Ok(Kept::Merged(Box::new(SailM::build(&ribs, Pages::Small)?), vec![0; batch]))
            }
            Self::Set(engine) => {
                let mut set = TableSet::new(engine)?;
                for rib in ribs {
                    let id = set.create();
                    set.set(id, rib)?;
                }
                Ok(Kept::Set(set, Box::default(), vec![NextHop::NONE; batch]))
            }
        }
    }
}

/// The most bytes of SAIL_M. It gives every table a chunk wherever any table has one, so unrelated
/// tables together take far too much.
const MERGED_MOST: u64 = 2 << 30;

/// Estimates the bytes that SAIL_M takes for these tables: for each, one next hop per slot of all
/// their chunks.
fn merged_bytes(ribs: &[Rib<u32>]) -> u64 {
    let nodes = |level: u8| {
        let longer = ribs.iter().flat_map(Rib::iter).filter(|route| route.prefix.len() > level);
        longer.map(|route| route.prefix.first() >> (32 - level)).collect::<HashSet<u32>>().len()
    };
    let slots = (1 << 16) + 256 * (nodes(16) + nodes(24));
    (ribs.len() * slots * size_of::<u32>()) as u64
}

/// The number of empty tables that are added to measure one.
const EMPTY: usize = 64;

/// Keeps the tables in one way and measures it. In one pass, `check` answers spread over the
/// addresses are compared with the tables' own longest match.
///
/// # Errors
/// If the tables do not fit, or there are no addresses or passes.
pub fn study_vrf(kind: &VrfKind, work: VrfWork<'_>, check: usize) -> Result<VrfRow, Error> {
    study_vrf_of(|| kind.build(work), kind.name(), work, check)
}

/// Measures tables that the caller keeps. `build` makes them, and the row calls them `kept_as`.
///
/// # Errors
/// As [`study_vrf`], and if the tables are lost.
pub fn study_vrf_of<K: ManyTables>(
    build: impl FnOnce() -> Result<K, Error>,
    kept_as: String,
    work: VrfWork<'_>,
    check: usize,
) -> Result<VrfRow, Error> {
    let VrfWork { name, ribs, addresses, ids, batch, passes } = work;
    if addresses.is_empty() || addresses.len() != ids.len() || batch == 0 || passes == 0 {
        return Err(Error::usage("addresses with a table each, batch and passes are at least 1"));
    }
    let start = Instant::now();
    let mut kept = build()?;
    let build_ms = start.elapsed().as_secs_f64() * 1e3;
    let bytes = kept.bytes();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&at| ids[at]);
    let sorted: (Vec<u16>, Vec<u32>) = order.iter().map(|&at| (ids[at], addresses[at])).unzip();

    let step = (addresses.len() / check.max(1)).max(1);
    let (mut checked, mut mismatches) = (0, 0);
    for (start, addresses) in (0..).step_by(batch).zip(addresses.chunks(batch)) {
        let numbers = &ids[start..start + addresses.len()];
        kept.look_up(&table_ids(numbers), numbers, addresses)?;
        for at in (0..addresses.len()).filter(|at| (start + at).is_multiple_of(step)) {
            let route = ribs[usize::from(numbers[at])].longest_match(addresses[at]);
            let right = route.map_or(NextHop::NONE, |route| route.next_hop);
            checked += 1;
            mismatches += usize::from(kept.answer(at) != right);
        }
    }
    let mut timed = |numbers: &[u16], addresses: &[u32]| {
        let ids = table_ids(numbers);
        let mut mlps = Vec::new();
        for _ in 0..passes {
            let start = Instant::now();
            for ((ids, numbers), addresses) in
                ids.chunks(batch).zip(numbers.chunks(batch)).zip(addresses.chunks(batch))
            {
                kept.look_up(ids, numbers, addresses)?;
            }
            mlps.push(addresses.len() as f64 / start.elapsed().as_secs_f64().max(1e-9) / 1e6);
        }
        Ok::<f64, Error>(rounded(median(&mlps).unwrap_or_default()))
    };
    let mlps_mixed = timed(ids, addresses)?;
    let mlps_sorted = timed(&sorted.0, &sorted.1)?;
    for _ in 0..EMPTY {
        kept.add_empty()?;
    }
    Ok(VrfRow {
        tables_named: name.into(),
        tables: ribs.len(),
        routes: ribs.iter().map(Rib::len).sum(),
        kept_as,
        bytes,
        empty_bytes: (kept.bytes() - bytes) / EMPTY,
        build_ms: rounded(build_ms),
        mlps_mixed,
        mlps_sorted,
        checked,
        mismatches,
    })
}

fn table_ids(numbers: &[u16]) -> Vec<TableId> {
    numbers.iter().map(|&number| TableId::new(number.into(), 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_keeping_tables_answers_as_they_do() {
        let ribs: Vec<Rib<u32>> = (1..20_u32)
            .map(|table| {
                let routes = (0..table * 3).map(|at| fibula::Route {
                    prefix: fibula::Prefix::containing(at << 20, 10 + (at % 20) as u8),
                    next_hop: NextHop(table + at),
                });
                routes.collect()
            })
            .collect();
        let addresses: Vec<u32> = (0..5000_u32).map(|at| at.wrapping_mul(0x9E37_79B9) >> 4).collect();
        let ids: Vec<u16> = (0..5000).map(|at| at % 19).collect();
        let work =
            VrfWork { name: "19", ribs: &ribs, addresses: &addresses, ids: &ids, batch: 700, passes: 1 };
        for (kind, name) in [
            (VrfKind::Set("radix".into()), "set/radix"),
            (VrfKind::Set("best".into()), "set/best"),
            (VrfKind::Merged, "sail-m"),
        ] {
            let row = study_vrf(&kind, work, 5000).unwrap();
            assert_eq!((row.kept_as.as_str(), row.checked, row.mismatches), (name, 5000, 0));
            assert!(row.mlps_mixed > 0.0 && row.mlps_sorted > 0.0 && row.bytes > 0);
        }
    }
}
