//! [`Which`]: routes of a table by what they cover or lead to.

use crate::{Query, Shown};
use fibula::{IpPrefix, NextHop};

/// Which routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those of this prefix and its more specific ones.
    CoveredBy(IpPrefix),
    /// Those that cover this prefix, longest first.
    Covering(IpPrefix),
    /// Those whose value has this text in it, whatever its case. A number, or `AS` and a number, is
    /// only found as a whole.
    Of(String),
}

impl Which {
    /// The parameters that say it, of which a question has one at most.
    pub const PARAMETERS: [&'static str; 3] = ["covered-by", "covering", "value"];

    /// Reads it from a question.
    ///
    /// # Errors
    /// If a prefix is none, or several parameters are given.
    pub fn asked(query: &Query<'_>) -> Result<Self, String> {
        let value = query.get("value").map(|text| Self::Of(text.to_lowercase()));
        let covered = query.prefix("covered-by")?.map(Self::CoveredBy);
        let covering = query.prefix("covering")?.map(Self::Covering);
        let given = Self::PARAMETERS.into_iter().zip([covered, covering, value]);
        let mut given = given.filter_map(|(name, which)| Some((name, which?)));
        match (given.next(), given.next()) {
            (Some((one, _)), Some((other, _))) => Err(format!("{one} and {other} are given both")),
            (first, _) => Ok(first.map_or(Self::All, |(_, which)| which)),
        }
    }

    /// Returns the routes. To find those of a value takes O(n), the others what they are.
    pub(crate) fn of<'s>(
        &self,
        shown: &'s Shown,
    ) -> Box<dyn Iterator<Item = (IpPrefix, NextHop)> + Send + 's> {
        let copied = |(prefix, &next_hop): (IpPrefix, &NextHop)| (prefix, next_hop);
        match self {
            Self::All => Box::new(shown.table.iter().map(copied)),
            Self::CoveredBy(prefix) => Box::new(shown.table.covered(*prefix).map(copied)),
            Self::Covering(prefix) => Box::new(shown.table.covering(*prefix).map(copied)),
            Self::Of(text) => {
                let found = shown.next_hops.iter().map(|(_, info)| has(&info.to_string(), text));
                let found: Vec<bool> = std::iter::once(false).chain(found).collect();
                Box::new(
                    shown.table.iter().map(copied).filter(move |(_, next_hop)| found[next_hop.0 as usize]),
                )
            }
        }
    }
}

/// Returns whether a value has a text in lower case in it.
fn has(value: &str, text: &str) -> bool {
    let number = text.strip_prefix("as").unwrap_or(text);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.to_lowercase().contains(text);
    }
    value.match_indices(number).any(|(at, _)| {
        let is_digit = |character: Option<char>| character.is_some_and(|one| one.is_ascii_digit());
        !is_digit(value[..at].chars().next_back()) && !is_digit(value[at + number.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn numbers_are_found_as_a_whole_and_names_in_part() {
        for (value, text, expected) in [
            ("64501", "64501", true),
            ("64501", "as64501", true),
            ("64501", "6450", false),
            ("164501", "64501", false),
            (r#"{"asn":64501,"name":"Example"}"#, "64501", true),
            (r#"{"asn":64501,"name":"Example"}"#, "exam", true),
            ("Zürich", "züri", true),
            ("asphalt", "as", true),
        ] {
            assert_eq!(has(value, text), expected, "{value} {text}");
        }
    }
}
