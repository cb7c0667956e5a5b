//! [`Finding`]: what an exhibit shows here, beside what it shows in the paper.

use crate::Named;
use fibula::Address;
use fibula_kit::plot::Kind;
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Div, Mul};

/// How much of an exhibit is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All lines and columns for which the paper prints values.
    Whole,
    /// A part, and why not the rest.
    Part(Cow<'static, str>),
    /// Nothing, and why.
    None(Cow<'static, str>),
}

impl Coverage {
    /// Returns the coverage in a word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Part(_) => "part",
            Self::None(_) => "none",
        }
    }

    /// Returns the reason, where there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Whole => None,
            Self::Part(reason) | Self::None(reason) => Some(reason),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// An engine was timed or counted.
    Measured,
    /// It follows from numbers of the paper or of a table; nothing was run.
    Computed,
    /// A model of the paper's machine predicts it.
    Model,
    /// The model was fitted to it.
    Fitted,
}

impl Basis {
    /// Returns the basis in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Computed => "computed",
            Self::Model => "model",
            Self::Fitted => "fitted",
        }
    }
}

/// A value, and the least and the greatest of its passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The least.
    pub low: f64,
    /// The value itself: the median of the passes.
    pub value: f64,
    /// The greatest.
    pub high: f64,
}

impl From<f64> for Span {
    fn from(value: f64) -> Self {
        Self { low: value, value, high: value }
    }
}

/// The quotient of positive values: its spread is the widest that both allow.
impl Div for Span {
    type Output = Self;

    fn div(self, by: Self) -> Self {
        let over = |value: f64, by: f64| value / by.max(1e-9);
        Self {
            low: over(self.low, by.high),
            value: over(self.value, by.value),
            high: over(self.high, by.low),
        }
    }
}

impl Mul<f64> for Span {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { low: self.low * factor, value: self.value * factor, high: self.high * factor }
    }
}

/// The table that a value is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub table: String,
    /// Its routes.
    pub routes: usize,
    /// The greatest of its next hops.
    pub next_hops: u32,
    /// The addresses of real traffic that the value's addresses are made from; 0 where they are
    /// made otherwise.
    pub traffic: usize,
}

impl Facts {
    /// Returns those of a table.
    #[must_use]
    pub fn of<A: Address>(table: &Named<A>) -> Self {
        let Named { name, rib } = table;
        Self { table: name.clone(), routes: rib.len(), next_hops: rib.max_next_hop().0, traffic: 0 }
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
    pub ours: Option<Span>,
    /// Where the value here comes from.
    pub basis: Basis,
    /// The table that it is of.
    pub facts: Option<Facts>,
}

impl Point {
    /// A value that was measured or counted here. The paper may have none.
    #[must_use]
    pub fn new(
        series: impl Into<String>,
        at: impl Display,
        unit: &'static str,
        ours: impl Into<Span>,
    ) -> Self {
        let ours = Some(ours.into());
        Self { ours, basis: Basis::Measured, ..Self::blank(series.into(), at.to_string(), unit) }
    }

    /// A value that follows from a formula.
    #[must_use]
    pub fn computed(series: impl Into<String>, at: impl Display, unit: &'static str, value: f64) -> Self {
        Self { basis: Basis::Computed, ..Self::new(series, at, unit, value) }
    }

    /// A prediction of a model of the paper's machine.
    #[must_use]
    pub fn model(series: impl Into<String>, at: impl Display, unit: &'static str, value: f64) -> Self {
        Self { basis: Basis::Model, ..Self::new(series, at, unit, value) }
    }

    /// The same; the model was fitted to the paper's value.
    #[must_use]
    pub fn fitted(self) -> Self {
        Self { basis: Basis::Fitted, ..self }
    }

    /// A value that only the paper has.
    #[must_use]
    pub fn of_paper(series: impl Into<String>, at: impl Display, unit: &'static str, paper: f64) -> Self {
        Self { paper: Some(paper), ..Self::blank(series.into(), at.to_string(), unit) }
    }

    fn blank(series: String, at: String, unit: &'static str) -> Self {
        Self { series, at, unit, paper: None, ours: None, basis: Basis::Computed, facts: None }
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

    /// The same, of a table.
    #[must_use]
    pub fn on(self, facts: &Facts) -> Self {
        Self { facts: Some(facts.clone()), ..self }
    }

    /// Returns our value, where there is one.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.ours.map(|ours| ours.value)
    }

    /// Returns our value divided by the paper's, where both are known.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.paper.zip(self.value()).filter(|&(paper, _)| paper != 0.0).map(|(paper, ours)| ours / paper)
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

impl Plot {
    /// Returns the plot in a word, where there is one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Lines => Some("lines"),
            Self::Bars => Some("bars"),
            Self::None => None,
        }
    }

    /// Returns how charts of this name are drawn.
    pub(crate) fn drawn(name: &str) -> Option<Kind> {
        [(Self::Lines, Kind::Lines), (Self::Bars, Kind::Bars)]
            .into_iter()
            .find_map(|(plot, kind)| (plot.name() == Some(name)).then_some(kind))
    }
}

/// What an exhibit shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much of it is here.
    pub coverage: Coverage,
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
    /// An exhibit with values. Its coverage is a part where the paper prints a value and none is
    /// here.
    #[must_use]
    pub fn new(axis: &'static str, plot: Plot, points: Vec<Point>) -> Self {
        let papers_alone = points.iter().any(|point| point.ours.is_none());
        let coverage = if papers_alone {
            Coverage::Part("some of the paper's values are of its own tables or machine".into())
        } else {
            Coverage::Whole
        };
        Self { coverage, points, plot, axis, notes: Vec::new() }
    }

    /// An exhibit without counterpart.
    #[must_use]
    pub fn none(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            coverage: Coverage::None(reason.into()),
            points: Vec::new(),
            plot: Plot::None,
            axis: "",
            notes: Vec::new(),
        }
    }

    /// The same, of which only a part is here.
    #[must_use]
    pub fn in_part(self, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { coverage: Coverage::Part(reason.into()), ..self }
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same, of this many made addresses with the locality of real traffic.
    #[must_use]
    pub fn with_traffic(mut self, addresses: usize) -> Self {
        self.points
            .iter_mut()
            .filter_map(|point| point.facts.as_mut())
            .for_each(|facts| facts.traffic = addresses);
        self
    }

    /// The same; values without a table of their own are of this one.
    #[must_use]
    pub fn on<A: Address>(mut self, table: &Named<A>) -> Self {
        let facts = Facts::of(table);
        let measured = |point: &&mut Point| point.basis == Basis::Measured && point.facts.is_none();
        self.points.iter_mut().filter(measured).for_each(|point| point.facts = Some(facts.clone()));
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

    #[test]
    fn a_quotient_has_the_spread_of_both() {
        let quotient = Span { low: 8.0, value: 9.0, high: 10.0 } / Span { low: 2.0, value: 3.0, high: 4.0 };
        assert_eq!(quotient, Span { low: 2.0, value: 3.0, high: 5.0 });
    }
}
