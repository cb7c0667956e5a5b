//! The library's one error type.

use crate::Family;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// The reason for a failure: a kind to match, and one line of text that names the number or the
/// argument.
///
/// ```
/// use fibula::{ErrorKind, Prefix};
/// let error = "10.0.0.0/33".parse::<Prefix<u32>>().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Prefix);
/// assert_eq!(error.to_string(), "prefix length 33 is past the 32 bits of the family");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    text: Cow<'static, str>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A text is not a prefix, or a prefix is longer than its family's addresses or has host bits
    /// set.
    Prefix,
    /// A text is none of the names it could be. The error lists those.
    Name,
    /// A table exceeds a capacity.
    Limit(Limit),
    /// No engine has this name.
    UnknownEngine,
    /// An engine, a snapshot or an address is of the other address family.
    Family,
    /// An engine does not have a parameter, or the value is out of its range.
    Parameter,
    /// An engine cannot be built for a reason of its own.
    Engine,
    /// An engine lacks a requested capability.
    Unsupported,
    /// Bytes are not a snapshot, or not a sound one.
    Snapshot,
    /// A file cannot be read or mapped.
    File,
    /// Readers neither take guards nor rest, and too many tables wait for a grace period.
    ReadersHeldUp,
    /// An argument can never be right.
    Usage,
}

/// A capacity that a table exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What there are too many of, as in "next hops".
    pub what: &'static str,
    /// The number that the table has.
    pub had: u64,
    /// The greatest number that fits.
    pub max: u64,
}

impl Limit {
    /// The `what` of every limit on next-hop indices.
    pub const NEXT_HOPS: &'static str = "next hops";

    /// Returns `Ok(())` if `had <= max`, else the limit that was exceeded.
    ///
    /// # Errors
    /// If `had > max`.
    pub fn check(what: &'static str, had: u64, max: u64) -> Result<(), Self> {
        if had <= max { Ok(()) } else { Err(Self { what, had, max }) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is more than the {} that fit", self.what, self.had, self.max)
    }
}

impl std::error::Error for Limit {}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Self::new(ErrorKind::Limit(limit), limit.to_string())
    }
}

impl Error {
    /// Creates an error of a kind. The text is one line.
    #[must_use]
    pub fn new(kind: ErrorKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, text: text.into() }
    }

    /// Creates the error of a text that is none of `choices`, as in `order "x": expected one of
    /// free, kept`.
    #[must_use]
    pub fn unknown_name(what: &str, text: &str, choices: &[&str]) -> Self {
        let text: String = text.chars().take(80).collect();
        Self::new(ErrorKind::Name, format!("{what} {text:?}: expected one of {}", choices.join(", ")))
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the limit that was exceeded, if that is the reason.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match self.kind {
            ErrorKind::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    pub(crate) fn prefix_len(len: u32, bits: u8) -> Self {
        Self::new(ErrorKind::Prefix, format!("prefix length {len} is past the {bits} bits of the family"))
    }

    pub(crate) fn host_bits(address: IpAddr, len: u8) -> Self {
        Self::new(ErrorKind::Prefix, format!("{address}/{len} has bits set after its length (host bits)"))
    }

    pub(crate) fn prefix_syntax(text: &str, family: Family) -> Self {
        let text: String = text.chars().take(80).collect();
        Self::new(ErrorKind::Prefix, format!("{text:?} is not an {family} prefix (expected address/length)"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
