//! [`Query`]: the parameters after the question mark.

use crate::refusal::Refusal;
use axum::http::Uri;
use fibula::IpPrefix;
use std::borrow::Cow;
use std::str::FromStr;

/// The parameters of a request, each at most once.
#[derive(Debug)]
pub(crate) struct Query<'u>(Vec<(Cow<'u, str>, Cow<'u, str>)>);

impl<'u> Query<'u> {
    /// Reads the parameters.
    ///
    /// # Errors
    /// If one is not `known`, or comes twice.
    pub(crate) fn of(uri: &'u Uri, known: &[&str]) -> Result<Self, Refusal> {
        let mut pairs: Vec<(Cow<'u, str>, Cow<'u, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let expected = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(Refusal::bad(format_args!(
                    "no parameter {:?}: expected {expected}",
                    shortened(&name)
                )));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(Refusal::bad(format_args!("parameter {name} is given twice")));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// Returns the value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_ref())
    }

    /// Returns whether a switch is on: `all`, `all=true` or `all=1`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(value) => {
                Err(Refusal::bad(format_args!("{name}: {:?} is neither true nor false", shortened(value))))
            }
        }
    }

    /// Returns the value of a parameter that must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::bad(format_args!("parameter {name} is missing")))
    }

    /// Returns the value of a parameter as a number.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let number = |value: &str| {
            let what = || format!("{name}: {:?} is no number that it may be", shortened(value));
            value.parse().map_err(|_| Refusal::bad(what()))
        };
        self.get(name).map(number).transpose()
    }

    /// Returns the value of a parameter as a prefix, or the host prefix of an address.
    pub(crate) fn prefix(&self, name: &str) -> Result<Option<IpPrefix>, Refusal> {
        self.get(name).map(|value| prefix_of(name, value)).transpose()
    }
}

/// Reads an address or a prefix.
pub(crate) fn prefix_of(name: &str, value: &str) -> Result<IpPrefix, Refusal> {
    value.parse().map_err(|error: fibula::Error| {
        let what = if value.contains('/') { error.to_string() } else { NO_ADDRESS.into() };
        Refusal::bad(format_args!("{name}: {:?}: {what}", shortened(value)))
    })
}

/// What a text that is neither is refused with.
pub(crate) const NO_ADDRESS: &str = "expected an IPv4 or IPv6 address or prefix";

/// Returns as much of a text as an error shows.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uri: &str) -> String {
        let uri: Uri = uri.parse().unwrap();
        let query = Query::of(&uri, &["addr", "all", "limit"]);
        let query = match query {
            Ok(query) => query,
            Err(refusal) => return refusal.what,
        };
        let all = query.flag("all").map(drop);
        let number = query.number::<u32>("limit").map(drop);
        let prefix = query.prefix("addr").map(drop);
        all.and(number).and(prefix).map_or_else(|refusal| refusal.what, |()| "good".into())
    }

    #[test]
    fn each_wrong_parameter_is_named() {
        for (uri, what) in [
            ("/?addr=192.0.2.1&all&limit=7", "good"),
            ("/?addr=192.0.2.0%2F24&all=0", "good"),
            ("/?adr=1", "no parameter \"adr\": expected addr, all, limit"),
            ("/?all&all", "parameter all is given twice"),
            ("/?all=maybe", "all: \"maybe\" is neither true nor false"),
            ("/?limit=-1", "limit: \"-1\" is no number that it may be"),
            ("/?addr=%00%FF", "addr: \"\\0\u{FFFD}\": expected an IPv4 or IPv6 address or prefix"),
        ] {
            assert_eq!(refused(uri), what, "{uri}");
        }
        let long = format!("/?{}=1", "x".repeat(1000));
        assert!(refused(&long).len() < 200);
    }
}
