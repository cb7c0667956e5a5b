//! The crate's one error type.

/// Why a map cannot be drawn. The text is one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// Returns an error of these words.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}
