//! The crate's one error type.

use std::time::Duration;

/// Why something could not be done on a card. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Kind {
    #[error("no CUDA card: {0}")]
    NoCard(String),
    #[error("kernels cannot be compiled: {0}")]
    Compiler(String),
    #[error("{device} failed: {what}")]
    Fault { device: String, what: String },
    #[error("{device}: a batch has not ended for {waited:?}, and holds the copy to be changed")]
    Held { device: String, waited: Duration },
    #[error("the {part} of the table: {had} bytes are more than the {room} set aside")]
    Full { part: &'static str, had: usize, room: usize },
    #[error(transparent)]
    Table(fibula::Error),
    #[error("{0}")]
    Usage(String),
}

impl Error {
    pub(crate) fn no_card(why: impl Into<String>) -> Self {
        Self(Kind::NoCard(why.into()))
    }

    pub(crate) fn compiler(why: impl Into<String>) -> Self {
        Self(Kind::Compiler(why.into()))
    }

    /// The error of a device that failed, and how.
    pub fn fault(device: impl Into<String>, what: impl Into<String>) -> Self {
        Self(Kind::Fault { device: device.into(), what: what.into() })
    }

    pub(crate) fn held(device: impl Into<String>, waited: Duration) -> Self {
        Self(Kind::Held { device: device.into(), waited })
    }

    pub(crate) fn full(part: &'static str, had: usize, room: usize) -> Self {
        Self(Kind::Full { part, had, room })
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self(Kind::Usage(text.into()))
    }

    /// Returns the limit that was exceeded, if that is what went wrong.
    #[must_use]
    pub fn limit(&self) -> Option<fibula::Limit> {
        match &self.0 {
            Kind::Table(error) => error.limit(),
            _ => None,
        }
    }

    /// Returns whether a batch that does not end held up a change.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        matches!(self.0, Kind::Held { .. })
    }

    /// Returns whether a part of a table has outgrown its room on the device: the whole table must
    /// be copied again.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.0, Kind::Full { .. })
    }
}

impl From<fibula::Error> for Error {
    fn from(error: fibula::Error) -> Self {
        Self(Kind::Table(error))
    }
}

impl From<fibula::Limit> for Error {
    fn from(limit: fibula::Limit) -> Self {
        Self::from(fibula::Error::from(limit))
    }
}
