//! The papers' tables and figures, measured here and set beside the papers' own numbers.
//!
//! A [`Paper`] is a list of [`Exhibit`]s. An exhibit is a table or figure with the function that
//! makes it again from a [`Lab`]: tables, engines, and how much to measure. What comes out is a
//! [`Finding`]: points with the paper's number, ours, or both. The command line prints the points
//! as rows, and [`html`] writes them as a report with plots.
//!
//! An exhibit that has no counterpart here is in the list too, with the reason ([`Coverage`]).
//! Whether it agrees with the paper is computed: [`judge_all`] tests what the papers claim on the
//! rows.
//!
//! ```
//! use fibula_papers::paper;
//! let dxr = paper("dxr").unwrap();
//! assert!(dxr.exhibits.iter().any(|exhibit| exhibit.id == "Table 1"));
//! ```
#![forbid(unsafe_code)]

mod bloom;
mod claims;
mod cram;
mod dxr;
mod error;
mod finding;
pub mod html;
mod lab;
mod machine;
mod papers;
mod planb;
mod poptrie;
mod reproduction;
mod sail;
mod tilepro;
mod triec;

pub use claims::{Agreement, Judged, Tally, Verdict, agreements, judge_all, tables_of, tallies};
pub use error::Error;
pub use finding::{Basis, Coverage, Facts, Finding, Plot, Point, Span};
pub use lab::{Lab, Named, Options};
pub use papers::{Exhibit, PAPERS, Paper, paper};
pub use reproduction::{About, Reproduction, Row, evidence, reproduce};
