//! The `--format` machinery: one serialisable row type, printed in any of four forms.
//!
//! A command makes rows (any `Serialize` struct) and hands them to [`Output::rows`]. Rows that come
//! slowly go one by one to an [`Output::printer`], so that each is seen as it comes.

use crate::plotted::Plot;
use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, BufWriter, Write};

/// The forms rows can be printed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, for people.
    #[default]
    Table,
    /// One JSON array of objects.
    Json,
    /// One JSON object a line.
    #[value(name = "ndjson", alias = "json-line")]
    JsonLine,
    /// Comma-separated values with a header line.
    Csv,
}

/// Where and how a command prints.
#[derive(Debug)]
pub(crate) struct Output {
    format: Option<Format>,
}

impl Output {
    /// Prints in the format asked for, if one was.
    pub(crate) fn new(format: Option<Format>) -> Self {
        Self { format }
    }

    /// Returns the format that was asked for; `None` if the command may choose its own form.
    pub(crate) fn asked(&self) -> Option<Format> {
        self.format
    }

    /// Returns whether the output is for people: then a command may add lines that are no rows.
    pub(crate) fn is_table(&self) -> bool {
        self.format.unwrap_or_default() == Format::Table
    }

    /// Prints rows, all of the same type.
    pub(crate) fn rows<R: Serialize>(&self, rows: impl IntoIterator<Item = R>) -> anyhow::Result<()> {
        let mut printer = self.batch_printer();
        for row in rows {
            printer.row(&row)?;
        }
        printer.finish()
    }

    /// Prints rows, then those of engines that refused a table.
    pub(crate) fn rows_and_refused<R: Serialize, S: Serialize>(
        &self,
        rows: impl IntoIterator<Item = R>,
        refused: impl IntoIterator<Item = S>,
    ) -> anyhow::Result<()> {
        let mut printer = self.batch_printer().with_refusals();
        rows.into_iter().try_for_each(|row| printer.row(&row))?;
        refused.into_iter().try_for_each(|row| printer.refused(&row))?;
        printer.finish()
    }

    /// Returns a printer for rows that each take a while. Each is printed at once where the form
    /// allows it. Call [`Printer::finish`] at the end.
    pub(crate) fn printer(&self) -> Printer<impl Write + use<>> {
        let mut printer = self.batch_printer();
        printer.at_once = true;
        printer
    }

    /// Returns a printer for rows that come fast; it buffers. Call [`Printer::finish`] at the end.
    pub(crate) fn batch_printer(&self) -> Printer<impl Write + use<>> {
        Printer::new(self.format.unwrap_or_default(), BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }
}

/// Prints rows one by one.
///
/// A printer that is dropped before [`Printer::finish`], because the command failed, prints what
/// is left too: the output up to the error is a whole table, or legal JSON.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each says another thing of the output")]
pub(crate) struct Printer<W: Write> {
    form: Form,
    out: W,
    any: bool,
    is_finished: bool,
    at_once: bool,
    /// The names of the columns, of the first row.
    columns: Vec<String>,
    /// Whether a last column has the reasons of engines that refused.
    refusals: bool,
    /// Rows of refusals that came before the first full row, which has the names of the columns.
    waiting: Vec<Map<String, Value>>,
    /// What draws the rows at the end.
    plot: Option<Plot>,
}

/// The field of a row that says why its other fields are empty.
const REFUSED: &str = "refused";

#[derive(Debug)]
enum Form {
    Table(Box<Table>),
    Json,
    JsonLine,
    Csv,
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(format: Format, out: W) -> Self {
        let form = match format {
            Format::Table => {
                let mut table = Table::new();
                table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
                Form::Table(Box::new(table))
            }
            Format::Json => Form::Json,
            Format::JsonLine => Form::JsonLine,
            Format::Csv => Form::Csv,
        };
        let (columns, waiting) = (Vec::new(), Vec::new());
        let (any, is_finished, at_once, refusals) = (false, false, false, false);
        Self { form, out, any, is_finished, at_once, columns, refusals, waiting, plot: None }
    }

    /// Returns the printer for rows that are drawn, too, when it is finished.
    pub(crate) fn plotted(mut self, plot: Option<Plot>) -> Self {
        self.plot = plot;
        self
    }

    /// Returns the printer for rows of engines that may refuse a table; see [`Printer::refused`].
    ///
    /// Comma-separated values then have one more column at the end, `refused`.
    pub(crate) fn with_refusals(mut self) -> Self {
        self.refusals = true;
        self
    }

