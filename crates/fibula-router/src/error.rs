//! [`Error`].

/// What can go wrong in a router.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table or a limit of it.
    #[error(transparent)]
    Fibula(#[from] fibula::Error),
    /// The kernel refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        error: std::io::Error,
    },
}
