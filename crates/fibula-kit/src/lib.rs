//! The study kit: measurements go in as rows, and pages come out.
//!
//! A study writes [`Evidence`]: JSON lines, of which the first says how and where it was measured. A
//! page is Markdown that people write. A comment in it says which rows of which evidence stand below
//! it, and [`fill`] writes them there:
//!
//! ```
//! let page = "# Two engines\n\n<!-- table evidence/two.jsonl\nshow engine | MiB = {bytes/1048576}\n-->\n\n<!-- end -->\n";
//! let evidence = "{\"study\": \"two\", \"command\": \"fibula study two\"}\n\
//!     {\"engine\": \"dxr\", \"bytes\": 3145728}\n";
//! let filled = fibula_kit::fill(page, "two.md", |_| Ok(evidence.into()))?;
//! assert!(filled.text.contains("| engine | MiB |\n| --- | ---: |\n| dxr | 3 |\n"));
//! # Ok::<(), fibula_kit::Error>(())
//! ```
//!
//! | comment | what it writes |
//! | --- | --- |
//! | `made FILE` | the command, processor, load, commit and date of the evidence |
//! | `table FILE` | rows as a table |
//! | `list FILE` | rows as a list |
//! | `plot FILE` | rows as a drawing in a file of its own |
//!
//! Lines below the first say which rows, step by step, and what of them:
//!
//! | line | what it does |
//! | --- | --- |
//! | `where KEY` | keeps the rows that have the key |
//! | `where KEY OP VALUE` | keeps the rows that compare so: `=`, `!=`, `<`, `>`, `~` for "contains" and `!~`. `A \| B` is one of some values, `{KEY}` another key of the row |
//! | `sort KEY`, `sort -KEY` | sorts, the least or the greatest first |
//! | `first KEY...` | keeps the first row of each combination of values |
//! | `top N` | keeps the first rows |
//! | `by KEY...` | one line for all rows of each combination of values |
//! | `show COLUMN \| COLUMN...` | the columns: a key, or `title = TEMPLATE` |
//! | `across KEY = TEMPLATE` | further columns: one for each value of the key; rows without it are left out |
//! | `lines KEY`, `bars KEY` | the key of a plot's series |
//! | `x KEY`, `y KEY...`, `to FILE` | its axes, and its file beside the evidence |
//!
//! A template is text with keys in braces: `{bytes}`, divided by a number: `{bytes/1024}`, inside an
//! object: `{mlps.prefix}`, of all rows of a line: `{max ns}`, `{min ns}`, `{sum ns}`, `{median ns}`,
//! `{count ns}`, `{last ns}`, or of the row that has the greatest value of another key: `{engine@mlps}`. Text in
//! square brackets is left out where a key of it has no value.
#![forbid(unsafe_code)]

mod directive;
mod error;
mod evidence;
mod number;
mod page;
pub mod plot;
mod rows;
mod table;
mod template;

pub use error::Error;
pub use evidence::{Evidence, Header, Row, With};
pub use number::short;
pub use page::{Filled, fill};
pub use rows::distinct;
pub use table::table;
