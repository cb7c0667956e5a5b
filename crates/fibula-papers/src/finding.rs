//! [`Finding`]: what an exhibit shows here, beside what it shows in the paper.

use fibula_kit::plot::{Chart, Kind, Series};
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

    /// Returns the plots: one for each unit with more than one position. The paper's values are
    /// series of their own.
    #[must_use]
    pub fn charts(&self) -> Vec<Chart> {
        let kind = match self.plot {
            Plot::None => return Vec::new(),
            Plot::Lines => Kind::Lines,
            Plot::Bars => Kind::Bars,
        };
        let units = distinct(self.points.iter().map(|point| point.unit));
        units.into_iter().filter_map(|unit| self.chart(kind, unit)).collect()
    }

    fn chart(&self, kind: Kind, unit: &str) -> Option<Chart> {
        let points: Vec<&Point> = self.points.iter().filter(|point| point.unit == unit).collect();
        let positions = distinct(points.iter().map(|point| point.at.as_str()));
        let mut series = Vec::new();
        for name in distinct(points.iter().map(|point| point.series.as_str())) {
            let of = |value: fn(&Point) -> Option<f64>| -> Vec<Option<f64>> {
                let at = |position: &&str| {
                    points.iter().find(|point| point.series == name && point.at == **position)
                };
                positions.iter().map(|position| at(position).and_then(|point| value(point))).collect()
            };
            let (ours, paper) = (of(|point| point.ours), of(|point| point.paper));
            let is_alone = ours.iter().all(Option::is_none);
            series.push(Series { name: name.to_owned(), values: ours, is_faint: false });
            if paper.iter().any(Option::is_some) {
                if is_alone {
                    series.pop();
                }
                series.push(Series { name: format!("{name}, paper"), values: paper, is_faint: !is_alone });
            }
        }
        let (x, y) = (self.axis.to_owned(), unit.to_owned());
        let positions: Vec<String> = positions.into_iter().map(String::from).collect();
        (positions.len() > 1).then_some(Chart { kind, x, y, positions, series })
    }
}

/// Returns the different values, in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
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
    #[test]
    fn a_plot_has_the_papers_values_beside_ours() {
        let points = vec![
            Point::new("D18R", 1, "Mlps", 200.0).beside(117.0),
            Point::new("D18R", 2, "Mlps", 390.0),
            Point::of_paper("IXP", 1, "Mlps", 30.0),
            Point::new("D18R", 1, "ms", 1.0),
        ];
        let mut finding = Finding::new("threads", Plot::Lines, points);
        let charts = finding.charts();
        assert_eq!(charts.len(), 1, "milliseconds have one position");
        let names: Vec<_> = charts[0].series.iter().map(|series| (&*series.name, series.is_faint)).collect();
        assert_eq!(names, [("D18R", false), ("D18R, paper", true), ("IXP, paper", false)]);
        finding.plot = Plot::None;
        assert!(finding.charts().is_empty());
    }
}
