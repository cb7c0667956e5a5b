//! [`Error`].

use std::io;

/// What can go wrong in a router.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table or a limit of it.
    #[error(transparent)]
    Fibula(#[from] fibula::Error),
    /// A file that holds a table.
    #[cfg(feature = "daemon")]
    #[error(transparent)]
    File(#[from] fibula_io::Error),
    /// A file that says who may read the metrics.
    #[cfg(all(feature = "daemon", target_os = "linux"))]
    #[error(transparent)]
    Access(#[from] fibula_access::Error),
    /// The kernel refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A list of lines about packets.
    #[error(transparent)]
    Acl(#[from] crate::acl::Error),
    /// A stream of FPM frames is malformed.
    #[error(transparent)]
    Fpm(#[from] crate::feed::fpm::Error),
}

impl Error {
    /// Returns the error of something that the kernel refused.
    pub fn io(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), error: error.into() }
    }
}
