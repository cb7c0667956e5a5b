//! Tables of BGP as JSON: FRR's `show bgp json`, EOS's `show ip bgp | json`, `gobgp global rib -j`
//! and OpenBGPD's `bgpctl -j show rib`.
//!
//! Of each prefix the route that is marked as the best is taken.

use super::bgp::{BestRoutes, Route};
use super::builder::Builder;
use super::layouts::{Layout, Looks, Reader};
use super::named::{Choice, left_out};
use super::{ReadOptions, json};
use crate::mrt::{AsPath, Element, as_number};
use crate::{Damage, Place, scan};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::net::IpAddr;

pub(super) const FRR: Layout = Layout {
    looks: Looks::Json(|value| {
        let is_one = |value: &Value| {
            value.get("routes").is_some_and(Value::is_object)
                && (value.get("vrfName").is_some() || value.get("routerId").is_some())
        };
        is_one(value) || value.as_object().and_then(|vrfs| vrfs.values().next()).is_some_and(is_one)
    }),
    reader: Reader::Held(|bytes, options, builder| read_frr(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

pub(super) const EOS: Layout = Layout {
    looks: Looks::Json(|value| {
        let vrf = value.get("vrfs").and_then(Value::as_object).and_then(|vrfs| vrfs.values().next());
        vrf.is_some_and(|vrf| vrf.get("bgpRouteEntries").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read_eos(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

pub(super) const GOBGP: Layout = Layout {
    looks: Looks::Json(|value| {
        let first = value.as_object().and_then(|fields| fields.values().next()).map(json::first);
        first.is_some_and(|route| route.get("nlri").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read_gobgp(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

pub(super) const OPENBGPD: Layout = Layout {
    looks: Looks::Json(|value| value.get("rib").is_some_and(Value::is_array)),
    reader: Reader::Held(|bytes, options, builder| read_openbgpd(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frr {
    vrf_name: Option<String>,
    #[serde(rename = "localAS")]
    local_as: Option<u32>,
    routes: BTreeMap<String, Vec<FrrRoute>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrrRoute {
    /// A truth value, or an object with the reasons.
    #[serde(default)]
    bestpath: Value,
    path: Option<String>,
    peer_id: Option<String>,
    #[serde(default)]
    nexthops: Vec<FrrHop>,
}

#[derive(Deserialize)]
struct FrrHop {
    ip: Option<IpAddr>,
    #[serde(default)]
    used: bool,
}

/// As [`Frr`], of a VRF that is not read.
#[derive(Deserialize)]
struct Others<'t> {
    #[serde(borrow)]
    routes: BTreeMap<String, &'t RawValue>,
}

/// Reads a document, or with `vrf all` an object of one for each VRF.
fn read_frr(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "FRR's BGP", builder, |parts: BTreeMap<String, &RawValue>, builder| {
        if parts.contains_key("routes") {
            return read_vrf(text, text, options, builder);
        }
        let count = |others: Others<'_>| others.routes.len();
        each_vrf(text, &parts, options, builder, count, |part, builder| {
            read_vrf(text, part, options, builder)
        })
    })
}

/// Reads the VRFs that are wanted, and counts the routes of the others.
fn each_vrf<'t, T: Deserialize<'t>>(
    text: &'t [u8],
    parts: &BTreeMap<String, &'t RawValue>,
    options: &ReadOptions,
    builder: &mut Builder,
    routes: impl Fn(T) -> usize,
    mut read: impl FnMut(&'t [u8], &mut Builder) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let names: Vec<&str> = parts.keys().map(String::as_str).collect();
    let chosen = match Choice::of_vrf(options.vrf.as_deref()).chosen(&names) {
        Ok(chosen) => chosen,
        Err(damage) => return builder.damaged(damage),
    };
    for ((name, part), is_read) in parts.iter().zip(chosen) {
        let part = part.get().as_bytes();
        if is_read {
            read(part, builder)?;
            continue;
        }
        json::part(text, part, "a VRF", builder, |others: T, builder| {
            let count = routes(others) as u64;
            let first = Place::Line(json::line_of(text, part));
            builder.notes((count > 0).then(|| left_out(&format!("VRF {name}"), count, first)))
        })?;
    }
    Ok(())
}

fn read_vrf(text: &[u8], part: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::part(text, part, "FRR's BGP", builder, |document: Frr, builder| {
        let name = document.vrf_name.as_deref().unwrap_or("default");
        if let Some(wanted) = options.vrf.as_deref().filter(|wanted| *wanted != name) {
            return builder.damaged(Damage::line(1, format!("no VRF {wanted} (there are {name})")));
        }
        let mut best = BestRoutes::default();
        best.local_as = document.local_as;
        json::each(document.routes, builder, |place, (prefix, routes), _| {
            let prefix = scan::prefix(prefix.as_bytes(), options.mask_host_bits)?;
            for route in routes {
                // A router without a global address says `::`, and its link-local address after it.
                let is_told = |hop: &&FrrHop| hop.ip.is_some_and(|address| !address.is_unspecified());
                let told = || route.nexthops.iter().find(is_told).or(route.nexthops.first());
                let used = route.nexthops.iter().find(|hop| hop.used && is_told(hop)).or_else(told);
                let is_best = match &route.bestpath {
                    Value::Object(reasons) => reasons.get("overall").is_some_and(|overall| overall == true),
                    other => *other == true,
                };
                let as_path = route.path.as_deref().map(AsPath::parse).transpose()?;
                let (next_hop, peer) =
                    (used.and_then(|hop| hop.ip), route.peer_id.and_then(|peer| peer.parse().ok()));
                let communities = Vec::new();
                best.push(place, Route { prefix, is_best, next_hop, as_path, communities, peer });
            }
            Ok(())
        })?;
        best.finish(options, builder)
    })
}

#[derive(Deserialize)]
struct Eos<'t> {
    #[serde(borrow)]
    vrfs: BTreeMap<String, &'t RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EosVrf {
    asn: Option<String>,
    #[serde(default)]
    bgp_route_entries: BTreeMap<String, EosEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EosEntry {
    #[serde(default)]
    bgp_route_paths: Vec<EosPath>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EosPath {
    /// Empty where the router announces the prefix itself.
    next_hop: Option<String>,
    #[serde(default)]
    route_type: EosKind,
    as_path_entry: Option<EosAsPath>,
    peer_entry: Option<EosPeer>,
}

#[derive(Default, Deserialize)]
struct EosKind {
    #[serde(default)]
    active: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EosAsPath {
    as_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EosPeer {
    peer_addr: Option<String>,
}

fn read_eos(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "EOS's BGP", builder, |Eos { vrfs }: Eos<'_>, builder| {
        let count = |others: EosVrf| others.bgp_route_entries.len();
        each_vrf(text, &vrfs, options, builder, count, |part, builder| {
            json::part(text, part, "EOS's BGP", builder, |vrf: EosVrf, builder| {
                let mut best = BestRoutes::default();
                best.local_as = vrf.asn.as_deref().and_then(|asn| as_number(asn).ok());
                json::each(vrf.bgp_route_entries, builder, |place, (prefix, entry), _| {
                    let prefix = scan::prefix(prefix.as_bytes(), options.mask_host_bits)?;
                    for path in entry.bgp_route_paths {
                        let address = |text: Option<String>| text.and_then(|text| text.parse().ok());
                        let text = path.as_path_entry.and_then(|entry| entry.as_path).unwrap_or_default();
                        // The origin code is after it, and after that the route reflectors.
                        let is_as = |word: &&str| !matches!(*word, "i" | "e" | "?");
                        let path_text: Vec<&str> = text.split(' ').take_while(is_as).collect();
                        best.push(
                            place,
                            Route {
                                prefix,
                                is_best: path.route_type.active,
                                next_hop: address(path.next_hop),
                                as_path: Some(AsPath::parse(&path_text.join(" "))?),
                                communities: Vec::new(),
                                peer: address(path.peer_entry.and_then(|peer| peer.peer_addr)),
                            },
                        );
                    }
                    Ok(())
                })?;
                best.finish(options, builder)
            })
        })
    })
}

#[derive(Deserialize)]
struct Gobgp {
    #[serde(default)]
    best: bool,
    #[serde(rename = "neighbor-ip")]
    neighbor: Option<String>,
    #[serde(default)]
    attrs: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    r#type: u8,
    nexthop: Option<String>,
    #[serde(default)]
    as_paths: Vec<Segment>,
    #[serde(default)]
    communities: Vec<u32>,
}

#[derive(Deserialize)]
struct Segment {
    segment_type: u8,
    #[serde(default)]
    asns: Vec<u32>,
}

fn read_gobgp(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "GoBGP", builder, |document: BTreeMap<String, Vec<Gobgp>>, builder| {
        let mut best = BestRoutes::default();
        json::each(document, builder, |place, (prefix, routes), _| {
            let prefix = scan::prefix(prefix.as_bytes(), options.mask_host_bits)?;
            for route in routes {
                let hop = route
                    .attrs
                    .iter()
                    .filter(|a| matches!(a.r#type, 3 | 14))
                    .find_map(|a| a.nexthop.as_deref());
                let next_hop =
                    hop.map(|hop| hop.parse().map_err(|_| format!("{} is no next hop", scan::quoted(hop))));
                let path = route.attrs.iter().find(|attribute| attribute.r#type == 2);
                let path = path.map(|path| as_path(&path.as_paths));
                let communities = route.attrs.iter().flat_map(|attribute| &attribute.communities);
                let communities = communities.map(|number| format!("{}:{}", number >> 16, number & 0xFFFF));
                let (as_path, communities) = (path, communities.collect());
                let (is_best, peer) = (route.best, route.neighbor.and_then(|peer| peer.parse().ok()));
                let next_hop = next_hop.transpose()?;
                best.push(place, Route { prefix, is_best, next_hop, as_path, communities, peer });
            }
            Ok(())
        })?;
        best.finish(options, builder)
    })
}

/// Returns the path of some segments, of which those of types 3 and 4 are confederations.
fn as_path(segments: &[Segment]) -> AsPath {
    let segments = segments.iter().filter(|segment| !segment.asns.is_empty());
    let elements = segments.clone().flat_map(|segment| match segment.segment_type {
        1 => vec![Element::set(segment.asns.iter().copied())],
        2 => segment.asns.iter().map(|&number| Element::As(number)).collect(),
        _ => Vec::new(),
    });
    let ends_in_confederation = segments.clone().next_back().is_some_and(|segment| segment.segment_type > 2);
    AsPath { elements: elements.collect(), ends_in_confederation }
}

#[derive(Deserialize)]
struct Openbgpd {
    rib: Vec<OpenbgpdRoute>,
}

#[derive(Deserialize)]
struct OpenbgpdRoute {
    prefix: String,
    #[serde(default)]
    best: bool,
    aspath: Option<String>,
    exit_nexthop: Option<IpAddr>,
    #[serde(default)]
    communities: Vec<String>,
    neighbor: Option<Neighbor>,
}

#[derive(Deserialize)]
struct Neighbor {
    remote_addr: Option<IpAddr>,
}

fn read_openbgpd(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "OpenBGPD", builder, |document: Openbgpd, builder| {
        let mut best = BestRoutes::default();
        json::each(document.rib, builder, |place: Place, route, _| {
            let prefix = scan::prefix(route.prefix.as_bytes(), options.mask_host_bits)?;
            let as_path = route.aspath.as_deref().map(AsPath::parse).transpose()?;
            let peer = route.neighbor.and_then(|neighbor| neighbor.remote_addr);
            let (is_best, next_hop) = (route.best, route.exit_nexthop);
            let communities = route.communities;
            best.push(place, Route { prefix, is_best, next_hop, as_path, communities, peer });
            Ok(())
        })?;
        best.finish(options, builder)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};
    use crate::Place;

    fn read(format: Format, text: &str) -> [Vec<String>; 3] {
        [Value::NextHop, Value::OriginAs, Value::Peer].map(|value| {
            let loaded = parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
            assert_eq!(loaded.format, format);
            assert_eq!(loaded.report.notes[0].what, "prefix without a best route");
            testing::routes(&loaded)
        })
    }

    #[test]
    fn the_best_route_of_each_daemon() {
        let frr = r#"{"vrfName":"default","localAS":64999,"routes":{"203.0.113.0/24":[
            {"valid":true,"path":"64503 64509","peerId":"192.0.2.7","nexthops":[{"ip":"192.0.2.7","used":true}]},
            {"bestpath":true,"path":"64502 {64510,64511}","peerId":"192.0.2.2","nexthops":[{"ip":"192.0.2.9"},{"ip":"192.0.2.2","used":true}]}],
            "10.0.0.0/8":[{"path":"1"}]}}"#;
        let gobgp = r#"{"203.0.113.0/24":[{"nlri":{"prefix":"203.0.113.0/24"},"best":true,"neighbor-ip":"192.0.2.2","attrs":[{"type":1,"value":0},
            {"type":2,"as_paths":[{"segment_type":2,"asns":[64502]},{"segment_type":1,"asns":[64510,64511]}]},{"type":3,"nexthop":"192.0.2.2"}]}],
            "10.0.0.0/8":[{"nlri":{},"attrs":[]}]}"#;
        let openbgpd = r#"{"rib":[{"prefix":"203.0.113.0/24","best":true,"aspath":"64502 {64510,64511}","exit_nexthop":"192.0.2.2","neighbor":{"remote_addr":"192.0.2.2"}},
            {"prefix":"10.0.0.0/8","aspath":"1"}]}"#;
        for (format, text) in [(Format::FrrBgp, frr), (Format::Gobgp, gobgp), (Format::Openbgpd, openbgpd)] {
            let expected = ["192.0.2.2", "{64510,64511}", "192.0.2.2"];
            assert_eq!(read(format, text), expected.map(|value| vec![format!("203.0.113.0/24 {value}")]));
        }
    }

    #[test]
    fn the_best_routes_of_eos() {
        let text = r#"{"vrfs":{"default":{"vrf":"default","routerId":"192.0.2.1","asn":"64999","bgpRouteEntries":{
            "203.0.113.0/24":{"address":"203.0.113.0","maskLength":24,"totalPaths":2,"bgpRoutePaths":[
                {"nextHop":"192.0.2.7","routeType":{"active":false,"valid":true},"asPathEntry":{"asPathType":"External","asPath":"64503 64509 i"}},
                {"nextHop":"192.0.2.2","routeType":{"active":true,"valid":true},"peerEntry":{"peerAddr":"192.0.2.2"},"asPathEntry":{"asPath":"64502 {64510,64511} ? (Or-ID: 192.0.2.2)"}}]},
            "10.0.0.0/8":{"bgpRoutePaths":[{"nextHop":"192.0.2.7","routeType":{"active":false},"asPathEntry":{"asPath":"1 i"}}]},
            "10.1.0.0/16":{"bgpRoutePaths":[{"nextHop":"","routeType":{"active":true},"asPathEntry":{"asPath":"i"}}]}}},
          "red":{"bgpRouteEntries":{"10.9.0.0/16":{"bgpRoutePaths":[]}}}}}"#;
        let of = |value| {
            let loaded = parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
            assert_eq!(loaded.format, Format::EosBgp);
            let notes: Vec<_> = loaded.report.notes.iter().map(|note| note.what.to_string()).collect();
            assert!(notes.contains(&"route of VRF red".to_owned()), "{notes:?}");
            routes(&loaded)
        };
        assert!(of(Value::NextHop).contains(&"203.0.113.0/24 192.0.2.2".to_owned()));
        assert_eq!(of(Value::OriginAs), ["10.1.0.0/16 64999", "203.0.113.0/24 {64510,64511}"]);
        assert_eq!(of(Value::Peer), ["203.0.113.0/24 192.0.2.2"]);
    }

    #[test]
    fn one_vrf_is_read() {
        let vrf = |name: &str, prefix: &str| {
            format!(
                r#""{name}":{{"vrfName":"{name}","routes":{{"{prefix}":[{{"bestpath":true,"nexthops":[{{"ip":"192.0.2.9"}}]}}]}}}}"#
            )
        };
        let text = format!("{{{},\n{}}}", vrf("default", "10.0.0.0/8"), vrf("red", "10.1.0.0/16"));
        let of = |vrf: Option<&str>| {
            parse(text.as_bytes(), &ReadOptions { vrf: vrf.map(Into::into), ..Default::default() })
        };
        let loaded = of(None).unwrap();
        assert_eq!((loaded.format, routes(&loaded)), (Format::FrrBgp, vec!["10.0.0.0/8 192.0.2.9".into()]));
        let note = &loaded.report.notes[0];
        assert_eq!((&*note.what, note.count, note.first), ("route of VRF red", 1, Place::Line(2)));
        assert_eq!(routes(&of(Some("red")).unwrap()), ["10.1.0.0/16 192.0.2.9"]);
        let error = of(Some("blue")).unwrap_err().to_string();
        assert_eq!(error, "memory, line 1: no VRF blue (there are default, red)");
        let error =
            testing::error(Format::FrrBgp, &text.replace("\"red\",\"routes\":{", "\"red\",\"routes\":[{"));
        assert!(error.starts_with("memory, line 2: expected the JSON of FRR's BGP: "), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = testing::error(Format::Openbgpd, r#"{"rib":[{"prefix":"10.0.0.0/8"},{"prefix":"x"}]}"#);
        assert_eq!(error, "memory, row 2: \"x\" is not a prefix (expected address/length)");
        let error = testing::error(Format::Gobgp, "{\"10.0.0.0/8\":\n[1]}");
        assert!(error.starts_with("memory, line 2: expected the JSON of GoBGP: "), "{error}");
        assert!(routes(&parse(b"{\"rib\":[]}", &ReadOptions::default()).unwrap()).is_empty());
    }
}
