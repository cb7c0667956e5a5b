//! [`Operand`]: what a question about a table is asked of: another table, or a few addresses.

use crate::exit::Verdict;
use crate::reading::{Reading, verdict};
use anyhow::{Context, ensure};
use fibula::IpPrefix;
use fibula_io::Source;
use fibula_io::table::Tables;
use std::net::IpAddr;
use std::str::FromStr;

/// A table in a file or `-`, or a prefix, an address or a range of addresses itself.
///
/// What begins with an address is no file: a file of such a name is given as `./10.0.0.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Addresses(String),
    Table(Source),
}

impl FromStr for Operand {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let first = text.split(['/', '-']).next().unwrap_or_default();
        Ok(match first.parse::<IpAddr>() {
            Ok(_) => Self::Addresses(text.to_owned()),
            Err(_) => Self::Table(Source::from(text)),
        })
    }
}

impl Operand {
    /// As [`read`](Self::read), where a range is the one prefix that all of its addresses are in:
    /// what covers that covers the range.
    pub(crate) fn read_whole(&self, reading: &Reading) -> anyhow::Result<(Tables, Verdict)> {
        let (tables, verdict) = self.read(reading)?;
        let Self::Addresses(text) = self else { return Ok((tables, verdict)) };
        let ends =
            text.split_once('-').and_then(|(first, last)| around(first.parse().ok()?, last.parse().ok()?));
        Ok((ends.map_or(tables, |prefix| Tables::of_prefixes(vec![prefix])), verdict))
    }

    /// Reads the table, or makes one of the addresses.
    pub(crate) fn read(&self, reading: &Reading) -> anyhow::Result<(Tables, Verdict)> {
        match self {
            Self::Table(source) => {
                let loaded = reading.read(source)?;
                let whole = verdict(&loaded);
                Ok((loaded.tables, whole))
            }
            Self::Addresses(text) => {
                Ok((Tables::of_prefixes(prefixes(text, reading.mask_host_bits)?), Verdict::Good))
            }
        }
    }
}

/// Returns the longest prefix that has both addresses, `None` if they are of two families.
fn around(first: IpAddr, last: IpAddr) -> Option<IpPrefix> {
    let (differ, bits) = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => (u128::from(first.to_bits() ^ last.to_bits()), 32),
        (IpAddr::V6(first), IpAddr::V6(last)) => (first.to_bits() ^ last.to_bits(), 128),
        _ => return None,
    };
    let differing = (128 - differ.leading_zeros()) as u8;
    IpPrefix::masked(first, bits - differing).ok()
}

/// Returns the prefixes that a prefix, an address or a range `first-last` is.
fn prefixes(text: &str, mask_host_bits: bool) -> anyhow::Result<Vec<IpPrefix>> {
    if let Some((first, last)) = text.split_once('-') {
        let last: IpAddr =
            last.parse().ok().with_context(|| format!("{last:?} is no address, the last of a range"))?;
        let prefixes: Vec<IpPrefix> = IpPrefix::fewest(first.parse::<IpAddr>()?, last)?.collect();
        ensure!(!prefixes.is_empty(), "the range {text} ends before it begins");
        return Ok(prefixes);
    }
    if mask_host_bits
        && let Some((address, len)) = text.split_once('/')
        && let Ok(len) = len.parse()
    {
        return Ok(vec![IpPrefix::masked(address.parse::<IpAddr>()?, len)?]);
    }
    Ok(vec![text.parse()?])
}

/// Checks that at most one table comes from standard input.
pub(crate) fn check_standard_input<'s>(sources: impl IntoIterator<Item = &'s Source>) -> anyhow::Result<()> {
    let count = sources.into_iter().filter(|source| **source == Source::StandardInput).count();
    ensure!(count < 2, "only one table can come from standard input");
    Ok(())
}

/// Returns the tables among operands.
pub(crate) fn sources(operands: &[Operand]) -> impl Iterator<Item = &Source> {
    operands.iter().filter_map(|operand| match operand {
        Operand::Table(source) => Some(source),
        Operand::Addresses(_) => None,
    })
}
