//! The next hops of a route, of which a value names the first or all.

use super::Value;
use super::fields::{list, object, quoted};
use crate::mrt::{Element, Origin, Path, Peer};
use crate::{Place, rov};
use fibula::{IpPrefix, NextHopInfo};
use std::net::IpAddr;

/// One of the next hops of a route.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) info: NextHopInfo,
    pub(super) weight: Option<u32>,
}

/// Why a next hop that cannot be reached is left out.
pub(super) const DEAD: &str = "dead next hop";

impl Hop {
    /// A type of route that does not forward, such as `blackhole`.
    pub(super) fn nowhere(kind: &str) -> Self {
        Self { info: NextHopInfo::Label(kind.into()), weight: None }
    }

    /// A network that is connected, by an interface that is not told.
    pub(super) fn connected() -> Self {
        let info = NextHopInfo::Gateway { address: None, interface: None };
        Self { info, weight: None }
    }

    /// A router or an interface; `None` if neither is known.
    pub(super) fn through(
        address: Option<IpAddr>,
        interface: Option<&str>,
        weight: Option<u32>,
    ) -> Option<Self> {
        let interface = interface.filter(|name| !name.is_empty());
        let clean =
            |name: &str| name.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
        let info = NextHopInfo::Gateway { address, interface: interface.map(|name| clean(name).into()) };
        (address.is_some() || interface.is_some()).then_some(Self { info, weight })
    }

    fn json(&self) -> String {
        let (via, dev, kind) = match &self.info {
            NextHopInfo::Gateway { address, interface } => (*address, interface.as_deref(), None),
            other => (None, None, Some(other.to_string())),
        };
        let fields = [
            ("via", via.map(|address| quoted(&address.to_string()))),
            ("dev", dev.map(quoted)),
            ("type", kind.map(|kind| quoted(&kind))),
            ("weight", self.weight.map(|weight| weight.to_string())),
        ];
        object(fields.into_iter().filter_map(|(name, value)| Some((name, value?))))
    }
}

/// The value that a route has, and the number of next hops that it does not name.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) value: NextHopInfo,
    pub(super) further: usize,
}

impl From<NextHopInfo> for Offer {
    fn from(value: NextHopInfo) -> Self {
        Self { value, further: 0 }
    }
}

/// Returns the value of a route with these next hops; `None` if it has none.
pub(super) fn offer(hops: &[Hop], wanted: Value) -> Option<Offer> {
    let first = hops.first()?;
    Some(match wanted {
        Value::NextHops => {
            NextHopInfo::Label(list(&hops.iter().map(Hop::json).collect::<Vec<_>>()).into()).into()
        }
        _ => Offer { value: first.info.clone(), further: hops.len() - 1 },
    })
}

/// Returns the value of a route with these next hops, each with its weight if it has one, as
/// readers give it: the first next hop, or the list of all for [`Value::NextHops`]. `None` if there
/// are none.
#[must_use]
pub fn value_of(
    hops: impl IntoIterator<Item = (NextHopInfo, Option<u32>)>,
    wanted: Value,
) -> Option<NextHopInfo> {
    let hop = |(info, weight)| Hop { info, weight };
    let hops: Vec<Hop> = hops.into_iter().map(hop).collect();
    offer(&hops, wanted).map(|offer| offer.value)
}

/// Returns the value of a route of MRT that names all of its next hops, which are one at most.
pub(crate) fn all_next_hops(address: Option<IpAddr>) -> NextHopInfo {
    let hops: Vec<Hop> = Hop::through(address, None, None).into_iter().collect();
    offer(&hops, Value::NextHops).map_or_else(|| NextHopInfo::Label("-".into()), |offer| offer.value)
}

