//! [`reproduce`]: runs the exhibits of a paper one after the other.

use crate::{Error, Exhibit, Finding, Lab, Paper, Point};
use fibula_kit::Evidence;
use serde::Serialize;

/// An exhibit that was made again.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: &'static Paper,
    /// The exhibit.
    pub exhibit: &'static Exhibit,
    /// What it shows here.
    pub finding: Finding,
}

/// One value of an exhibit, as scripts read it. The fields are the keys of `--format json-line`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row<'r> {
    /// The paper's name.
    pub paper: &'static str,
    /// The exhibit.
    pub exhibit: &'static str,
    /// The line of a figure, or the row of a table.
    pub series: &'r str,
    /// The position on the axis, or the column.
    pub at: &'r str,
    /// The unit of both values.
    pub unit: &'static str,
    /// The paper's value.
    pub paper_value: Option<f64>,
    /// Ours.
    pub ours: Option<f64>,
    /// The least of the passes, where they differ.
    pub low: Option<f64>,
    /// The greatest of the passes, where they differ.
    pub high: Option<f64>,
    /// Ours divided by the paper's.
    pub ratio: Option<f64>,
    /// `measured`, `computed`, `model` or `fitted`; none where only the paper has a value.
    pub basis: Option<&'static str>,
    /// The table that the value is of.
    pub table: Option<&'r str>,
    /// Its routes.
    pub routes: Option<usize>,
    /// Its next hops.
    pub next_hops: Option<u32>,
    /// The addresses of real traffic that the value's addresses are made from.
    pub traffic: Option<usize>,
}

/// What an exhibit is, beside its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About<'r> {
    /// The paper's name.
    pub paper: &'static str,
    /// The exhibit.
    pub exhibit: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What the rows' positions are.
    pub axis: &'static str,
    /// How the rows are drawn: `lines` or `bars`; none for a table.
    pub plot: Option<&'static str>,
    /// `whole`, `part` or `none`: how much of the paper's exhibit is here.
    pub coverage: &'static str,
    /// The reason, where it is not whole.
    pub reason: Option<&'r str>,
    /// What else the reader must know; a sentence each.
    pub notes: &'r [String],
}

impl Reproduction {
    /// Returns what the exhibit is.
    #[must_use]
    pub fn about(&self) -> About<'_> {
        let Finding { coverage, axis, notes, plot, .. } = &self.finding;
        About {
            paper: self.paper.name,
            exhibit: self.exhibit.id,
            title: self.exhibit.title,
            axis,
            plot: plot.name(),
            coverage: coverage.name(),
            reason: coverage.reason(),
            notes,
        }
    }

    /// Returns a row for each value.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.finding.points.iter().map(|point| {
            let Point { series, at, unit, paper, ours, basis, facts } = point;
            let spread = ours.filter(|ours| ours.low < ours.high);
            Row {
                paper: self.paper.name,
                exhibit: self.exhibit.id,
                series,
                at,
                unit,
                paper_value: *paper,
                ours: point.value(),
                low: spread.map(|spread| spread.low),
                high: spread.map(|spread| spread.high),
                ratio: point.ratio(),
                basis: ours.map(|_| basis.name()),
                table: facts.as_ref().map(|facts| facts.table.as_str()),
                routes: facts.as_ref().map(|facts| facts.routes),
                next_hops: facts.as_ref().map(|facts| facts.next_hops),
                traffic: facts.as_ref().map(|facts| facts.traffic),
            }
        })
    }
}

/// Returns exhibits as evidence: what each is, and its rows. `paper` leaves out all others.
///
/// # Errors
/// If a number is not finite.
pub fn evidence(reproductions: &[Reproduction], paper: Option<&str>) -> Result<Evidence, Error> {
    let mut evidence = Evidence::default();
    for each in reproductions.iter().filter(|each| paper.is_none_or(|paper| paper == each.paper.name)) {
        evidence.add([each.about()])?;
        evidence.add(each.rows())?;
    }
    Ok(evidence)
}

/// Makes the exhibits of a paper again, and hands each to `each` when it is done. `begin` is told
/// of each before it starts, and says whether it is wanted. An exhibit that lacks what it is made
/// from is handed on without values and with that reason.
///
/// # Errors
/// If an engine gives a wrong answer, or if `each` fails.
pub fn reproduce<E: From<Error>>(
    paper: &'static Paper,
    lab: &Lab,
    mut begin: impl FnMut(&Exhibit) -> bool,
    mut each: impl FnMut(Reproduction) -> Result<(), E>,
) -> Result<(), E> {
    for exhibit in paper.exhibits {
        if !begin(exhibit) {
            continue;
        }
        let finding = (exhibit.reproduce)(lab).or_else(|error| error.lacking().ok_or(error))?;
        each(Reproduction { paper, exhibit, finding })?;
    }
    Ok(())
}
