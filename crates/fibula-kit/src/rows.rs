//! [`Step`]: which rows.

use crate::template::{get, shown};
use crate::{Error, Row};
use serde_json::Value;
use std::cmp::Ordering;

/// One step from all rows to those that are shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Where { key: String, op: Op, values: Vec<String> },
    Sort { key: String, descending: bool },
}

/// How a value compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Present,
    Equal,
    Differs,
    Less,
    Greater,
    Contains,
    Lacks,
}

impl Step {
    /// Reads a line. `None` if it is no step.
    pub(crate) fn parse(word: &str, rest: &str) -> Result<Option<Self>, Error> {
        Ok(Some(match word {
            "where" => {
                let (key, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let (op, values) = rest.split_once(' ').unwrap_or((rest, ""));
                let op = match op {
                    "" => Op::Present,
                    "=" => Op::Equal,
                    "!=" => Op::Differs,
                    "<" => Op::Less,
                    ">" => Op::Greater,
                    "~" => Op::Contains,
                    "!~" => Op::Lacks,
                    other => return Err(Error::new(format!("expected = != < > ~ or !~ and not {other:?}"))),
                };
                let values = values.split('|').map(|value| value.trim().to_owned()).collect();
                Self::Where { key: key.into(), op, values }
            }
            "sort" => match rest.strip_prefix('-') {
                Some(key) => Self::Sort { key: key.into(), descending: true },
                None => Self::Sort { key: rest.into(), descending: false },
            },
            _ => return Ok(None),
        }))
    }

    /// Takes the step.
    pub(crate) fn take<'r>(&self, mut rows: Vec<&'r Row>) -> Vec<&'r Row> {
        match self {
            Self::Where { key, op, values } => rows.retain(|row| holds(row, key, *op, values)),
            Self::Sort { key, descending } => rows.sort_by(|a, b| {
                let order = compare(get(a, key), get(b, key));
                if *descending { order.reverse() } else { order }
            }),
        }
        rows
    }
}

/// Returns the words of a line.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

/// Returns the rows with the same values of some keys together, in the order of their first.
pub(crate) fn groups<'r>(rows: Vec<&'r Row>, keys: &[String]) -> Vec<Vec<&'r Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let is_alike = |group: &&mut Vec<&Row>| keys.iter().all(|key| get(group[0], key) == get(row, key));
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns the different values, in the order of their first appearance.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

fn holds(row: &Row, key: &str, op: Op, values: &[String]) -> bool {
    let Some(own) = get(row, key) else { return matches!(op, Op::Differs | Op::Lacks) };
    let text = plain(own);
    let is = |value: &String| {
        // A key in braces is another value of the same row.
        let other = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let value = other.map_or(value.clone(), |key| get(row, key).map(plain).unwrap_or_default());
        let order = match (text.parse::<f64>(), value.parse::<f64>()) {
            (Ok(own), Ok(value)) => own.total_cmp(&value),
            _ => text.cmp(&value),
        };
        match op {
            Op::Present => true,
            Op::Equal | Op::Differs => order == Ordering::Equal,
            Op::Less => order == Ordering::Less,
            Op::Greater => order == Ordering::Greater,
            Op::Contains | Op::Lacks => text.contains(&value),
        }
    };
    values.iter().any(is) != matches!(op, Op::Differs | Op::Lacks)
}

/// Returns a value as it is compared: numbers with all their digits.
fn plain(value: &Value) -> String {
    if value.is_number() { value.to_string() } else { shown(value, 1.0).unwrap_or_default() }
}

/// Compares values: numbers by size, others as text; what is absent comes first.
fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.map(plain).cmp(&b.map(plain)),
    }
}
