//! The crate's one error type: always one line that names the source and the place in it.

use crate::Source;

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{source_name}{place}: {what}")]
pub struct Error {
    source_name: String,
    place: String,
    what: String,
}

/// One damaged place of a source that was passed over because salvaging was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where, as "line 3" or "byte 1048576".
    pub place: String,
    /// What is wrong there, and what was expected.
    pub what: String,
}

impl Error {
    /// An error of the source as a whole.
    pub(crate) fn of(source: &Source, what: impl std::fmt::Display) -> Self {
        Self { source_name: source.to_string(), place: String::new(), what: what.to_string() }
    }

    /// An error at one place of a source.
    pub(crate) fn at(source: &Source, damage: &Damage) -> Self {
        Self {
            source_name: source.to_string(),
            place: format!(", {}", damage.place),
            what: damage.what.clone(),
        }
    }
}

impl Error {
    /// An error of something asked for, as in `trace "miss=130"`.
    pub(crate) fn argument(name: &str, given: &str, what: impl std::fmt::Display) -> Self {
        let given: String = given.chars().take(80).collect();
        Self { source_name: format!("{name} {given:?}"), place: String::new(), what: what.to_string() }
    }
}
