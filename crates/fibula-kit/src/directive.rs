//! [`Directive`]: a comment of a page that says what stands below it.

use crate::plot::{Chart, Kind};
use crate::rows::{Step, distinct, groups, words};
use crate::template::{Template, get, shown};
use crate::{Error, Evidence, Row, table};

/// A column of a table: its title and what its cells are.
type Column = (String, Template);

/// A comment, read.
#[derive(Debug, Default)]
pub(crate) struct Directive {
    pub(crate) what: String,
    /// The file of the evidence, as the page names it.
    pub(crate) file: String,
    steps: Vec<Step>,
    by: Option<Vec<String>>,
    show: Vec<Column>,
    across: Option<Column>,
    kind: Option<(Kind, String)>,
    x: String,
    y: String,
    /// The file of a plot, beside the evidence.
    pub(crate) to: String,
}

impl Directive {
    /// Reads the text between `<!--` and `-->`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (what, file) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
        let mut directive = Self { what: what.into(), file: file.trim().into(), ..Self::default() };
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim();
            match word {
                "by" => directive.by = Some(words(rest)),
                "show" => {
                    for text in rest.split('|') {
                        directive.show.push(column(text)?);
                    }
                }
                "across" => directive.across = Some(column(rest)?),
                "lines" => directive.kind = Some((Kind::Lines, rest.into())),
                "bars" => directive.kind = Some((Kind::Bars, rest.into())),
                "x" => directive.x = rest.into(),
                "y" => directive.y = rest.into(),
                "to" => directive.to = rest.into(),
                _ => directive.steps.push(
                    Step::parse(word, rest)?.ok_or_else(|| Error::new(format!("unknown word {word:?}")))?,
                ),
            }
        }
        Ok(directive)
    }

    fn rows<'e>(&self, evidence: &'e Evidence) -> Result<Vec<&'e Row>, Error> {
        let has = |row: &&Row| self.across.as_ref().is_none_or(|(key, _)| get(row, key).is_some());
        let rows = evidence.rows.iter().filter(has).collect();
        let rows = self.steps.iter().fold(rows, |rows, step| step.take(rows));
        if rows.is_empty() { Err(Error::new("no row of the evidence is left")) } else { Ok(rows) }
    }

    /// Returns the rows as a table.
    pub(crate) fn table(&self, evidence: &Evidence) -> Result<String, Error> {
        let rows = self.rows(evidence)?;
        let lines = match &self.by {
            Some(keys) => groups(rows, keys),
            None => rows.into_iter().map(|row| vec![row]).collect(),
        };
        let mut header: Vec<String> = self.show.iter().map(|(title, _)| title.clone()).collect();
        let mut cells: Vec<Vec<String>> =
            lines.iter().map(|rows| self.show.iter().map(|(_, cell)| cell.of(rows)).collect()).collect();
        if let Some((key, template)) = &self.across {
            let at = |row: &Row| get(row, key).and_then(|value| shown(value, 1.0));
            for name in distinct(lines.iter().flatten().filter_map(|row| at(row))) {
                for (cells, rows) in cells.iter_mut().zip(&lines) {
                    let of: Vec<&Row> =
                        rows.iter().copied().filter(|row| at(row).as_ref() == Some(&name)).collect();
                    cells.push(if of.is_empty() { String::new() } else { template.of(&of) });
                }
                header.push(name);
            }
        }
        Ok(table(&header, &cells))
    }

    /// Returns the rows as text: that of the columns, one after the other.
    pub(crate) fn text(&self, evidence: &Evidence) -> Result<String, Error> {
        let rows = self.rows(evidence)?;
        let texts: Vec<String> = self.show.iter().map(|(_, template)| template.of(&rows)).collect();
        Ok(texts.join(" "))
    }

    /// Returns the rows as a plot: its title and its drawing.
    pub(crate) fn plot(&self, evidence: &Evidence) -> Result<(String, String), Error> {
        let rows = self.rows(evidence)?;
        let (kind, by) = self.kind.clone().ok_or_else(|| Error::new("expected lines or bars"))?;
        let ys: Vec<&str> = self.y.split(' ').collect();
        let chart = Chart::of(kind, &rows, &by, &self.x, &ys);
        let drawing = chart.svg()?.replace("currentColor", "#777777");
        Ok((format!("{} by {}", chart.y, chart.x), drawing))
    }
}

/// Reads `title = TEMPLATE`, or a key alone.
fn column(text: &str) -> Result<Column, Error> {
    let text = text.trim();
    Ok(match text.split_once(" = ") {
        Some((title, template)) => (title.trim().into(), Template::parse(template)?),
        None => (text.replace('_', " "), Template::parse(&format!("{{{text}}}"))?),
    })
}
