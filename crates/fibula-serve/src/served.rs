//! [`Served`]: one generation of a table, which answers as long as anybody holds it.

use arrow_array::{Array, UInt32Array};
use fibula::Views;
use fibula_arrow::{How, TableValues, Values, lookup_counted};
use fibula_io::table::Loaded;
use fibula_page::{Change, Shown};
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;

/// A table as it was read once.
#[derive(Debug)]
pub(crate) struct Served {
    shown: Shown,
    /// The file that it was read from, or what feeds it.
    pub(crate) origin: String,
    is_fed: bool,
    pub(crate) loaded: SystemTime,
    /// The values as columns of Arrow, from the first time that one is asked for.
    values: OnceLock<Vec<(String, Values)>>,
    /// The numbers of the values alone, from then on: a smaller table. `None` if no engine holds
    /// it.
    views: OnceLock<Option<Views>>,
}

impl Deref for Served {
    type Target = Shown;

    fn deref(&self) -> &Shown {
        &self.shown
    }
}

impl Served {
    /// Compiles a table of a file.
    pub(crate) fn new(name: &str, path: &Path, generation: u64, loaded: Loaded) -> Self {
        Self::of(Shown::new(name, generation, loaded), path.display().to_string(), false)
    }

    /// Returns the table of a feed that has said nothing yet.
    pub(crate) fn fed(name: &str) -> Self {
        Self::of(Shown::empty(name, "feed"), "feed".into(), true)
    }

    fn of(shown: Shown, origin: String, is_fed: bool) -> Self {
        Self {
            shown,
            origin,
            is_fed,
            loaded: SystemTime::now(),
            values: OnceLock::new(),
            views: OnceLock::new(),
        }
    }

    /// Returns the same table. O(n).
    pub(crate) fn copy(&self) -> Self {
        Self::of(self.shown.copy(), self.origin.clone(), self.is_fed)
    }

    /// Returns the next generation of the table, which has no routes.
    pub(crate) fn cleared(&self) -> Self {
        let mut shown = Shown::empty(&self.name, self.format);
        shown.generation = self.generation + 1;
        Self::of(shown, self.origin.clone(), self.is_fed)
    }

    /// Makes changes, which are one more generation. O(changes).
    pub(crate) fn change(&mut self, changes: &[Change]) {
        self.shown.change(changes);
        (self.loaded, self.values) = (SystemTime::now(), OnceLock::new());
    }

    /// Returns whether a feed changes it.
    pub(crate) fn is_fed(&self) -> bool {
        self.is_fed
    }

    /// Makes what columns need, once: it may take long.
    pub(crate) fn prepare(&self) {
        self.values();
        self.views();
    }

    fn views(&self) -> Option<&Views> {
        let compile = || Views::of(&self.ipv4(Some), &self.ipv6(Some)).ok();
        if self.is_fed { None } else { self.views.get_or_init(compile).as_ref() }
    }

    /// Looks up a column. Where a feed changes the table, each address costs one more load.
    ///
    /// # Errors
    /// If the column has no addresses.
    pub(crate) fn lookup(&self, column: &dyn Array, how: &How) -> Result<UInt32Array, fibula_arrow::Error> {
        let found = match self.views() {
            Some(views) => lookup_counted(column, views, how)?,
            None => lookup_counted(column, &TableValues::new(&self.table, |&next_hop| next_hop), how)?,
        };
        Ok(found.0)
    }

    /// Returns the values by their numbers as columns of Arrow: one, or one for each field.
    pub(crate) fn values(&self) -> &[(String, Values)] {
        self.values.get_or_init(|| {
            let fields = Values::fields(&self.next_hops, true);
            if fields.is_empty() {
                return vec![("next_hop".into(), Values::of(&self.next_hops))];
            }
            fields.into_iter().map(|(name, values)| (format!("next_hop_{name}"), values)).collect()
        })
    }
}
