//! The library's one error type.

use crate::Family;
use std::net::IpAddr;

/// Why something could not be done. Its text is one line that names the number or the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Kind {
    #[error("prefix length {len} is past the {bits} bits of the family")]
    PrefixLen { len: u32, bits: u8 },
    #[error("{address}/{len} has bits set after its length (host bits)")]
    HostBits { address: IpAddr, len: u8 },
    #[error("{text:?} is not an {family} prefix (expected address/length)")]
    PrefixSyntax { text: String, family: Family },
    #[error("{0}")]
    Limit(Limit),
    #[error("{0}")]
    Engine(String),
    #[error("{0}")]
    Parameter(String),
    #[error("{0}")]
    Snapshot(String),
    #[error("{0}")]
    Usage(String),
}

/// A capacity that a table exceeds: what, how many it had, how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {had} is more than the {max} that fit")]
pub struct Limit {
    /// What there are too many of, as in "next hops".
    pub what: &'static str,
    /// How many the table has.
    pub had: u64,
    /// How many fit.
    pub max: u64,
}

impl Limit {
    /// `Ok(())` if `had <= max`, else the limit that was exceeded.
    ///
    /// # Errors
    /// If `had > max`.
    pub fn check(what: &'static str, had: u64, max: u64) -> Result<(), Self> {
        if had <= max { Ok(()) } else { Err(Self { what, had, max }) }
    }
}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Self(Kind::Limit(limit))
    }
}

impl Error {
    /// The limit that was exceeded, if that is what went wrong.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match self.0 {
            Kind::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    pub(crate) fn prefix_len(len: u32, bits: u8) -> Self {
        Self(Kind::PrefixLen { len, bits })
    }

    pub(crate) fn host_bits(address: IpAddr, len: u8) -> Self {
        Self(Kind::HostBits { address, len })
    }

    pub(crate) fn prefix_syntax(text: &str, family: Family) -> Self {
        Self(Kind::PrefixSyntax { text: text.chars().take(80).collect(), family })
    }

    /// An engine that does not exist, does not hold this family, or cannot be built for a reason of its own.
    #[must_use]
    pub fn engine(text: impl Into<String>) -> Self {
        Self(Kind::Engine(text.into()))
    }

    /// Something asked for that cannot be done.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self(Kind::Usage(text.into()))
    }

    /// A snapshot that cannot be made or is not sound.
    pub(crate) fn snapshot(text: impl Into<String>) -> Self {
        Self(Kind::Snapshot(text.into()))
    }

    /// A parameter that an engine does not have, or a value out of its range.
    pub(crate) fn parameter(text: impl Into<String>) -> Self {
        Self(Kind::Parameter(text.into()))
    }
}
