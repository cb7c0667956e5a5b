//! [`PAPERS`]: what can be asked for.

use crate::{Error, Finding, Lab, bloom, cram, dxr, planb, poptrie, sail, tilepro, triec};

/// A paper, and what of it is made again.
#[derive(Debug)]
pub struct Paper {
    /// The name on the command line.
    pub name: &'static str,
    /// Authors, title, place and year.
    pub citation: &'static str,
    /// The machine of the paper's measurements.
    pub machine: &'static str,
    /// Its tables and figures, in the paper's order.
    pub exhibits: &'static [Exhibit],
}

/// A table or figure of a paper.
#[derive(Debug)]
pub struct Exhibit {
    /// As the paper calls it: `Table 1`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Makes it again.
    pub reproduce: fn(&Lab) -> Result<Finding, Error>,
}

/// The papers, by year.
pub const PAPERS: [&Paper; 8] = [
    &triec::PAPER,
    &dxr::PAPER,
    &tilepro::PAPER,
    &sail::PAPER,
    &poptrie::PAPER,
    &bloom::PAPER,
    &cram::PAPER,
    &planb::PAPER,
];

/// Returns the paper of a name.
#[must_use]
pub fn paper(name: &str) -> Option<&'static Paper> {
    PAPERS.into_iter().find(|paper| paper.name == name)
}
