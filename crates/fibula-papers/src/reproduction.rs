//! [`reproduce`]: runs the exhibits of a paper one after the other.

use crate::{Error, Exhibit, Finding, Lab, Paper};
use serde::Serialize;
use std::time::{Duration, Instant};

/// An exhibit that was made again.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: &'static Paper,
    /// The exhibit.
    pub exhibit: &'static Exhibit,
    /// What it shows here.
    pub finding: Finding,
    /// How long it took.
    pub took: Duration,
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
    /// Ours divided by the paper's.
    pub ratio: Option<f64>,
    /// `reproduced`, `in part` or `impossible`.
    pub class: &'static str,
    /// The reason, where it is not all reproduced.
    pub reason: Option<&'static str>,
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
    /// `reproduced`, `in part` or `impossible`.
    pub class: &'static str,
    /// The reason, where it is not all reproduced.
    pub reason: Option<&'static str>,
    /// What else the reader must know; a sentence each.
    pub notes: &'r [String],
}

impl Reproduction {
    /// Returns what the exhibit is.
    #[must_use]
    pub fn about(&self) -> About<'_> {
        let Finding { class, axis, notes, .. } = &self.finding;
        About {
            paper: self.paper.name,
            exhibit: self.exhibit.id,
            title: self.exhibit.title,
            axis,
            class: class.name(),
            reason: class.reason(),
            notes,
        }
    }

    /// Returns a row for each value, or one row for an exhibit that has none.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let Finding { class, points, .. } = &self.finding;
        let blank = Row {
            paper: self.paper.name,
            exhibit: self.exhibit.id,
            series: "",
            at: "",
            unit: "",
            paper_value: None,
            ours: None,
            ratio: None,
            class: class.name(),
            reason: class.reason(),
        };
        let none = points.is_empty().then(|| blank.clone());
        let rows = points.iter().map(move |point| Row {
            series: &point.series,
            at: &point.at,
            unit: point.unit,
            paper_value: point.paper,
            ours: point.ours,
            ratio: point.ratio(),
            ..blank.clone()
        });
        rows.chain(none)
    }
}

/// Makes the exhibits of a paper again, and hands each to `each` when it is done. `begin` is told
/// of each before it starts.
///
/// # Errors
/// If an engine gives a wrong answer or refuses a made table, or if `each` fails.
pub fn reproduce<E: From<Error>>(
    paper: &'static Paper,
    lab: &Lab,
    mut begin: impl FnMut(&Exhibit),
    mut each: impl FnMut(Reproduction) -> Result<(), E>,
) -> Result<(), E> {
    for exhibit in paper.exhibits {
        begin(exhibit);
        let start = Instant::now();
        let finding = (exhibit.reproduce)(lab)?;
        each(Reproduction { paper, exhibit, finding, took: start.elapsed() })?;
    }
    Ok(())
}
