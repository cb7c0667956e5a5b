//! SR OS's state of a router's routes as JSON: `info json /state router "Base" route-table`, or
//! that of a service.
//!
//! It names interfaces by their index alone. So a next hop is its address, and a network that is
//! connected has the index as its interface.

use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Looks, Reader};
use super::named::Choice;
use super::router::marks::{State, unknown};
use super::router::sink::{Route, Sink};
use super::{ReadOptions, json};
use crate::scan;
use crate::{Damage, Place};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::net::IpAddr;

const UNICAST: &str = "nokia-state:unicast";

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(|value| value.get(UNICAST).is_some()),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// What else SR OS tells of a route and of its next hops, and changes nothing of where packets go.
/// What a next hop is resolved by is told beside it.
pub(super) const IDLE: [&str; 12] = [
    "age",
    "if-vrtr-id",
    "instance",
    "metric",
    "nexthop-index",
    "nexthop-label",
    "nexthop-tunnel-id",
    "nexthop-tunnel-type",
    "nexthop-tunnel-type-instance",
    "preference",
    "resolving-nexthop",
    "vpn-nexthop-index",
];

/// Flags of next hops that change nothing either: the address is that of the routing protocol, and
/// the way to it is a tunnel.
const FLAGS: [&str; 2] = ["nh-is-indirect", "nh-is-tunneled"];

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(rename = "nokia-state:unicast", borrow)]
    unicast: Families<'t>,
    #[serde(rename = "nokia-state:multicast", default, borrow)]
    multicast: Families<'t>,
}

#[derive(Default, Deserialize)]
struct Families<'t> {
    #[serde(default, borrow)]
    ipv4: Family<'t>,
    #[serde(default, borrow)]
    ipv6: Family<'t>,
}

#[derive(Default, Deserialize)]
struct Family<'t> {
    #[serde(default, borrow)]
    route: Vec<&'t RawValue>,
}

impl<'t> Families<'t> {
    fn routes(&self) -> impl Iterator<Item = &'t RawValue> {
        self.ipv4.route.iter().chain(&self.ipv6.route).copied()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry<'t> {
    #[serde(rename = "ipv4-prefix", alias = "ipv6-prefix", borrow)]
    prefix: Cow<'t, str>,
    #[serde(default, borrow)]
    flags: Cow<'t, str>,
    #[serde(default, borrow)]
    protocol: Cow<'t, str>,
    #[serde(default, borrow)]
    nexthop: Vec<Via<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Via<'t> {
    #[serde(default, borrow)]
    flags: Cow<'t, str>,
    if_index: Option<u32>,
    #[serde(borrow)]
    nexthop_ip: Option<Cow<'t, str>>,
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "SR OS", builder, |document: Document<'_>, builder| {
        let (mut sink, mut first) = (Sink::new(options, Choice::of_vrf(None)), None);
        for content in document.unicast.routes() {
            json::offer(&mut sink, &mut first, (text, content.get()), route(content.get(), options));
            sink.beside(Place::Line(1), builder)?;
        }
        for content in document.multicast.routes() {
            let place = Place::Line(json::line_of(text, content.get().as_bytes()));
            sink.left_out(place, "route of the multicast table");
        }
        sink.finish(builder)
    })
}

