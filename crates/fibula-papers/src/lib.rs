//! The papers' tables and figures, measured here and set beside the papers' own numbers.
//!
//! A [`Paper`] is a list of [`Exhibit`]s. An exhibit is a table or figure with the function that
//! makes it again from a [`Lab`]: tables, engines, and how much to measure. What comes out is a
//! [`Finding`]: points with the paper's number, ours, or both. The command line prints the points
//! as rows, and [`html`] writes them as a report with plots.
//!
//! An exhibit that has no counterpart here is in the list too, with the reason ([`Class`]).
//!
//! ```
//! use fibula_papers::paper;
//! let dxr = paper("dxr").unwrap();
//! assert_eq!(dxr.exhibits[0].id, "Table 1");
//! ```
#![forbid(unsafe_code)]

mod bloom;
mod dxr;
mod error;
mod finding;
pub mod html;
mod lab;
mod papers;
mod reproduction;
mod sail;
mod tilepro;
mod triec;

pub use error::Error;
pub use finding::{Class, Finding, Plot, Point};
pub use lab::{Lab, Named, Options};
pub use papers::{Exhibit, PAPERS, Paper, paper};
pub use reproduction::{About, Reproduction, Row, reproduce};
