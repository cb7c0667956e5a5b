//! [`Which`]: routes of a table by what they cover or lead to.

use crate::{Query, Shown};
use fibula::{IpPrefix, NextHop, NextHopInfo};
use fibula_io::table::json_of;
use serde_json::Value;

/// Which routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those of this prefix and its more specific ones.
    CoveredBy(IpPrefix),
    /// Those that cover this prefix, longest first.
    Covering(IpPrefix),
    /// Those whose value has this text in it, whatever its case. `AS` and a number is the origin,
    /// an AS of the path, or another field of AS numbers. A number alone is one as a whole, and no
    /// part of an address.
    Of(String),
}

impl Which {
    /// The parameters that say it, of which a question has one at most.
    pub const PARAMETERS: [&'static str; 3] = ["covered-by", "covering", "value"];

    /// The parameters of a question about routes.
    pub const KNOWN: &'static [&'static str] =
        &["table", "covered-by", "covering", "value", "limit", "offset", "total"];

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
                let found = shown.next_hops.iter().map(|(_, info)| has(info, text));
                let found: Vec<bool> = std::iter::once(false).chain(found).collect();
                Box::new(
                    shown.table.iter().map(copied).filter(move |(_, next_hop)| found[next_hop.0 as usize]),
                )
            }
        }
    }
}

/// Returns whether a value has a text in lower case in it.
fn has(info: &NextHopInfo, text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = text.strip_prefix("as").filter(|number| is_number(number)) else {
        let value = info.to_string();
        return if is_number(text) { has_number(&value, text) } else { value.to_lowercase().contains(text) };
    };
    match (info, json_of(info).and_then(|text| serde_json::from_str(text).ok())) {
        (NextHopInfo::AutonomousSystem(asn), _) => asn.to_string() == number,
        (_, Some(Value::Object(fields))) => {
            fields.iter().any(|(name, value)| is_of_systems(name) && has_number(&value.to_string(), number))
        }
        // In a text an AS has its name.
        (info, _) => has_number(&info.to_string().to_lowercase(), text),
    }
}

/// Returns whether a field holds AS numbers, as `asn`, `origin_as` and `as_path` do.
pub(crate) fn is_of_systems(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    name.starts_with("autonomous_system_number")
        || words.any(|word| matches!(word, "as" | "asn" | "asns" | "asnum"))
}

/// Returns whether a text has a number as a whole, which is no part of an address or a fraction.
fn has_number(value: &str, number: &str) -> bool {
    value.match_indices(number).any(|(at, _)| {
        let (before, after) = (&value[..at], &value[at + number.len()..]);
        let is_part =
            |character: Option<char>| character.is_some_and(|one| one.is_ascii_alphanumeric() || one == '.');
        // A sentence may end after it.
        let is_end =
            after.strip_prefix('.').is_some_and(|rest| !rest.starts_with(|one: char| one.is_ascii_digit()));
        !is_part(before.chars().next_back()) && (is_end || !is_part(after.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::has;
    use fibula::NextHopInfo;

    #[test]
    fn numbers_are_found_as_a_whole_and_names_in_part() {
        let label = |text: &str| NextHopInfo::Label(text.into());
        for (value, text, expected) in [
            (NextHopInfo::AutonomousSystem(64_501), "64501", true),
            (NextHopInfo::AutonomousSystem(64_501), "as64501", true),
            (NextHopInfo::AutonomousSystem(64_501), "as6450", false),
            (NextHopInfo::AutonomousSystem(64_501), "6450", false),
            (NextHopInfo::AutonomousSystem(164_501), "64501", false),
            (label(r#"{"asn":64501,"name":"Example"}"#), "64501", true),
            (label(r#"{"asn":64501,"name":"Example"}"#), "as64501", true),
            (label(r#"{"metric":64501,"origin_as":7}"#), "as64501", false),
            (label(r#"{"next_hop":"192.0.2.7","as_path":[64500,[7,8]]}"#), "as8", true),
            (label(r#"{"next_hop":"192.0.2.7","as_path":[64500,[7,8]]}"#), "as192", false),
            (label(r#"{"asn":64501,"name":"Example"}"#), "exam", true),
            (label("10.9.8.7"), "as10", false),
            (label("10.9.8.7"), "10", false),
            (label("10.9.8.7"), "7", false),
            (label("10.9.8.7"), "9.8", true),
            (label("64500:10"), "10", true),
            (label("by AS10."), "as10", true),
            (label("by AS100"), "as10", false),
            (label("gas10"), "as10", false),
            (label("Zürich"), "züri", true),
            (label("asphalt"), "as", true),
        ] {
            assert_eq!(has(&value, text), expected, "{value} {text}");
        }
    }
}
