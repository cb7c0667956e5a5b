//! [`Open`]: tables by the paths that queries name, opened once.

use crate::duckdb::Texts;
use fibula::snapshot::Snapshot;
use fibula::{Address, InternedTable, IpPrefix, Prefix, Rib};
use fibula_arrow::{Compiled, How};
use fibula_io::rov::Vrps;
use fibula_io::table::{ReadOptions, read};
use fibula_io::{Source, snapshot};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// The number of tables that are kept for later queries, of each kind.
const KEPT: usize = 8;

/// A table that files are opened as.
pub(crate) trait Open: Send + Sync + Sized + 'static {
    /// Opens a file.
    fn open(path: &Path) -> Result<Self, String>;

    /// Returns the tables that are kept.
    fn kept() -> &'static Kept<Self>;
}

/// What the first argument of a function names.
pub(crate) trait Named: Sized {
    /// Returns what has this name.
    fn at(name: &str) -> Result<Arc<Self>, String>;
}

/// The table of a file, which is opened if it is not kept or has changed since. Asks the system for
/// the state of the file.
impl<T: Open> Named for T {
    fn at(path: &str) -> Result<Arc<Self>, String> {
        Self::kept().at(path)
    }
}

/// How addresses are read that are not as they should be: the kinds that hold one of IPv4.
impl Named for How {
    fn at(kinds: &str) -> Result<Arc<Self>, String> {
        let embedded = kinds.parse().map_err(|error: fibula::Error| error.to_string())?;
        Ok(Arc::new(Self { clean: true, embedded, ..Self::default() }))
    }
}

/// What tells that a file has changed.
type Stamp = (Option<SystemTime>, u64);

/// A table, opened by the first thread that needs it while others wait.
type Slot<T> = Arc<OnceLock<Result<Arc<T>, String>>>;

/// Tables of files, the one that was used last at the end.
pub(crate) struct Kept<T>(Mutex<Vec<(String, Stamp, Slot<T>)>>);

impl<T: Open> Kept<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn at(&self, path: &str) -> Result<Arc<T>, String> {
        let slot = self.slot(path)?;
        let table = slot.get_or_init(|| T::open(Path::new(path)).map(Arc::new)).clone();
        if table.is_err() {
            // The next call tries again.
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|(_, _, other)| !Arc::ptr_eq(other, &slot));
        }
        table
    }

    fn slot(&self, path: &str) -> Result<Slot<T>, String> {
        let metadata =
            Path::new(path).metadata().map_err(|error| format!("{path}: cannot be read: {error}"))?;
        // Taken before the file is read: if it changes meanwhile, it is read again the next time.
        let stamp = (metadata.modified().ok(), metadata.len());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(other, ..)| other == path).map(|at| kept.remove(at));
        let slot = match found {
            Some((_, before, slot)) if before == stamp => slot,
            _ => Slot::default(),
        };
        kept.push((path.to_owned(), stamp, Arc::clone(&slot)));
        if kept.len() > KEPT {
            kept.remove(0);
        }
        Ok(slot)
    }
}

/// The next hops of a table, and their names by index.
pub(crate) struct NextHops {
    pub(crate) compiled: Compiled,
    pub(crate) names: Texts,
}

impl Open for NextHops {
    fn open(path: &Path) -> Result<Self, String> {
        let compiled = if snapshot::is_one(path) {
            let snapshot = Snapshot::open(path).map_err(|error| error.to_string())?;
            Compiled::of_snapshot(&snapshot)
        } else {
            let tables = read(&Source::File(path.into()), &ReadOptions::default());
            Compiled::of_tables(&tables.map_err(|error| error.to_string())?.tables)
        };
        let compiled = compiled.map_err(|error| format!("{}: {error}", path.display()))?;
        let names = compiled.next_hops().iter().map(|(_, info)| info.to_string());
        // Index 0 is "no route".
        let names = std::iter::once(String::new()).chain(names).collect();
        Ok(Self { compiled, names: Texts::new(names) })
    }

    fn kept() -> &'static Kept<Self> {
        static KEPT: Kept<NextHops> = Kept::new();
        &KEPT
    }
}

/// The routes of a table. Compiled tables do not know their prefixes.
impl Open for InternedTable<()> {
    fn open(path: &Path) -> Result<Self, String> {
        fn prefixes<A: Address>(rib: &Rib<A>) -> impl Iterator<Item = (IpPrefix, ())>
        where
            Prefix<A>: Into<IpPrefix>,
        {
            rib.iter().map(|route| (route.prefix.into(), ()))
        }
        let tables = read(&Source::File(path.into()), &ReadOptions::default());
        let tables = tables.map_err(|error| error.to_string())?.tables;
        Ok(prefixes(&tables.ipv4).chain(prefixes(&tables.ipv6)).collect())
    }

    fn kept() -> &'static Kept<Self> {
        static KEPT: Kept<InternedTable<()>> = Kept::new();
        &KEPT
    }
}

/// RPKI's payloads.
impl Open for Vrps {
    fn open(path: &Path) -> Result<Self, String> {
        let read = Vrps::read(&Source::File(path.into()), &ReadOptions::default());
        read.map(|(vrps, _)| vrps).map_err(|error| error.to_string())
    }

    fn kept() -> &'static Kept<Self> {
        static KEPT: Kept<Vrps> = Kept::new();
        &KEPT
    }
}