    /// Prints the row of an engine that refused a table. It has some of the fields of the other
    /// rows, and `refused`.
    ///
    /// In JSON the object has no other keys. Elsewhere the other cells are empty.
    pub(crate) fn refused<R: Serialize>(&mut self, row: &R) -> anyhow::Result<()> {
        if matches!(self.form, Form::Json | Form::JsonLine) {
            return self.row(row);
        }
        let row = fields(row)?;
        if self.columns.is_empty() {
            self.waiting.push(row);
            return Ok(());
        }
        self.partial(&row)
    }

    /// Prints a row that lacks some of the columns.
    fn partial(&mut self, row: &Map<String, Value>) -> anyhow::Result<()> {
        let more = self.refusals.then_some(REFUSED);
        let names: Vec<&str> = self.columns.iter().map(String::as_str).chain(more).collect();
        let cells: Vec<String> =
            names.iter().map(|&name| row.get(name).map_or_else(String::new, cell)).collect();
        match &mut self.form {
            Form::Table(table) => {
                table.set_header(names.iter().map(|name| name.replace('_', " ")));
                table.add_row(cells);
                if let Some(column) = table.column_iter_mut().last() {
                    column.set_padding((0, 2));
                }
            }
            Form::Csv => record(&mut self.out, cells)?,
            Form::Json | Form::JsonLine => {}
        }
        Ok(())
    }

    /// Prints the names of the columns, those of `row`, and the rows that waited for them.
    fn head(&mut self, row: &Map<String, Value>) -> anyhow::Result<()> {
        // Rows that count refused changes have the column already.
        self.refusals &= !row.contains_key(REFUSED);
        self.columns = row.keys().cloned().collect();
        match &mut self.form {
            Form::Table(table) => {
                table.set_header(self.columns.iter().map(|name| name.replace('_', " ")));
                for (column, value) in table.column_iter_mut().zip(row.values()) {
                    let side = if value.is_number() { CellAlignment::Right } else { CellAlignment::Left };
                    column.set_cell_alignment(side);
                    column.set_padding((0, 2));
                }
            }
            Form::Csv => {
                let refused = self.refusals.then(|| REFUSED.to_owned());
                record(&mut self.out, self.columns.iter().cloned().chain(refused))?;
            }
            Form::Json | Form::JsonLine => {}
        }
        std::mem::take(&mut self.waiting).iter().try_for_each(|row| self.partial(row))
    }

    /// Prints one row. The table form waits for the last row, to align.
    pub(crate) fn row<R: Serialize>(&mut self, row: &R) -> anyhow::Result<()> {
        if let Some(plot) = &mut self.plot {
            plot.add(row)?;
        }
        let first = !std::mem::replace(&mut self.any, true);
        match &mut self.form {
            Form::Json => {
                self.out.write_all(if first { b"[\n  " } else { b",\n  " })?;
                to_json(&mut self.out, row)?;
            }
            Form::JsonLine => {
                to_json(&mut self.out, row)?;
                self.out.write_all(b"\n")?;
            }
            Form::Table(_) | Form::Csv => self.cells(&fields(row)?)?,
        }
        if self.at_once {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Prints a row in a form that has a line of names above it.
    fn cells(&mut self, row: &Map<String, Value>) -> anyhow::Result<()> {
        if self.columns.is_empty() {
            self.head(row)?;
        }
        let cells = row.values().map(cell);
        match &mut self.form {
            Form::Table(table) => {
                table.add_row(cells);
            }
            _ => record(&mut self.out, cells.chain(self.refusals.then(String::new)))?,
        }
        Ok(())
    }

    /// Prints what is left.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.print_rest()?;
        self.plot.take().map_or(Ok(()), Plot::write)
    }

    /// Prints what is left, if that was not tried before.
    fn print_rest(&mut self) -> anyhow::Result<()> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        if let Some(row) = self.waiting.first().cloned() {
            self.any = true;
            self.head(&row)?;
        }
        match &self.form {
            Form::Table(table) if self.any => {
                for line in table.lines() {
                    writeln!(self.out, "{}", line.trim_end())?;
                }
            }
            Form::Json => self.out.write_all(if self.any { b"\n]\n" } else { b"[]\n" })?,
            _ => {}
        }
        Ok(self.out.flush()?)
    }
}

impl<W: Write> Drop for Printer<W> {
    fn drop(&mut self) {
        // Whoever dropped it early has an error to report, which says more than one of the output.
        let _ = self.print_rest();
    }
}

/// Returns a row as its named fields, in order.
pub(crate) fn fields<R: Serialize>(row: &R) -> anyhow::Result<Map<String, Value>> {
    match serde_json::to_value(row)? {
        Value::Object(fields) => Ok(fields),
        other => anyhow::bail!("a row has named fields, this is {other}"),
    }
}

/// Returns a field as text: empty for null, nested values as JSON.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn to_json<W: Write, R: Serialize>(out: W, row: &R) -> io::Result<()> {
    // The conversion keeps an I/O error's kind, so that a closed pipe is still recognised.
    serde_json::to_writer(out, row).map_err(io::Error::from)
}

