//! What a page asks of a table, and the page.
//!
//! ```text
//!  page ──▶ transport ─┬─ HTTP ──────▶ fibula-serve: tables that are followed ─┬─▶ Shown
//!                      └─ in memory ─▶ this crate as WebAssembly: a dropped file ─┘
//! ```
//!
//! A question has the same words and the same answer in both: [`Shown`] answers for a service, and
//! for a file that never leaves the browser, which [`answer`] asks. So the page does not know which
//! of the two it has. Only how many rows an answer has at most is another number.
//!
//! ```
//! use fibula_io::table::{ReadOptions, parse};
//! use fibula_page::{Pictures, Shown, answer};
//!
//! let loaded = parse(b"10.0.0.0/8 64500\n10.1.0.0/16 64501\n", &ReadOptions::default())?;
//! let table = Shown::new("mine", 1, loaded);
//! let found = answer(&[table], &Pictures::default(), "/v1/lookup?addr=10.1.2.3")?;
//! let text = String::from_utf8(found.body)?;
//! assert!(text.contains(r#""prefix":"10.1.0.0/16","next_hop":64501"#), "{text}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod answer;
mod beside;
mod difference;
mod figures;
mod files;
mod lookup;
#[cfg(target_arch = "wasm32")]
mod module;
mod picture;
mod query;
mod routes;
mod shown;

pub use answer::{Answer, answer};
pub use beside::Beside;
pub use difference::{Difference, differences};
pub use files::{CONTENT_SECURITY_POLICY, FILES, File};
pub use lookup::Matches;
pub use picture::{Asked, By, Picture, Pictures, family};
pub use query::{DIFF, LEGEND, NO_ADDRESS, Page, Query, TILE, prefix_of, shortened};
pub use routes::Which;
pub use shown::{Change, Shown, asked, host, plain_name, write_prefix};