/// Returns the fields of a route of BGP. What is not known is null.
pub(crate) fn route_fields(path: &Path, peer: Option<Peer>) -> NextHopInfo {
    let null = || "null".to_owned();
    let address = |address: Option<IpAddr>| address.map_or_else(null, |address| quoted(&address.to_string()));
    let numbers = |set: &[u32]| set.iter().map(u32::to_string).collect::<Vec<_>>();
    let element = |element: &Element| match element {
        Element::As(number) => number.to_string(),
        Element::Set(set) => list(&numbers(set)),
    };
    let details = path.details.as_deref();
    let origin = match (&path.origin, peer) {
        (Origin::As(number), _) => number.to_string(),
        (Origin::Set(set), _) => list(&numbers(set)),
        (Origin::Local, Some(peer)) if peer.asn != 0 => peer.asn.to_string(),
        (Origin::Local, _) => null(),
    };
    let texts = |texts: &[String]| list(&texts.iter().map(|text| quoted(text)).collect::<Vec<_>>());
    let fields = [
        ("next_hop", address(path.next_hop)),
        ("origin_as", origin),
        ("peer", address(peer.map(|peer| peer.address).filter(|address| !address.is_unspecified()))),
        (
            "as_path",
            details
                .map_or_else(null, |it| list(&it.as_path.elements.iter().map(element).collect::<Vec<_>>())),
        ),
        ("communities", details.map_or_else(null, |it| texts(&it.communities))),
    ];
    NextHopInfo::Label(object(fields).into())
}

/// Returns the distinct origins of routes as a list, in order; sets are lists in it.
pub(crate) fn list_of_origins<'i>(origins: impl Iterator<Item = &'i NextHopInfo>) -> NextHopInfo {
    let mut all: Vec<Element> = origins
        .filter_map(|origin| match origin {
            NextHopInfo::AutonomousSystem(number) => Some(Element::As(*number)),
            other => rov::set_of(&other.to_string()).map(Element::set),
        })
        .collect();
    all.sort_unstable_by(|a, b| (a.numbers(), a).cmp(&(b.numbers(), b)));
    all.dedup();
    let one = |origin: &Element| match origin {
        Element::As(number) => number.to_string(),
        Element::Set(set) => list(&set.iter().map(u32::to_string).collect::<Vec<_>>()),
    };
    NextHopInfo::Label(list(&all.iter().map(one).collect::<Vec<_>>()).into())
}

/// The origins of the routes to a prefix, which follow one another in a text.
#[derive(Debug, Default)]
pub(super) struct Origins(Option<(Place, IpPrefix, Vec<NextHopInfo>)>);

impl Origins {
    /// Adds the origin of a route, if it has one.
    pub(super) fn push(&mut self, place: Place, prefix: IpPrefix, origin: Option<NextHopInfo>) {
        let (_, _, origins) = self.0.get_or_insert((place, prefix, Vec::new()));
        origins.extend(origin);
    }

    /// Returns whether there is a prefix, and it is another one.
    pub(super) fn is_other(&self, prefix: IpPrefix) -> bool {
        self.0.as_ref().is_some_and(|(_, known, _)| *known != prefix)
    }

    /// Ends the prefix. Returns its list, which is `None` if no route has an origin.
    pub(super) fn take(&mut self) -> Option<(Place, IpPrefix, Option<NextHopInfo>)> {
        let (place, prefix, origins) = self.0.take()?;
        Some((place, prefix, (!origins.is_empty()).then(|| list_of_origins(origins.iter()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_names_the_first_or_all() {
        let via = |last: u8, dev, weight| Hop::through(Some([192, 0, 2, last].into()), dev, weight).unwrap();
        let hops = [via(1, Some("eth0"), Some(2)), via(2, None, None), Hop::nowhere("blackhole")];
        let first = offer(&hops, Value::NextHop).unwrap();
        assert_eq!((first.value.to_string().as_str(), first.further), ("192.0.2.1 dev eth0", 2));
        let all = offer(&hops, Value::NextHops).unwrap();
        let text =
            r#"[{"via":"192.0.2.1","dev":"eth0","weight":2},{"via":"192.0.2.2"},{"type":"blackhole"}]"#;
        assert_eq!((all.value.to_string().as_str(), all.further), (text, 0));
        assert!(offer(&[], Value::NextHop).is_none());
        let pairs = hops.map(|hop| (hop.info, hop.weight));
        assert_eq!(value_of(pairs.clone(), Value::NextHop), Some(first.value));
        assert_eq!(value_of(pairs, Value::NextHops), Some(all.value));
    }
}