fn route(content: &str, options: &ReadOptions) -> Result<Route, String> {
    let (entry, name): (Entry<'_>, _) =
        json::with_names(content, &IDLE).map_err(|error| error.to_string())?;
    let prefix = scan::prefix(entry.prefix.as_bytes(), options.mask_host_bits)?;
    let flags = entry.nexthop.iter().flat_map(|via| via.flags.split_whitespace());
    let odd = entry.flags.split_whitespace().chain(flags.filter(|flag| !FLAGS.contains(flag))).next();
    if let Some(odd) = name.as_deref().or(odd) {
        return Err(unknown(odd));
    }
    let mut route = Route::new(Place::Line(1), prefix);
    for Via { if_index, nexthop_ip, .. } in &entry.nexthop {
        let address = nexthop_ip.as_deref().map(|text| text.parse::<IpAddr>().map_err(|_| unknown(text)));
        let address = address.transpose()?;
        let is_on_link =
            address.is_none_or(|address| matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local()));
        let interface = if_index.filter(|_| is_on_link).map(|index| index.to_string());
        let hop = match Hop::through(address, interface.as_deref(), None) {
            // What these have without a next hop, SR OS shows as a black hole.
            None if ["aggregate", "static"].contains(&&*entry.protocol) => Some(Hop::nowhere("blackhole")),
            hop => hop,
        };
        route.hops.push((hop.ok_or("next hop without an address and an interface")?, State::Used));
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, Value, parse};

    const TEXT: &str = r#"{
    "nokia-state:unicast": {
        "ipv4": {
            "statistics": {"bgp": {"active-routes": 1, "available-routes": 1}},
            "route": [
                {"ipv4-prefix": "192.0.2.1\/32", "age": 9, "instance": 0, "flags": "", "preference": 0, "protocol": "local",
                 "nexthop": [{"nexthop-index": 0, "flags": "", "if-index": 1, "if-vrtr-id": 1, "metric": 0}]},
                {"ipv4-prefix": "10.0.0.0\/8", "age": 9, "instance": 0, "flags": "", "preference": 170, "protocol": "bgp",
                 "nexthop": [{"nexthop-index": 0, "flags": "nh-is-indirect", "metric": 0, "nexthop-ip": "198.51.100.1",
                    "resolving-nexthop": [{"resolving-nexthop-index": 0, "flags": "", "if-index": 2, "nexthop-ip": "198.51.100.9"}]}]},
                {"ipv4-prefix": "10.1.0.0\/16", "protocol": "ospf", "nexthop": [
                    {"if-index": 2, "nexthop-ip": "198.51.100.1"}, {"if-index": 3, "nexthop-ip": "198.51.100.5"}]},
                {"ipv4-prefix": "10.2.0.0\/16", "protocol": "static", "nexthop": [{"nexthop-index": 0, "flags": "", "metric": 1}]}
            ]
        },
        "ipv6": {"route": [
            {"ipv6-prefix": "2001:db8::\/32", "protocol": "ospf3", "nexthop": [{"if-index": 2, "nexthop-ip": "fe80::1"}]}]}
    },
    "nokia-state:multicast": {"ipv4": {"route": [{"ipv4-prefix": "10.0.0.0\/8"}]}, "ipv6": {}}
}"#;

    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::SrosJson);
        let notes = loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what));
        (routes(&loaded), notes.collect())
    }

    #[test]
    fn routes_of_both_families_and_what_they_lead_to() {
        let (routes, notes) = told(TEXT);
        let expected = [
            "10.0.0.0/8 198.51.100.1",
            "10.1.0.0/16 198.51.100.1",
            "10.2.0.0/16 blackhole",
            "192.0.2.1/32 dev 1",
            "2001:db8::/32 fe80::1 dev 2",
        ];
        assert_eq!(routes, expected);
        let left_out =
            ["1 route of the multicast table", "1 next hop after the first (--value next-hops keeps all)"];
        assert_eq!(notes, left_out);
        let all = ReadOptions { value: Value::NextHops, ..Default::default() };
        let loaded = parse(TEXT.as_bytes(), &all).unwrap();
        assert!(super::super::testing::routes(&loaded)[1].contains("198.51.100.5"));
    }

    #[test]
    fn what_is_not_known_is_told() {
        for (known, novel) in [
            ("\"instance\"", "\"novel\""),
            ("\"if-vrtr-id\"", "\"novel\""),
            ("nh-is-indirect", "novel"),
            ("\"flags\": \"\", \"preference\": 170", "\"flags\": \"novel\""),
        ] {
            let (routes, notes) = told(&TEXT.replacen(known, novel, 1));
            assert_eq!(routes.len(), 4, "{known}");
            assert!(notes.contains(&"1 unknown mark \"novel\"".to_owned()), "{notes:?}");
        }
        // Only a static route or an aggregate leads nowhere.
        let (routes, notes) = told(&TEXT.replace("\"static\"", "\"isis\""));
        assert_eq!(routes.len(), 4);
        assert!(notes.contains(&"1 next hop without an address and an interface".to_owned()), "{notes:?}");
    }
}
