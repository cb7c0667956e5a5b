//! The study kit: measurements go in as rows, and pages come out.
//!
//! A study writes [`Evidence`]: JSON lines, of which the first says how and where it was measured.
//! A page is Markdown that people write. A comment in it says which rows of which evidence are
//! below it, and [`fill`] writes them there:
//!
//! ```
//! let page = "# Two engines\n\n<!-- table two.jsonl\nshow engine | MiB = {bytes/1048576}\n-->\n\n\
//!     <!-- end -->\n";
//! let evidence = "{\"study\": \"two\", \"command\": \"fibula study two\"}\n\
//!     {\"engine\": \"dxr\", \"bytes\": 3145728}\n";
//! let filled = fibula_kit::fill(page, "two.md", |_| Ok(evidence.into()))?;
//! assert!(filled.text.contains("| engine | MiB |\n| --- | ---: |\n| dxr | 3 |\n"));
//! # Ok::<(), fibula_kit::Error>(())
//! ```
//!
//! The first line of a comment says what it writes: `made FILE` (command, processor, load, commit
//! and date of the evidence), `table FILE`, `say FILE` (a sentence, the texts of the columns), or
//! `plot FILE` (a drawing in a file of its own). The lines below say which rows, step by step, and
//! what of them:
//!
//! - `where KEY` keeps the rows that have the key.
//! - `where KEY OP VALUE` keeps the rows that compare so: `=`, `!=`, `<`, `>`, `~` for "contains"
//!   and `!~`. `A | B` is one of some values, and `{KEY}` another key of the row.
//! - `sort KEY` sorts, the least first; `sort -KEY` the greatest.
//! - `by KEY...` makes one line of all rows of each combination of values.
//! - `show COLUMN | COLUMN...` are the columns: a key, or `title = TEMPLATE`. A further `show` adds
//!   columns.
//! - `across KEY = TEMPLATE` adds a column for each value of the key. Rows without it are left
//!   out.
//! - `lines KEY`, `bars KEY` name the key of a plot's series, `x KEY` and `y KEY...` its axes,
//!   and `to FILE` its file beside the evidence.
//!
//! A template is text with keys in braces. `{bytes/1024}` divides, and `{mlps.prefix}` is inside
//! an object. Of all rows of a line are `{max ns}`, `{min ns}`, `{sum ns}`, `{median ns}`,
//! `{count ns}` and `{last ns}`; `{engine@mlps}` is of the row that has the greatest value of
//! another key. Text in square brackets is left out where a key of it has no value.
#![forbid(unsafe_code)]

mod directive;
mod error;
mod evidence;
mod number;
mod page;
pub mod plot;
mod rows;
pub mod steps;
mod table;
mod template;

pub use error::Error;
pub use evidence::{Evidence, Header, Row, With};
pub use number::short;
pub use page::{Filled, fill};
pub use rows::distinct;
pub use table::table;
