//! The crate's one error type. Its text is one line that names the source and the place in it.

use crate::Source;
use std::fmt;
use std::path::Path;

/// Why something could not be read or written. The text is one line that names the source and,
/// where there is one, the place.
///
/// ```
/// use fibula_io::table;
/// let text = b"10.0.0.0/8 1\n0.0.0.0/33 2\n";
/// let error = table::parse(text, &table::ReadOptions::default()).unwrap_err().to_string();
/// assert_eq!(error, "memory, line 2: prefix length 33 is past the 32 bits of the family");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{source_name}{place}: {what}")]
pub struct Error {
    source_name: String,
    place: String,
    what: String,
}

/// A position in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of text, counted from 1.
    Line(u64),
    /// A row of a file of columns, or an element of a JSON document, counted from 1.
    Row(u64),
    /// A byte of the decompressed content, counted from 0.
    Byte(u64),
    /// A byte of the compressed file, counted from 0.
    CompressedByte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::CompressedByte(byte) => write!(f, "byte {byte} of the compressed file"),
        }
    }
}

/// A damaged part of a source that was skipped because the caller asked to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the damage is.
    pub place: Place,
    /// What is wrong there, and what was expected.
    pub what: String,
}

impl Damage {
    pub(crate) fn line(line: u64, what: impl Into<String>) -> Self {
        Self { place: Place::Line(line), what: what.into() }
    }

    pub(crate) fn byte(byte: u64, what: impl Into<String>) -> Self {
        Self { place: Place::Byte(byte), what: what.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl Error {
    /// An error of the source as a whole.
    pub(crate) fn of(source: &Source, what: impl fmt::Display) -> Self {
        Self { source_name: source.to_string(), place: String::new(), what: one_line(&what.to_string()) }
    }

    /// An error of an argument, as in `trace "miss=130"`.
    pub(crate) fn argument(name: &str, given: &str, what: impl fmt::Display) -> Self {
        let given: String = given.chars().take(80).collect();
        Self { source_name: format!("{name} {given:?}"), place: String::new(), what: what.to_string() }
    }

    /// An error at one place of a source.
    pub(crate) fn at(source: &Source, damage: &Damage) -> Self {
        Self {
            source_name: source.to_string(),
            place: format!(", {}", damage.place),
            what: one_line(&damage.what),
        }
    }

    /// An error of a file that is written.
    pub(crate) fn writing(path: &Path, what: &std::io::Error) -> Self {
        Self {
            source_name: path.display().to_string(),
            place: String::new(),
            what: format!("cannot be written: {}", one_line(&what.to_string())),
        }
    }
}

/// Replaces line breaks in other libraries' messages: an error is one line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
