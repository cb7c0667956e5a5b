//! [`TraceKind`]: which addresses, in which order.

use crate::{Error, Source};
use std::fmt;
use std::str::FromStr;

/// A kind of address stream, written as its name, or as `name=value` where it has a parameter.
///
/// ```
/// use fibula_io::trace::TraceKind;
/// assert_eq!("zipf".parse::<TraceKind>()?, TraceKind::Zipf);
/// assert_eq!("miss=30".parse::<TraceKind>()?, TraceKind::Miss(30));
/// assert_eq!("file=dst.txt.gz".parse::<TraceKind>()?.to_string(), "file=dst.txt.gz");
/// assert!("miss=130".parse::<TraceKind>().is_err());
/// # Ok::<(), fibula_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// `random`: uniform over the public unicast space. IPv4 only: 99.9 % of uniform IPv6 addresses
    /// end at the root of any table.
    Random,
    /// `prefix`: a prefix drawn uniformly, its host bits random. The answer may be a more specific
    /// prefix.
    Prefix,
    /// `match`: Random Match (the TILEPro64 study, section IV.A). For every prefix it takes the
    /// longest of its leaf-pushed paths, draws one of these uniformly, and draws the remaining bits
    /// at random. It is the longest search of every prefix, without locality.
    Match,
    /// `zipf`: [`ZIPF_DESTINATIONS`](super::ZIPF_DESTINATIONS) addresses drawn as `prefix` does.
    /// The frequency of the *k*-th is proportional to 1/*k*.
    Zipf,
    /// `sequential`: consecutive addresses, from the first of a drawn prefix on and around the end
    /// of the space; for IPv6, consecutive /64s.
    Sequential,
    /// `repeat`: one burst of [`BURST`](super::BURST) addresses, drawn as `prefix` does, again and
    /// again.
    Repeat,
    /// `deep=ENGINE`: the addresses for which this engine, specified as for
    /// [`Fib::build`](fibula::Fib::build), loads the most elements and computes the most hashes:
    /// one in sixteen of a million drawn as `match` and `prefix` do, in random order. Without an
    /// engine it is for the reader to say which, as `fibula bench` does: each engine its own.
    Deep(Option<String>),
    /// `miss=R`: *R* percent of the addresses, 0 to 100, match a prefix of the table and are drawn
    /// as `prefix` does. The others are between the prefixes: a gap drawn uniformly, an address
    /// drawn uniformly in it.
    Miss(u8),
    /// `file=PATH`: the addresses of a text file, one a line, or the destinations of a pcap or
    /// pcapng file, in order. After the last it starts again. Those of the other family are left
    /// out.
    File(Source),
    /// `mapped=PATH`: the locality of such a file, of either family, on this table (Realistic
    /// Random Match, the TILEPro64 study, section IV.A). Each distinct address, in order of first
    /// appearance, is replaced by one drawn as `match` does.
    Mapped(Source),
}

/// What error messages expect of a kind.
const EXPECTED: &str = "expected random, prefix, match, zipf, sequential, repeat, deep=ENGINE, miss=PERCENT (how many \
                        match, 0 to 100), file=PATH or mapped=PATH";

impl TraceKind {
    /// The name without a parameter.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Prefix => "prefix",
            Self::Match => "match",
            Self::Zipf => "zipf",
            Self::Sequential => "sequential",
            Self::Repeat => "repeat",
            Self::Deep(_) => "deep",
            Self::Miss(_) => "miss",
            Self::File(_) => "file",
            Self::Mapped(_) => "mapped",
        }
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Deep(Some(engine)) => write!(f, "={engine}"),
            Self::Miss(percent) => write!(f, "={percent}"),
            Self::File(Source::StandardInput) | Self::Mapped(Source::StandardInput) => f.write_str("=-"),
            Self::File(source) | Self::Mapped(source) => write!(f, "={source}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for TraceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::argument("trace", text, EXPECTED);
        match text.split_once('=') {
            None => match text {
                "random" => Ok(Self::Random),
                "prefix" => Ok(Self::Prefix),
                "match" => Ok(Self::Match),
                "zipf" => Ok(Self::Zipf),
                "sequential" => Ok(Self::Sequential),
                "repeat" => Ok(Self::Repeat),
                "deep" => Ok(Self::Deep(None)),
                _ => Err(unknown()),
            },
            Some(("miss", percent)) if percent.bytes().all(|b| b.is_ascii_digit()) => {
                percent.parse().ok().filter(|&percent| percent <= 100).map(Self::Miss).ok_or_else(unknown)
            }
            Some(("deep", engine)) if !engine.is_empty() => Ok(Self::Deep(Some(engine.to_owned()))),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("mapped", path)) if !path.is_empty() => Ok(Self::Mapped(path.into())),
            Some(_) => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_as_it_is_read() {
        for text in [
            "random",
            "prefix",
            "match",
            "zipf",
            "sequential",
            "repeat",
            "deep",
            "deep=dxr/k=20",
            "miss=0",
            "miss=100",
            "file=a=b.pcap",
            "file=-",
            "mapped=/x/y",
        ] {
            assert_eq!(text.parse::<TraceKind>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn others_are_refused_with_what_is_expected() {
        for text in
            ["", "Zipf", "miss", "miss=", "miss=+5", "miss=101", "miss=256", "file=", "prefix=1", "deep="]
        {
            let error = text.parse::<TraceKind>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("trace {text:?}: expected random")), "{error}");
        }
    }
}
