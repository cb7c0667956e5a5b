//! EOS's `show ip route | json` and `show ipv6 route | json`, of one VRF or of all.
//!
//! A prefix has one route. One that the kernel or the hardware does not have is left out, and so is
//! one with a name that is not known here, which is told.

use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Looks, Reader};
use super::named::Choice;
use super::router::marks::{State, nowhere, unknown};
use super::router::sink::{Route, Sink};
use super::{ReadOptions, json};
use crate::scan;
use crate::{Damage, Place};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(|value| {
        let vrfs = value.get("vrfs").and_then(Value::as_object);
        vrfs.is_some_and(|vrfs| vrfs.values().next().is_none_or(|vrf| vrf.get("routes").is_some()))
    }),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// What else EOS tells of a route and of its next hops, and changes nothing of where packets go.
/// Where a tunnel ends is the address of a next hop already.
pub(super) const IDLE: [&str; 9] = [
    "directlyConnected",
    "interfaceDescription",
    "metric",
    "preference",
    "protocol",
    "routeLeaked",
    "routeType",
    "routerMac",
    "vni",
];

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow)]
    vrfs: BTreeMap<Cow<'t, str>, Vrf<'t>>,
}

#[derive(Deserialize)]
struct Vrf<'t> {
    #[serde(default, borrow)]
    routes: BTreeMap<Cow<'t, str>, &'t RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'t> {
    #[serde(borrow)]
    route_action: Option<Cow<'t, str>>,
    kernel_programmed: Option<bool>,
    hardware_programmed: Option<bool>,
    #[serde(default, borrow)]
    vias: Vec<Via<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Via<'t> {
    /// Empty beside the other one.
    #[serde(borrow)]
    nexthop_addr: Option<Cow<'t, str>>,
    #[serde(borrow)]
    vtep_addr: Option<Cow<'t, str>>,
    #[serde(borrow, alias = "localInterface")]
    interface: Option<Cow<'t, str>>,
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "EOS", builder, |document: Document<'_>, builder| {
        let mut sink = Sink::new(options, Choice::of_vrf(options.vrf.as_deref()));
        let mut first = None;
        for (vrf, Vrf { routes }) in &document.vrfs {
            sink.table(vrf);
            for (prefix, content) in routes {
                let route = route(prefix, content.get(), options);
                json::offer(&mut sink, &mut first, (text, content.get()), route);
                sink.beside(Place::Line(1), builder)?;
            }
        }
        sink.finish(builder)
    })
}

fn route(prefix: &str, content: &str, options: &ReadOptions) -> Result<Route, String> {
    let prefix = scan::prefix(prefix.as_bytes(), options.mask_host_bits)?;
    let (entry, name): (Entry<'_>, _) =
        json::with_names(content, &IDLE).map_err(|error| error.to_string())?;
    if let Some(name) = name {
        return Err(unknown(&name));
    }
    let mut route = Route::new(Place::Line(1), prefix);
    if entry.kernel_programmed == Some(false) || entry.hardware_programmed == Some(false) {
        route.state = State::Uninstalled;
    }
    match entry.route_action.as_deref() {
        None | Some("forward") => {
            for Via { nexthop_addr, vtep_addr, interface } in &entry.vias {
                let texts = [nexthop_addr, vtep_addr].into_iter().flatten();
                let address = match texts.map(|text| &**text).find(|text| !text.is_empty()) {
                    Some(text) => Some(text.parse::<IpAddr>().map_err(|_| unknown(text))?),
                    None => None,
                };
                let hop = match interface.as_deref().and_then(nowhere) {
                    Some(kind) => Some(Hop::nowhere(kind)),
                    None => Hop::through(address, interface.as_deref(), None),
                };
                route.hops.push((hop.ok_or("next hop without an address and an interface")?, State::Used));
            }
        }
        Some("drop") => route.hops.push((Hop::nowhere("blackhole"), State::Used)),
        Some(other) => return Err(unknown(other)),
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, Value, parse};

    const TEXT: &str = r#"{"vrfs":{
        "default":{"routes":{
            "10.0.0.0/8":{"kernelProgrammed":true,"directlyConnected":false,"preference":200,"routeAction":"forward",
                "vias":[{"interface":"Ethernet1","nexthopAddr":"192.0.2.1"},{"interface":"Ethernet2","nexthopAddr":"192.0.2.5"}],
                "metric":0,"hardwareProgrammed":true,"routeType":"eBGP"},
            "192.0.2.0/30":{"kernelProgrammed":true,"directlyConnected":true,"routeAction":"forward","vias":[{"interface":"Ethernet1"}]},
            "10.1.0.0/16":{"kernelProgrammed":true,"routeAction":"drop","vias":[],"routeType":"bgpAggregate"},
            "10.2.0.0/16":{"kernelProgrammed":true,"routeAction":"forward","vias":[{"interface":"Null0"}]},
            "10.3.0.0/16":{"kernelProgrammed":true,"routeAction":"forward",
                "vias":[{"nexthopAddr":"","vtepAddr":"192.0.2.9","vni":100,"routerMac":"02:00:00:00:00:01","localInterface":"Vxlan1"}]},
            "10.4.0.0/16":{"kernelProgrammed":false,"routeAction":"forward","vias":[{"nexthopAddr":"192.0.2.1"}]}},
         "allRoutesProgrammedKernel":false,"routingDisabled":false,"defaultRouteState":"notSet"},
        "red":{"routes":{"10.9.0.0/16":{"kernelProgrammed":true,"routeAction":"forward","vias":[{"interface":"Vlan9"}]}}}}}"#;

    fn told(text: &str, vrf: Option<&str>) -> (Vec<String>, Vec<String>) {
        let options = ReadOptions { vrf: vrf.map(Into::into), ..Default::default() };
        let loaded = parse(text.as_bytes(), &options).unwrap();
        assert_eq!(loaded.format, Format::EosJson);
        let notes = loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what));
        (routes(&loaded), notes.collect())
    }

    #[test]
    fn routes_of_a_vrf_and_what_they_lead_to() {
        let (routes, notes) = told(TEXT, None);
        let expected = [
            "10.0.0.0/8 192.0.2.1 dev Ethernet1",
            "10.1.0.0/16 blackhole",
            "10.2.0.0/16 blackhole",
            "10.3.0.0/16 192.0.2.9 dev Vxlan1",
            "192.0.2.0/30 dev Ethernet1",
        ];
        assert_eq!(routes, expected);
        let left_out = [
            "1 route that is not in the forwarding table",
            "1 next hop after the first (--value next-hops keeps all)",
            "1 route of VRF red",
        ];
        assert_eq!(notes, left_out);
        assert_eq!(told(TEXT, Some("red")).0, ["10.9.0.0/16 dev Vlan9"]);
        let all = ReadOptions { value: Value::NextHops, ..Default::default() };
        let loaded = parse(TEXT.as_bytes(), &all).unwrap();
        assert!(super::super::testing::routes(&loaded)[0].contains("192.0.2.5"));
    }

    #[test]
    fn what_is_not_known_is_told() {
        for (known, novel) in
            [("\"vni\"", "\"novel\""), ("\"routeType\"", "\"novel\""), ("\"drop\"", "\"novel\"")]
        {
            let (routes, notes) = told(&TEXT.replacen(known, novel, 1), None);
            assert_eq!(routes.len(), 4);
            assert!(notes.contains(&"1 unknown mark \"novel\"".to_owned()), "{notes:?}");
        }
    }
}
