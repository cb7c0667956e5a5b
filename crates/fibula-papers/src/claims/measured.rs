//! [`Measured`]: a row as the judge reads it.

use super::inputs::Of;
use super::rule::{Condition, Other, Pattern, Selector};
use crate::Span;
use fibula_kit::{Header, Row};
use serde_json::Value;

/// A row that has a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'r> {
    pub(super) row: &'r Row,
    pub(super) header: &'r Header,
    /// Not a number where only the paper has one.
    pub(super) value: Span,
    pub(super) paper: Option<f64>,
}

impl<'r> Measured<'r> {
    pub(super) fn of(row: &'r Row, header: &'r Header) -> Option<Self> {
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        row.get("ours")?;
        let value = number("ours").unwrap_or(f64::NAN);
        let span = Span { low: number("low").unwrap_or(value), value, high: number("high").unwrap_or(value) };
        Some(Self { row, header, value: span, paper: number("paper_value") })
    }

    pub(super) fn text(&self, key: &str) -> &'r str {
        self.row.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// What the rows of one line of an exhibit have in common.
    pub(super) fn line(&self) -> [&'r str; 3] {
        ["exhibit", "series", "unit"].map(|key| self.text(key))
    }

    pub(super) fn is_of(&self, rows: &Selector) -> bool {
        let parts =
            [("exhibit", &rows.exhibit), ("series", &rows.series), ("at", &rows.at), ("unit", &rows.unit)];
        parts.into_iter().all(|(key, pattern)| pattern.fits(self.text(key)))
    }

    /// Whether `other` is of the rows that this row is compared with.
    pub(super) fn is_compared_with(&self, rows: &Other, other: &Self) -> bool {
        let same = |key: &str, pattern: &Option<Pattern>| match pattern {
            Some(pattern) => pattern.fits(other.text(key)),
            None => self.text(key) == other.text(key),
        };
        let tables = [self.text("table"), other.text("table")];
        let other_table = tables.iter().all(|table| !table.is_empty()) && tables[0] != tables[1];
        same("exhibit", &rows.exhibit)
            && same("series", &rows.series)
            && same("at", &rows.at)
            && self.text("unit") == other.text("unit")
            && !other_table
            && !std::ptr::eq(self.row, other.row)
    }

    /// Whether it can decide a claim: it has a value here, which no model was fitted to.
    pub(super) fn decides(&self) -> bool {
        self.value.value.is_finite() && self.text("basis") != "fitted"
    }

    /// Whether it follows from the paper's own numbers: nothing was run, and no table is behind it.
    pub(super) fn is_arithmetic(&self) -> bool {
        self.text("table").is_empty() && self.text("basis") == "computed"
    }

    /// What its inputs depend on.
    pub(super) fn inputs(&self) -> Of<'r> {
        Of {
            unit: self.text("unit"),
            table: self.text("table"),
            processor: &self.header.processor,
            is_measured: self.text("basis") == "measured",
        }
    }

    /// Whether the row's table meets a condition. What was measured without a table meets none;
    /// what was computed without one depends on none.
    pub(super) fn meets(&self, condition: &Condition) -> bool {
        if self.text("table").is_empty() && self.text("basis") != "measured" {
            return true;
        }
        let value = self.row.get(&condition.key).and_then(Value::as_f64);
        value.is_some_and(|value| (condition.least..=condition.most).contains(&value))
    }
}
