//! `--plot`: the rows that a command prints, as a drawing.

use crate::output::fields;
use crate::writing::write_text;
use clap::Args;
use fibula_kit::plot::{Chart, Kind};
use fibula_kit::{Row, distinct};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// The option of commands whose rows are series.
#[derive(Clone, Debug, Args)]
pub(crate) struct Plotted {
    /// Draw the rows, too, into this file, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Which keys of the rows are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes {
    /// How.
    pub(crate) kind: Kind,
    /// The key of the positions.
    pub(crate) x: &'static str,
    /// The keys of the values.
    pub(crate) y: &'static [&'static str],
    /// The keys that tell series apart, where their values differ.
    pub(crate) by: &'static [&'static str],
}

impl Plotted {
    /// Returns what gathers the rows, if they are to be drawn.
    pub(crate) fn with(&self, axes: Axes) -> Option<Plot> {
        self.plot.clone().map(|path| Plot { path, axes, rows: Vec::new() })
    }
}

/// The rows of a drawing.
#[derive(Debug)]
pub(crate) struct Plot {
    path: PathBuf,
    axes: Axes,
    rows: Vec<Row>,
}

impl Plot {
    /// Adds a row.
    pub(crate) fn add<R: Serialize>(&mut self, row: &R) -> anyhow::Result<()> {
        self.rows.push(fields(row)?);
        Ok(())
    }

    /// Draws the rows.
    pub(crate) fn write(mut self) -> anyhow::Result<()> {
        const SERIES: &str = "series";
        let text = |row: &Row, key: &str| match row.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let differs = |key: &&&str| distinct(self.rows.iter().map(|row| text(row, key))).len() > 1;
        let mut telling: Vec<&str> = self.axes.by.iter().filter(differs).copied().collect();
        if telling.is_empty() {
            telling.extend(self.axes.by.first());
        }
        for row in &mut self.rows {
            let name: Vec<String> = telling.iter().map(|key| text(row, key)).collect();
            row.insert(SERIES.to_owned(), name.join(", ").into());
        }
        let at = |row: &Row| row.get(self.axes.x).and_then(Value::as_f64).unwrap_or_default();
        self.rows.sort_by(|one, other| at(one).total_cmp(&at(other)));
        let rows: Vec<&Row> = self.rows.iter().collect();
        let Axes { kind, x, y, .. } = self.axes;
        let drawing = Chart::of(kind, &rows, SERIES, x, y).svg()?;
        write_text(&self.path, |out| out.write_all(drawing.as_bytes()))
    }
}