/// Writes one line of comma-separated values, quoted where they must be.
pub(crate) fn record<W: Write>(out: W, fields: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(fields).map_err(io::Error::from)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Row {
        engine: &'static str,
        build_ms: f64,
        bytes_by_part: BTreeMap<&'static str, u64>,
        note: Option<&'static str>,
    }

    fn printed(format: Format, rows: &[Row]) -> String {
        let mut text = Vec::new();
        let mut printer = Printer::new(format, &mut text);
        for row in rows {
            printer.row(row).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn one_row_type_in_four_forms() {
        let rows = [
            Row { engine: "a", build_ms: 1.5, bytes_by_part: BTreeMap::from([("N16", 4)]), note: None },
            Row { engine: "b, \"c\"", build_ms: 20.0, bytes_by_part: BTreeMap::new(), note: Some("slow") },
        ];
        assert_eq!(
            printed(Format::Table, &rows),
            "engine  build ms  bytes by part  note\n\
             a            1.5  {\"N16\":4}\n\
             b, \"c\"      20.0  {}             slow\n"
        );
        assert_eq!(
            printed(Format::Json, &rows),
            "[\n  {\"engine\":\"a\",\"build_ms\":1.5,\"bytes_by_part\":{\"N16\":4},\"note\":null},\n  \
             {\"engine\":\"b, \\\"c\\\"\",\"build_ms\":20.0,\"bytes_by_part\":{},\"note\":\"slow\"}\n]\n"
        );
        assert_eq!(
            printed(Format::JsonLine, &rows[..1]),
            "{\"engine\":\"a\",\"build_ms\":1.5,\"bytes_by_part\":{\"N16\":4},\"note\":null}\n"
        );
        assert_eq!(
            printed(Format::Csv, &rows),
            "engine,build_ms,bytes_by_part,note\n\
             a,1.5,\"{\"\"N16\"\":4}\",\n\
             \"b, \"\"c\"\"\",20.0,{},slow\n"
        );
    }

    #[test]
    fn an_engine_that_refuses_a_table_has_a_row_with_the_reason() {
        let refused = serde_json::json!({"engine": "c", "refused": "routes: 2 is more than 1"});
        let row = Row { engine: "a", build_ms: 1.5, bytes_by_part: BTreeMap::new(), note: None };
        let printed = |format, row: Option<&Row>| {
            let mut text = Vec::new();
            let mut printer = Printer::new(format, &mut text).with_refusals();
            printer.refused(&refused).unwrap();
            if let Some(row) = row {
                printer.row(row).unwrap();
                printer.refused(&refused).unwrap();
            }
            printer.finish().unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(
            printed(Format::Table, Some(&row)),
            "engine  build ms  bytes by part  note  refused\n\
             c                                      routes: 2 is more than 1\n\
             a            1.5  {}\n\
             c                                      routes: 2 is more than 1\n"
        );
        assert_eq!(
            printed(Format::Csv, Some(&row)),
            "engine,build_ms,bytes_by_part,note,refused\n\
             c,,,,routes: 2 is more than 1\n\
             a,1.5,{},,\n\
             c,,,,routes: 2 is more than 1\n"
        );
        assert_eq!(
            printed(Format::JsonLine, None),
            "{\"engine\":\"c\",\"refused\":\"routes: 2 is more than 1\"}\n"
        );
        assert_eq!(printed(Format::Csv, None), "engine,refused\nc,routes: 2 is more than 1\n");
    }

    #[test]
    fn a_printer_that_is_dropped_has_printed_legal_json() {
        for rows in 0..3 {
            let mut text = Vec::new();
            let mut printer = Printer::new(Format::Json, &mut text);
            for row in 0..rows {
                printer.row(&serde_json::json!({ "row": row })).unwrap();
            }
            drop(printer);
            let array: Vec<Value> = serde_json::from_slice(&text).unwrap();
            assert_eq!(array.len(), rows);
        }
    }

    #[test]
    fn no_rows_are_still_legal_json() {
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::JsonLine, &[]) + &printed(Format::Table, &[]), "");
    }
}
