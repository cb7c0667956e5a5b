//! The Python package `fibula`: its part in Rust. The part in Python, its types and its examples
//! are in `python/fibula`.
//!
//! ```text
//! str, ipaddress, bytes, int ──address──▶ Table ──index──▶ Values ──▶ any Python object
//!                                          │ Owned: Rib and engine a family, behind a lock
//!                                          │ Mapped: a snapshot, read where it is
//! ```
//! # Locks
//! A table is read by any number of threads and changed by one. A single lookup reads without the
//! table's lock where the interpreter has its own ([`guarded`]). What a thread holds the table's
//! lock for runs no Python code: neither comparisons of values, nor their destructors, nor
//! callbacks. Large changes and builds happen beside the table, with the interpreter released, and
//! are swapped in.
#![deny(unsafe_code)]
#![allow(clippy::needless_pass_by_value, reason = "arguments come from Python by value")]
#![allow(clippy::doc_link_with_quotes, reason = "pages are examples in Python")]

mod address;
mod batch;
mod columns;
mod contents;
mod files;
mod guarded;
mod mapped;
mod owned;
mod pickle;
mod plugin;
mod prefixes;
mod process;
mod rov;
mod sets;
#[allow(unsafe_code, reason = "reads a table without its lock")]
mod shared;
mod table;
mod values;
mod walk;

use pyo3::prelude::*;

#[pymodule]
mod _fibula {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::files::{open, read};
    #[pymodule_export]
    use crate::pickle::{restore_routes, restore_snapshot};
    #[pymodule_export]
    use crate::plugin::PolarsHandle;
    #[pymodule_export]
    use crate::rov::Vrps;
    #[pymodule_export]
    use crate::sets::PrefixSet;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "what Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::process::take(module.py())?;
        crate::process::watch(module.py())
    }
}
