//! [`Source`]: where bytes come from.

use std::fmt;
use std::path::PathBuf;

/// A file, or standard input; gz, bz2 and zst are recognised by content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input, written `-` on the command line.
    StandardInput,
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        if text == "-" { Self::StandardInput } else { Self::File(text.into()) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}
