//! fibula as an extension of DuckDB: longest-prefix match in SQL.
//!
//! | function | what it returns |
//! | --- | --- |
//! | `fibula_lookup(table, address)` | the next hop of the longest match, as text |
//! | `fibula_prefix(table, address)` | the prefix of the longest match, as text |
//! | `fibula_contains(table, address)` | whether any route matches |
//! | `fibula_covering(table, prefix)` | the longest prefix of the table that covers it, as text |
//! | `fibula_covered(table, prefix)` | whether any prefix of the table covers it |
//! | `fibula_rov(vrps, prefix, origin)` | what RPKI's payloads say of a route |
//! | `fibula_routes(table)` | the routes: `prefix`, `family`, `length`, `value` or its fields |
//!
//! `table` is the path of a table in any format that fibula reads. `address` is an `INET`, text, an
//! IPv4 address as an integer, or a `BLOB` of 4 or 16 bytes in network byte order. Null gives null,
//! and so does what is no address. An address without a route gives null, or false. Where a format
//! holds more than one value of a route, `value := 'origin-as'` or `'peer'` chooses another than
//! the next hop.
//!
//! A table is opened once, by the first query that names it, and kept until its file changes or
//! eight others were used after it ([`tables`]).
//!
//! The extension needs no DuckDB to be built: DuckDB hands it a table of functions when it loads it
//! ([`duckdb`]). So one binary serves every release from 1.3 on.
#![deny(unsafe_code)]

mod addresses;
#[allow(unsafe_code, reason = "calls DuckDB through pointers, and is called by it")]
mod duckdb;
mod function;
mod lookup;
mod prefixes;
mod routes;
mod tables;

use duckdb::Database;

/// Registers the functions in a database.
fn register(database: &Database) -> Result<(), String> {
    lookup::register(database)?;
    prefixes::register(database)?;
    database.add_table::<routes::Routes>()
}
