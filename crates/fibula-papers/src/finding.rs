//! [`Finding`]: what an exhibit shows here, beside what it shows in the paper.

use serde::Serialize;
use std::fmt::Display;

/// How much of an exhibit can be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "class", content = "reason")]
pub enum Class {
    /// All of its lines and columns.
    Reproduced,
    /// A part, and why not the rest.
    InPart(&'static str),
    /// Nothing, and why.
    Impossible(&'static str),
}

impl Class {
    /// Returns the class in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart(_) => "in part",
            Self::Impossible(_) => "impossible",
        }
    }

    /// Returns the reason, where the class needs one.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Reproduced => None,
            Self::InPart(reason) | Self::Impossible(reason) => Some(reason),
        }
    }
}

/// One value of an exhibit.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The line of a figure, or the row of a table.
    pub series: String,
    /// The position on the figure's axis, or the column of a table.
    pub at: String,
    /// The unit of both values.
    pub unit: &'static str,
    /// The paper's value, where its text or tables print one.
    pub paper: Option<f64>,
    /// The value here; `None` for what only the paper's table or machine has.
    pub ours: Option<f64>,
}

impl Point {
    /// A value that was measured or counted here. The paper may have none.
    #[must_use]
    pub fn new(series: impl Into<String>, at: impl Display, unit: &'static str, ours: f64) -> Self {
        Self { series: series.into(), at: at.to_string(), unit, paper: None, ours: Some(ours) }
    }

    /// The same with the paper's value beside.
    #[must_use]
    pub fn beside(self, paper: f64) -> Self {
        Self { paper: Some(paper), ..self }
    }

    /// The same with the paper's value, where there is one.
    #[must_use]
    pub fn beside_any(self, paper: Option<f64>) -> Self {
        Self { paper, ..self }
    }

    /// A value that only the paper has.
    #[must_use]
    pub fn of_paper(series: impl Into<String>, at: impl Display, unit: &'static str, paper: f64) -> Self {
        Self { series: series.into(), at: at.to_string(), unit, paper: Some(paper), ours: None }
    }

    /// Returns our value divided by the paper's, where both are known.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.paper.zip(self.ours).filter(|&(paper, _)| paper != 0.0).map(|(paper, ours)| ours / paper)
    }
}

/// How the points of an exhibit are drawn: those of each unit in a plot of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    /// A line for each series, over positions in order.
    Lines,
    /// Groups of bars: a group for each position, a bar for each series.
    Bars,
    /// None: the exhibit is a table.
    None,
}

/// What an exhibit shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much of it is here.
    pub class: Class,
    /// Its values.
    pub points: Vec<Point>,
    /// How they are drawn.
    pub plot: Plot,
    /// What the axis or the columns are.
    pub axis: &'static str,
    /// Why our values differ from the paper's by more than the machine explains, and what else the
    /// reader must know; a sentence each.
    pub notes: Vec<String>,
}

impl Finding {
    /// A whole exhibit.
    #[must_use]
    pub fn new(axis: &'static str, plot: Plot, points: Vec<Point>) -> Self {
        Self { class: Class::Reproduced, points, plot, axis, notes: Vec::new() }
    }

    /// An exhibit without counterpart.
    #[must_use]
    pub fn impossible(reason: &'static str) -> Self {
        Self {
            class: Class::Impossible(reason),
            points: Vec::new(),
            plot: Plot::None,
            axis: "",
            notes: Vec::new(),
        }
    }

    /// The same, of which only a part is here.
    #[must_use]
    pub fn in_part(self, reason: &'static str) -> Self {
        Self { class: Class::InPart(reason), ..self }
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_takes_both_values() {
        assert_eq!(Point::new("a", 1, "ms", 3.0).beside(2.0).ratio(), Some(1.5));
        assert_eq!(Point::new("a", 1, "ms", 3.0).ratio(), None);
        assert_eq!(Point::of_paper("a", 1, "ms", 3.0).ratio(), None);
        assert_eq!(Point::new("a", 1, "ms", 3.0).beside(0.0).ratio(), None);
    }
}
