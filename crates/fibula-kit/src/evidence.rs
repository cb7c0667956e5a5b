//! [`Evidence`]: what a study measured, as JSON lines.

use crate::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One measurement.
pub type Row = Map<String, Value>;

/// How and where rows were measured. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The study's name on the command line.
    pub study: String,
    /// The command, with files without their folders.
    pub command: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// The processor, with its caches, memory and instruction sets.
    pub processor: String,
    /// A card, where one was measured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// The load average of the minute before the end.
    pub load: String,
    /// The day.
    pub date: String,
}

impl Header {
    /// Returns the header of what this process measures, a program of `commit`: with the load of
    /// the system and the day.
    #[must_use]
    pub fn here(study: &str, command: String, commit: &str, processor: String) -> Self {
        let told = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            study: study.into(),
            command,
            commit: commit.into(),
            processor,
            load: told.split(' ').next().unwrap_or_default().into(),
            date: chrono::Utc::now().format("%Y-%m-%d").to_string(),
            ..Self::default()
        }
    }

    /// Returns the header of a part of evidence that was measured another time: a row says it for
    /// the rows that it is about.
    #[must_use]
    pub fn of_part(row: &Row) -> Option<Self> {
        serde_json::from_value(row.get(PART)?.clone()).ok()
    }
}

/// The key of a row with the header of a part that was measured another time.
const PART: &str = "measured_by";

/// A row beside what it is of: the keys of both, one after the other.
#[derive(Debug, Serialize)]
pub struct With<C, R> {
    /// What the row is of, as the table.
    #[serde(flatten)]
    pub context: C,
    /// The row.
    #[serde(flatten)]
    pub row: R,
}

/// What a study measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How and where.
    pub header: Header,
    /// One row for each measurement. Not all need have the same keys.
    pub rows: Vec<Row>,
}

impl Evidence {
    /// Adds rows.
    ///
    /// # Errors
    /// If one has no named fields.
    pub fn add<R: Serialize>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Error> {
        for row in rows {
            match serde_json::to_value(row) {
                Ok(Value::Object(row)) => self.rows.push(row),
                other => return Err(Error::new(format!("a row has named fields, this is {other:?}"))),
            }
        }
        Ok(())
    }

    /// Says in the rows for which `is_of` holds that they were measured by another header's
    /// command.
    pub fn part(&mut self, header: &Header, is_of: impl Fn(&Row) -> bool) {
        let header = serde_json::to_value(header).unwrap_or_default();
        for row in self.rows.iter_mut().filter(|row| is_of(row)) {
            row.insert(PART.into(), header.clone());
        }
    }

    /// Returns the text of a file: the header, then one row a line.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn text(&self) -> Result<String, Error> {
        let failed = |error: serde_json::Error| Error::new(error.to_string());
        let mut text = serde_json::to_string(&self.header).map_err(failed)? + "\n";
        for row in &self.rows {
            text += &serde_json::to_string(row).map_err(failed)?;
            text.push('\n');
        }
        Ok(text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If a line is no JSON object; the error names it.
    pub fn read(text: &str) -> Result<Self, Error> {
        fn parsed<'t, T: Deserialize<'t>>((at, line): (usize, &'t str)) -> Result<T, Error> {
            serde_json::from_str(line).map_err(|error| Error::new(format!("line {}: {error}", at + 1)))
        }
        let mut lines = text.lines().enumerate();
        let header = lines.next().ok_or_else(|| Error::new("line 1: expected the header"))?;
        Ok(Self { header: parsed(header)?, rows: lines.map(parsed).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_written() {
        let header = Header { study: "x".into(), command: "fibula study x".into(), ..Header::default() };
        let mut evidence = Evidence { header, rows: Vec::new() };
        let context = serde_json::json!({"family": "ipv4"});
        evidence.add([With { context, row: serde_json::json!({"ns": 1.5, "none": null}) }]).unwrap();
        let text = evidence.text().unwrap();
        assert_eq!(text.lines().nth(1), Some(r#"{"family":"ipv4","ns":1.5,"none":null}"#));
        assert_eq!(Evidence::read(&text).unwrap(), evidence);
        assert!(evidence.add([1]).is_err());
        assert!(Evidence::read("{}\n[]\n").unwrap_err().to_string().starts_with("line 2: "));
        assert!(Evidence::read("").is_err());
    }
}
