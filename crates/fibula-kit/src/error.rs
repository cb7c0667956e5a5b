//! The crate's one error type.

/// Why a page or plot cannot be made. The text is one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// Returns an error of these words.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Returns the same error with the place before it.
    pub(crate) fn at(&self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}: {self}"))
    }
}
