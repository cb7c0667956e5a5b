//! The crate's one error type.

use crate::Finding;

/// Why an exhibit could not be made again. The text is one line.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error(transparent)]
    Lab(fibula_lab::Error),
    #[error(transparent)]
    Io(fibula_io::Error),
    #[error("{0}")]
    Wrong(String),
    #[error("{0}")]
    Nothing(String),
    #[error(transparent)]
    Kit(fibula_kit::Error),
}

impl Error {
    pub(crate) fn wrong(what: impl Into<String>) -> Self {
        Self(Kind::Wrong(what.into()))
    }

    /// Returns the exhibit that says only what it lacks, if that is all that is wrong.
    pub(crate) fn lacking(&self) -> Option<Finding> {
        match &self.0 {
            Kind::Nothing(why) => Some(Finding::none(why.clone())),
            _ => None,
        }
    }

    /// What an exhibit is made from is not there.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self(Kind::Nothing(why.into()))
    }
}

impl From<fibula_lab::Error> for Error {
    fn from(error: fibula_lab::Error) -> Self {
        Self(Kind::Lab(error))
    }
}

impl From<fibula::Error> for Error {
    fn from(error: fibula::Error) -> Self {
        Self(Kind::Lab(error.into()))
    }
}

impl From<fibula_io::Error> for Error {
    fn from(error: fibula_io::Error) -> Self {
        Self(Kind::Io(error))
    }
}

impl From<fibula_kit::Error> for Error {
    fn from(error: fibula_kit::Error) -> Self {
        Self(Kind::Kit(error))
    }
}
