//! The crate's one error type.

use arrow_schema::DataType;
use std::fmt;

/// Why a column could not be looked up. The text is one line.
///
/// ```
/// use arrow_array::StringArray;
/// use fibula_arrow::{Invalid, contains};
/// let column = StringArray::from(vec!["192.0.2.1", "192.0.2"]);
/// let table: fibula::Table<()> = fibula::Table::new();
/// let error = contains(&column, &table, Invalid::Error).unwrap_err();
/// assert_eq!(error.to_string(), r#"row 1: "192.0.2" is not an IPv4 or IPv6 address"#);
/// assert_eq!(error.at_row(8192).row(), Some(8193));
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Kind);

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("row {row}: {what}")]
    Address { row: u64, what: String },
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// An invalid address in `row`, as it is written.
    pub(crate) fn address(row: usize, written: &str) -> Self {
        /// What is shown of a text.
        const SHOWN: usize = 80;
        let what: String = written.chars().take(SHOWN).collect();
        Self(Kind::Address { row: row as u64, what: format!("{what} is not an IPv4 or IPv6 address") })
    }

    /// A column of a type that holds no addresses.
    pub(crate) fn data_type(data_type: &DataType) -> Self {
        Self(Kind::Other(format!(
            "a column of type {data_type} holds no addresses: expected text, UInt32, Int64, UInt64, or \
             binary of 4 or 16 bytes"
        )))
    }

    /// An error of another crate.
    pub(crate) fn other(error: impl fmt::Display) -> Self {
        Self(Kind::Other(error.to_string()))
    }

    /// Returns the row of the invalid address, counted from 0; `None` if the error is of no row.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        match self.0 {
            Kind::Address { row, .. } => Some(row),
            Kind::Other(_) => None,
        }
    }

    /// Returns what is wrong, without the row.
    #[must_use]
    pub fn what(&self) -> &str {
        match &self.0 {
            Kind::Address { what, .. } | Kind::Other(what) => what,
        }
    }

    /// Returns the same error for an array that begins at row `first` of its column.
    #[must_use]
    pub fn at_row(self, first: u64) -> Self {
        Self(match self.0 {
            Kind::Address { row, what } => Kind::Address { row: first + row, what },
            other @ Kind::Other(_) => other,
        })
    }
}
