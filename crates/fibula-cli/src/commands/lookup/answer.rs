//! [`Answer`]: what is said about one address, as a sentence or as a row.

use fibula::{Address, IpPrefix, NextHopInfo, Prefix};
use fibula_io::table;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

/// One address and one route that covers it, or none at all.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// The address, or the prefix, that was looked up.
    address: String,
    prefix: Option<String>,
    next_hop: Option<Text>,
}

/// A next hop. A row has its text, or its fields where it has several.
#[derive(Clone, Debug)]
pub(super) struct Text(pub(super) NextHopInfo);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match fields(&self.0) {
            Some(fields) => fields.serialize(serializer),
            None => serializer.collect_str(&self.0),
        }
    }
}

/// Returns the fields of a next hop that has several, or is a list.
fn fields(next_hop: &NextHopInfo) -> Option<&RawValue> {
    serde_json::from_str(table::json_of(next_hop)?).ok()
}

impl Answer {
    /// The sentence for a route that covers `asked`; without its prefix where that is not known.
    pub(super) fn new<A: Address>(
        asked: Prefix<A>,
        prefix: Option<Prefix<A>>,
        next_hop: Option<NextHopInfo>,
    ) -> Self {
        let prefix = prefix.map(|prefix| prefix.to_string());
        Self { prefix, next_hop: next_hop.map(Text), ..Self::none(asked) }
    }

    /// The answer for an address or a prefix of either family.
    pub(super) fn of(asked: IpPrefix, found: Option<(IpPrefix, &NextHopInfo)>) -> Self {
        let none = match asked {
            IpPrefix::V4(asked) => Self::none(asked),
            IpPrefix::V6(asked) => Self::none(asked),
        };
        let Some((prefix, next_hop)) = found else { return none };
        Self { prefix: Some(prefix.to_string()), next_hop: Some(Text(next_hop.clone())), ..none }
    }

    /// Returns the prefix and the next hop as a line of a stream has them.
    pub(super) fn fields(&self) -> String {
        let next_hop = self.next_hop.as_ref().map_or_else(|| "-".to_owned(), |Text(it)| it.to_string());
        format!("{}\t{next_hop}", self.prefix.as_deref().unwrap_or("-"))
    }

    /// The sentence for no route.
    pub(super) fn none<A: Address>(asked: Prefix<A>) -> Self {
        let is_address = asked.len() == A::BITS;
        let address = if is_address { asked.first().to_ip().to_string() } else { asked.to_string() };
        Self { address, prefix: None, next_hop: None }
    }
}

/// Writes the sentence that `ip route get` would print.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The kernel's route types that lead nowhere: they do not name a router.
        const NOWHERE: [&str; 4] = ["blackhole", "prohibit", "throw", "unreachable"];
        let Some(Text(next_hop)) = &self.next_hop else {
            return write!(f, "{} has no route", self.address);
        };
        write!(f, "{} ", self.address)?;
        match next_hop {
            NextHopInfo::AutonomousSystem(number) => write!(f, "origin AS{number}"),
            NextHopInfo::Gateway { address: None, .. } => next_hop.fmt(f),
            NextHopInfo::Label(label) if NOWHERE.contains(&label.as_ref()) => next_hop.fmt(f),
            // A value of several fields names no router.
            NextHopInfo::Label(_) if fields(next_hop).is_some() => next_hop.fmt(f),
            NextHopInfo::Gateway { .. } | NextHopInfo::Label(_) => write!(f, "via {next_hop}"),
        }?;
        self.prefix.iter().try_for_each(|prefix| write!(f, " prefix {prefix}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(next_hop: &NextHopInfo) -> String {
        let address = "192.0.2.1".into();
        Answer { address, prefix: Some("192.0.2.0/24".into()), next_hop: Some(Text(next_hop.clone())) }
            .to_string()
    }

    #[test]
    fn every_kind_of_next_hop_has_its_words() {
        let device = NextHopInfo::Gateway { address: None, interface: Some("eth0".into()) };
        assert_eq!(said(&device), "192.0.2.1 dev eth0 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("64500")), "192.0.2.1 origin AS64500 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("2001:db8::1")), "192.0.2.1 via 2001:db8::1 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("blackhole")), "192.0.2.1 blackhole prefix 192.0.2.0/24");
        let fields = NextHopInfo::parse(r#"{"country":"BE"}"#);
        assert_eq!(said(&fields), "192.0.2.1 {\"country\":\"BE\"} prefix 192.0.2.0/24");
        assert_eq!(serde_json::to_string(&Text(fields)).unwrap(), r#"{"country":"BE"}"#);
        assert_eq!(said(&NextHopInfo::parse("transit-3")), "192.0.2.1 via transit-3 prefix 192.0.2.0/24");
    }
}
