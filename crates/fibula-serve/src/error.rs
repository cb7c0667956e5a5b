//! [`Error`]: why a service cannot start.

use std::fmt::Display;

/// Why a service cannot start or go on. The text is one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(what: impl Display) -> Self {
        Self(what.to_string())
    }
}
