//! The crate's one error type.

use fibula::ErrorKind;
use std::net::IpAddr;

/// Why something could not be measured or judged. The text is one line.
///
/// A wrong answer is no error: results hold those.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error(transparent)]
    Engine(fibula::Error),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
    #[error(
        "the judges disagree at {address}: the oracle says {oracle}, the table's intervals say {intervals}"
    )]
    Judges { address: IpAddr, oracle: u32, intervals: u32 },
}

impl Error {
    /// Returns the limit that was exceeded, if that is what went wrong.
    #[must_use]
    pub fn limit(&self) -> Option<fibula::Limit> {
        match &self.0 {
            Kind::Engine(error) => error.limit(),
            Kind::Usage(_) | Kind::Elsewhere(_) | Kind::Judges { .. } => None,
        }
    }

    /// Returns whether an engine refused a table: by a limit, or for a reason of its own.
    ///
    /// Any other error is not about the table, as a name that no engine has.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(&self.0, Kind::Engine(error) if is_refusal(error))
    }

    /// The error of a table that is kept elsewhere; see
    /// [`LiveTable`](crate::live_table::LiveTable).
    pub fn elsewhere(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Kind::Elsewhere(error.into()))
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self(Kind::Usage(text.into()))
    }
}

pub(crate) fn is_refusal(error: &fibula::Error) -> bool {
    matches!(error.kind(), ErrorKind::Limit(_) | ErrorKind::Engine)
}

impl From<fibula::Error> for Error {
    fn from(error: fibula::Error) -> Self {
        Self(Kind::Engine(error))
    }
}
