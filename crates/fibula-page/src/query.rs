//! [`Query`]: the parameters after the question mark.

use fibula::IpPrefix;
use std::borrow::Cow;
use std::str::FromStr;

/// The parameters of `/v1/diff`.
pub const DIFF: &[&str] = &["from", "to", "limit", "offset", "total"];

/// The parameters of `/v1/legend`.
pub const LEGEND: &[&str] = &["table", "family", "by", "against"];

/// The parameters of `/v1/tile`.
pub const TILE: &[&str] = &["table", "family", "by", "against", "block", "zoom", "x", "y"];

/// Which rows of an answer are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The rows before them.
    pub offset: usize,
    /// How many, if the question says so.
    pub limit: Option<usize>,
    /// Whether the number of all rows is asked for, too.
    pub has_total: bool,
}

impl Page {
    /// Reads it from a question.
    ///
    /// # Errors
    /// If a number is none.
    pub fn asked(query: &Query<'_>) -> Result<Self, String> {
        let (offset, limit) = (query.number("offset")?.unwrap_or(0), query.number("limit")?);
        Ok(Self { offset, limit, has_total: query.flag("total")? })
    }

    /// Counts all rows, if that is asked.
    pub fn total(self, count: impl FnOnce() -> usize) -> Option<usize> {
        self.has_total.then(count)
    }
}

/// The parameters of a request, each at most once.
#[derive(Debug)]
pub struct Query<'u>(Vec<(Cow<'u, str>, Cow<'u, str>)>);

impl<'u> Query<'u> {
    /// Reads the parameters.
    ///
    /// # Errors
    /// If one is not `known`, or comes twice.
    pub fn of(query: Option<&'u str>, known: &[&str]) -> Result<Self, String> {
        let mut pairs: Vec<(Cow<'u, str>, Cow<'u, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let expected = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(format!("no parameter {:?}: expected {expected}", shortened(&name)));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(format!("parameter {name} is given twice"));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// Returns the value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_ref())
    }

    /// Returns whether a switch is on: `all`, `all=true` or `all=1`.
    ///
    /// # Errors
    /// If it is something else.
    pub fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(value) => Err(format!("{name}: {:?} is neither true nor false", shortened(value))),
        }
    }

    /// Returns the value of a parameter that must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn needed(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("parameter {name} is missing"))
    }

    /// Returns the value of a parameter as a number.
    ///
    /// # Errors
    /// If it is none of this type.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let number = |value: &str| {
            value.parse().map_err(|_| format!("{name}: {:?} is no number that it may be", shortened(value)))
        };
        self.get(name).map(number).transpose()
    }

    /// Returns the value of a parameter as a prefix, or the host prefix of an address.
    ///
    /// # Errors
    /// If it is neither.
    pub fn prefix(&self, name: &str) -> Result<Option<IpPrefix>, String> {
        self.get(name).map(|value| prefix_of(name, value)).transpose()
    }
}

/// Reads an address or a prefix, which errors call `name`.
///
/// # Errors
/// If it is neither.
pub fn prefix_of(name: &str, value: &str) -> Result<IpPrefix, String> {
    value.parse().map_err(|error: fibula::Error| {
        let what = if value.contains('/') { error.to_string() } else { NO_ADDRESS.into() };
        format!("{name}: {:?}: {what}", shortened(value))
    })
}

/// What a text that is neither is refused with.
pub const NO_ADDRESS: &str = "expected an IPv4 or IPv6 address or prefix";

/// Returns as much of a text as an error shows.
#[must_use]
pub fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(query: &str) -> Result<(), String> {
        let query = Query::of(Some(query), &["addr", "all", "limit"])?;
        query.flag("all")?;
        query.number::<u32>("limit")?;
        query.prefix("addr").map(drop)
    }

    #[test]
    fn each_wrong_parameter_is_named() {
        for query in ["addr=192.0.2.1&all&limit=7", "addr=192.0.2.0%2F24&all=0"] {
            assert_eq!(refused(query), Ok(()), "{query}");
        }
        for (query, what) in [
            ("adr=1", "no parameter \"adr\": expected addr, all, limit"),
            ("all&all", "parameter all is given twice"),
            ("all=maybe", "all: \"maybe\" is neither true nor false"),
            ("limit=-1", "limit: \"-1\" is no number that it may be"),
            ("addr=%00%FF", "addr: \"\\0\u{FFFD}\": expected an IPv4 or IPv6 address or prefix"),
        ] {
            assert_eq!(refused(query).unwrap_err(), what, "{query}");
        }
        let long = format!("{}=1", "x".repeat(1000));
        assert!(refused(&long).unwrap_err().len() < 200);
    }
}
