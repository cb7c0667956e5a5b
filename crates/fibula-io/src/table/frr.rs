//! FRR's `show ip route json` and `show ipv6 route json`.
//!
//! The content is one object with the routes of each prefix under its text. The route that FRR has
//! `selected` (else `installed`) is taken. Prefixes without one are left out, as FRR does not
//! forward by them. The first hop that is in the forwarding table (`fib`) counts, else the first. A
//! prefix whose routes have a name that is not known here is left out, and told.
//!
//! With `vrf all` the objects of several VRFs are in one, with `table all` those of several routing
//! tables under their numbers; the objects of several commands may follow one another. The VRF
//! `default` and the table 254 are read, or the one that is asked for, or the only one.

use super::builder::{Builder, Trouble};
use super::hops::Hop;
use super::layouts::{Layout, Looks, Reader as Reads};
use super::named::Choice;
use super::router::marks::{State, unknown};
use super::router::sink::{Route, Sink};
use super::{ReadOptions, json};
use crate::scan;
use crate::{Damage, Place};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(looks),
    reader: Reads::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// Returns whether a document has routes under prefixes, or VRFs with such.
fn looks(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    fields.iter().next().is_none_or(|(key, value)| match value {
        Value::Object(_) => scan::prefix(key.as_bytes(), true).is_err() && looks_one(value),
        _ => looks_one(&Value::Object(fields.clone())),
    })
}

fn looks_one(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    fields.iter().next().is_none_or(|(key, routes)| {
        let first = json::first(routes);
        scan::prefix(key.as_bytes(), true).is_ok()
            && routes.is_array()
            && (first.is_null() || first.get("nexthops").is_some() || first.get("protocol").is_some())
    })
}

/// What else FRR tells of a route and of a next hop, and changes nothing of where packets go.
/// `trapped` is a route of which the hardware hands packets to the kernel, `vrf` the one that a
/// next hop is in.
#[rustfmt::skip]
pub(super) const IDLE: [&str; 47] = [
    "afi", "asPath", "backupAllPrimariesDown", "backupIndex", "communities", "destSelected", "directlyConnected",
    "distance", "duplicate", "flags", "installedNexthopGroupId", "installedPicNexthopGroupId", "instance",
    "interfaceIndex", "internalFlags", "internalNextHopActiveNum", "internalNextHopNum", "internalStatus", "labels",
    "largeCommunities", "linkDown", "metric", "mtu", "nexthopGroupId", "onLink", "opaque", "opaque data", "ospfAreaId",
    "ospfPathType", "ospfTag", "picNexthopId", "prefixLen", "protocol", "receivedNexthopGroupId", "resolver",
    "rmapSource", "seg6", "seg6local", "seg6localContext", "selectionReason", "source", "srteColor", "table", "tag",
    "trapped", "uptime", "vrf",
];

/// The fields of a route that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools, reason = "the flags are FRR's own keys")]
struct RouteEntry<'a> {
    /// With the prefix of sources that it holds for, which the key lacks.
    #[serde(borrow)]
    prefix: Option<Cow<'a, str>>,
    #[serde(default)]
    selected: bool,
    #[serde(default)]
    installed: bool,
    /// The kernel refused it, does not have it yet, or the hardware refused it.
    #[serde(default)]
    failed: bool,
    #[serde(default)]
    queued: bool,
    /// Whether the hardware has it, where that is known.
    offloaded: Option<bool>,
    #[serde(borrow)]
    vrf_name: Option<Cow<'a, str>>,
    /// All that older versions tell of the VRF; that of the default is 0.
    #[serde(default)]
    vrf_id: u32,
    #[serde(default, borrow)]
    nexthops: Vec<HopEntry<'a>>,
    #[serde(default, borrow)]
    backup_nexthops: Vec<HopEntry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools, reason = "the flags are FRR's own keys")]
struct HopEntry<'a> {
    #[serde(default)]
    fib: bool,
    /// Whether it can be reached; not shown of those that cannot.
    active: Option<bool>,
    /// The hops after it say how it is reached.
    #[serde(default)]
    recursive: bool,
    ip: Option<IpAddr>,
    #[serde(borrow)]
    interface_name: Option<Cow<'a, str>>,
    weight: Option<u32>,
    /// The route does not forward. The other flags say how, as far as FRR knows.
    #[serde(default)]
    unreachable: bool,
    #[serde(default)]
    blackhole: bool,
    #[serde(default)]
    reject: bool,
    #[serde(default, alias = "admin-prohibited")]
    admin_prohibited: bool,
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut stopped = None;
    let document = json::document_of(text);
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let sink = Sink::new(options, Choice::of_vrf(options.vrf.as_deref()));
    let mut reader = Reader { text, sink, builder, stopped: &mut stopped, table: None, unknown: None };
    // The documents of several commands may follow one another.
    let mut result = deserializer.deserialize_map(&mut reader);
    while result.is_ok() && deserializer.end().is_err() {
        result = deserializer.deserialize_map(&mut reader);
    }
    let Reader { sink, builder, stopped, .. } = reader;
    match (stopped.take(), result) {
        (Some(damage), _) => return Err(damage),
        (None, Err(error)) => {
            let line = json::line_of(text, document) + error.line() as u64 - 1;
            builder.damaged(Damage::line(line, format!("expected the JSON of FRR: {error}")))?;
        }
        (None, Ok(())) => {}
    }
    sink.finish(builder)
}

/// Reads the routes of the outer object one by one: a full table as a tree of JSON values would
/// need gigabytes.
struct Reader<'r, 't> {
    text: &'t [u8],
    sink: Sink<'r>,
    builder: &'r mut Builder,
    /// The damage at which reading had to stop.
    stopped: &'r mut Option<Damage>,
    /// The VRF or the routing table whose object this is.
    table: Option<String>,
    /// The line of the first routes with an unknown name.
    unknown: Option<u64>,
}

impl<'t> Visitor<'t> for &mut Reader<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the routes of each prefix")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some((key, value)) = map.next_entry::<Cow<'t, str>, &'t RawValue>()? {
            let result = if value.get().starts_with('{') && self.table.is_none() {
                self.of_table(&key, value.get())
            } else {
                self.prefix(&key, value.get())
            };
            let place = match result {
                Err(Trouble::Here(_)) => Place::Line(self.line_of(value.get())),
                _ => Place::Line(1),
            };
            if let Err(damage) = self.builder.settled(place, result) {
                self.stopped.get_or_insert(damage);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

impl<'t> Reader<'_, 't> {
    /// Returns the line that a part of the text begins on. Only called for damage, as it is O(n).
    fn line_of(&self, part: &str) -> u64 {
        json::line_of(self.text, part.as_bytes())
    }

    /// Reads the object of a VRF, or under `table all` of a routing table, which is a number.
    fn of_table(&mut self, key: &str, content: &'t str) -> Result<(), Trouble> {
        if key.parse::<u32>().is_ok() {
            let asked = self.sink.options.table.as_deref();
            self.sink.choice = Choice { kind: "table", option: "--routing-table", asked, usual: &["254"] };
        }
        self.table = Some(key.to_owned());
        let result = serde_json::Deserializer::from_str(content).deserialize_map(&mut *self);
        self.table = None;
        match (self.stopped.take(), result) {
            (Some(damage), _) => Err(damage.into()),
            (None, Err(error)) => Err(error.to_string().into()),
            (None, Ok(())) => Ok(()),
        }
    }

    /// The routes of one prefix.
    fn prefix(&mut self, key: &str, routes: &str) -> Result<(), Trouble> {
        let prefix = scan::prefix(key.as_bytes(), self.sink.options.mask_host_bits)?;
        let place = Place::Line(1);
        let (all, name): (Vec<RouteEntry<'_>>, _) =
            json::with_names(routes, &IDLE).map_err(|error| format!("the routes of {prefix}: {error}"))?;
        let named = all.iter().find_map(|route| route.vrf_name.clone());
        let numbered =
            || all.iter().find(|route| route.vrf_id > 0).map(|route| route.vrf_id.to_string().into());
        let table = self.table.as_deref().map(Cow::Borrowed).or(named).or_else(numbered);
        self.sink.table(table.as_deref().unwrap_or("default"));
        if let Some(name) = name {
            let part = (self.text, routes);
            json::offer(&mut self.sink, &mut self.unknown, part, Err(unknown(&name)));
            return Ok(());
        }
        let chosen = all.iter().find(|r| r.selected).or_else(|| all.iter().find(|r| r.installed));
        let mut offered = Route::new(place, prefix);
        if let Some(route) = chosen {
            let is_known = route.nexthops.iter().any(|hop| hop.fib);
            let hops = route.nexthops.iter().filter(|hop| hop.fib == is_known);
            let any_active = route.nexthops.iter().any(|hop| hop.active == Some(true));
            offered.hops.extend(hops.filter_map(|hop| Some((hop.hop()?, hop.state(any_active)))));
            let backups = route.backup_nexthops.iter().filter_map(|hop| Some((hop.hop()?, State::Backup)));
            offered.hops.extend(backups);
            if route.prefix.as_ref().is_some_and(|prefix| prefix.contains(" from ")) {
                offered.state = State::Conditional;
            } else if route.failed || route.queued || route.offloaded == Some(false) {
                offered.state = State::Uninstalled;
            } else if offered.hops.is_empty() {
                return Err(format!("{prefix} has no hop with an address or interface").into());
            }
        } else {
            offered.state = State::Candidate;
        }
        json::offer(&mut self.sink, &mut self.unknown, (self.text, routes), Ok(offered));
        Ok(self.sink.beside(place, self.builder)?)
    }
}

impl HopEntry<'_> {
    fn state(&self, any_active: bool) -> State {
        match self.active {
            None if any_active && !self.fib => State::Dead,
            Some(false) => State::Dead,
            _ if self.recursive && !self.fib => State::Resolved,
            _ => State::Used,
        }
    }

    fn hop(&self) -> Option<Hop> {
        let label = match self {
            Self { admin_prohibited: true, .. } => Some("prohibit"),
            Self { reject: true, .. } => Some("unreachable"),
            Self { blackhole: true, .. } => Some("blackhole"),
            Self { unreachable: true, ip: None, interface_name: None, .. } => Some("unreachable"),
            _ => None,
        };
        match label {
            Some(label) => Some(Hop::nowhere(label)),
            None => Hop::through(self.ip, self.interface_name.as_deref(), self.weight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, parse};

    const TEXT: &str = r#"{
  "0.0.0.0/0":[
    {"prefix":"0.0.0.0/0","protocol":"static","distance":200,
     "nexthops":[{"ip":"192.0.2.9","afi":"ipv4","interfaceName":"eth9"}]},
    {"prefix":"0.0.0.0/0","protocol":"bgp","selected":true,"destSelected":true,"installed":true,
     "nexthops":[{"flags":1,"ip":"192.0.2.8","afi":"ipv4","interfaceName":"eth8"},
                 {"flags":3,"fib":true,"ip":"192.0.2.1","afi":"ipv4","interfaceName":"eth0","active":true}]}],
  "192.0.2.0/24":[{"selected":true,"nexthops":[{"fib":true,"directlyConnected":true,"interfaceName":"eth0"}]}],
  "198.51.100.0/24":[{"selected":true,"nexthops":[{"fib":true,"unreachable":true,"blackhole":true}]}],
  "198.51.101.0/24":[{"selected":true,"nexthops":[{"fib":true,"unreachable":true,"reject":true}]}],
  "198.51.102.0/24":[{"selected":true,"nexthops":[{"fib":true,"unreachable":true,"admin-prohibited":true}]}],
  "203.0.113.0/24":[{"protocol":"bgp","nexthops":[{"ip":"192.0.2.1"}]}],
  "2001:db8::/32":[{"installed":true,"nexthops":[{"ip":"fe80::1","interfaceName":"eth0"}]}]
}
"#;

    #[test]
    fn the_selected_route_and_its_first_hop_in_the_forwarding_table() {
        let loaded = parse(TEXT.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Frr);
        let expected = [
            "0.0.0.0/0 192.0.2.1 dev eth0",
            "192.0.2.0/24 dev eth0",
            "198.51.100.0/24 blackhole",
            "198.51.101.0/24 unreachable",
            "198.51.102.0/24 prohibit",
            "2001:db8::/32 fe80::1 dev eth0",
        ];
        assert_eq!(routes(&loaded), expected);
        let vrfs = format!("{{\"red\":{{}},\"default\":{TEXT}}}");
        assert_eq!(routes(&parse(vrfs.as_bytes(), &ReadOptions::default()).unwrap()), expected);
    }

    #[test]
    fn hops_that_are_inactive_are_left_out() {
        let of = |hops: &str| {
            let text = format!("{{\"10.0.0.0/8\":[{{\"selected\":true,\"nexthops\":[{hops}]}}]}}");
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            (routes(&loaded).join(" "), loaded.report.notes.iter().map(|note| note.count).sum::<u64>())
        };
        let (one, two) = (r#"{"ip":"192.0.2.1"}"#, r#"{"ip":"192.0.2.2","active":true}"#);
        assert_eq!(of(one), ("10.0.0.0/8 192.0.2.1".into(), 0));
        assert_eq!(of(&format!("{one},{two}")), ("10.0.0.0/8 192.0.2.2".into(), 1));
        assert_eq!(of(r#"{"ip":"192.0.2.1","active":false}"#), (String::new(), 1));
    }

    #[test]
    fn routes_with_a_name_that_is_not_known_are_left_out_and_told() {
        let known = routes(&parse(TEXT.as_bytes(), &ReadOptions::default()).unwrap());
        // Before each name within a route.
        let places: Vec<usize> = TEXT.match_indices(['{', ',']).map(|(at, _)| at + 1).collect();
        let inner = |at: &&usize| TEXT[**at..].starts_with('"') && TEXT[..**at].matches('[').count() > 0;
        let mut told = 0;
        for &at in places.iter().filter(inner) {
            if TEXT[at..].starts_with("\"2001:") || TEXT[at..].trim_start().starts_with("\"1") {
                continue;
            }
            let text = format!("{}\"novel\":{{\"a\":1}},{}", &TEXT[..at], &TEXT[at..]);
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
            assert!(notes.contains(&"unknown mark \"novel\""), "{text}\n{notes:?}");
            let line = TEXT[..at].matches('\n').count() as u64 + 1;
            let first = loaded.report.notes.iter().find(|note| note.what.contains("novel")).unwrap().first;
            assert!(matches!(first, crate::Place::Line(of) if of <= line), "{first:?} {line}");
            assert!(routes(&loaded).len() >= known.len() - 1);
            told += 1;
        }
        assert!(told > 40, "{told}");
    }

    #[test]
    fn routes_that_hold_for_some_packets_and_hops_for_some_days() {
        let of = |fields: &str| {
            let text = format!(
                "{{\"2001:db8::/32\":[{{\"selected\":true,{fields}\"nexthops\":[{{\"fib\":true,\"ip\":\"fe80::1\"}}]}}]}}"
            );
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            let notes: Vec<_> = loaded.report.notes.iter().map(|note| note.what.to_string()).collect();
            (routes(&loaded).join(" "), notes.join(" "))
        };
        let (route, none) = ("2001:db8::/32 fe80::1".to_owned(), String::new());
        assert_eq!(of(r#""prefix":"2001:db8::/32","#), (route.clone(), none.clone()));
        let source = r#""prefix":"2001:db8::/32 from 2001:db8:9::/48","#;
        assert_eq!(of(source), (none.clone(), "conditional route".into()));
        let backup = r#""backupNexthops":[{"ip":"fe80::2","active":true}],"#;
        assert_eq!(of(backup), (route.clone(), "backup next hop".into()));
        assert_eq!(of(r#""offloaded":true,"#), (route, none.clone()));
        let refused = "route that is not in the forwarding table";
        assert_eq!(of(r#""offloaded":false,"#), (none, refused.into()));
    }

    #[test]
    fn one_vrf_is_read() {
        let route = |last: u8| {
            format!("{{\"10.0.0.0/8\":[{{\"selected\":true,\"nexthops\":[{{\"ip\":\"192.0.2.{last}\"}}]}}]}}")
        };
        let text = format!("{{\"default\":{},\"red\":{}}}", route(1), route(2));
        let of = |text: &str, vrf: Option<&str>| {
            let options = ReadOptions { vrf: vrf.map(Into::into), ..Default::default() };
            let loaded = parse(text.as_bytes(), &options).map_err(|error| error.to_string())?;
            let notes = loaded.report.notes.iter().map(|note| note.what.to_string()).collect::<Vec<_>>();
            Ok::<_, String>((routes(&loaded).join(" "), notes.join(" ")))
        };
        let found = |last: u8, notes: &str| Ok((format!("10.0.0.0/8 192.0.2.{last}"), notes.to_owned()));
        assert_eq!(of(&text, None), found(1, "route of VRF red"));
        assert_eq!(of(&text, Some("red")), found(2, "route of VRF default"));
        assert_eq!(of(&format!("{{\"red\":{}}}", route(2)), None), found(2, ""));
        let error = of(&text, Some("blue")).unwrap_err();
        assert_eq!(error, "memory, line 1: no VRF blue (there are default, red)");
        // Older versions print the documents one after the other, and number the VRFs.
        let numbered =
            |at: u32, last| route(last).replace("{\"selected\"", &format!("{{\"vrfId\":{at},\"selected\""));
        let text = format!("{}\n{}", numbered(9, 2), numbered(0, 1));
        assert_eq!(of(&text, None), found(1, "route of VRF 9"));
        assert_eq!(of(&text, Some("9")), found(2, "route of VRF default"));
    }

    #[test]
    fn what_the_kernel_refused_is_left_out() {
        let route = |flags: &str| {
            format!("[{{\"selected\":true,{flags}\"nexthops\":[{{\"fib\":true,\"ip\":\"192.0.2.1\"}}]}}]")
        };
        let text = format!(
            "{{\"10.0.0.0/8\":{},\"10.1.0.0/16\":{},\"10.2.0.0/16\":{}}}",
            route("\"installed\":true,"),
            route("\"failed\":true,"),
            route("\"queued\":true,")
        );
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1"]);
        assert_eq!(loaded.report.notes[0].what, "route that is not in the forwarding table");
    }

    #[test]
    fn tables_by_their_numbers_and_documents_one_after_the_other() {
        let route = |last: u8, vrf: &str| {
            format!(
                "{{\"10.0.0.0/8\":[{{\"selected\":true,\"vrfName\":\"{vrf}\",\"nexthops\":[{{\"ip\":\"192.0.2.{last}\"}}]}}]}}"
            )
        };
        let of = |text: &str, table: Option<&str>| {
            let options = ReadOptions { table: table.map(Into::into), ..Default::default() };
            let loaded = parse(text.as_bytes(), &options).unwrap();
            (routes(&loaded).join(" "), loaded.report.notes.last().map(|note| note.what.to_string()))
        };
        let all = format!("{{\"254\":{},\"100\":{}}}", route(1, "default"), route(2, "default"));
        let other = |what: &str| Some(what.to_owned());
        assert_eq!(of(&all, None), ("10.0.0.0/8 192.0.2.1".into(), other("route of table 100")));
        assert_eq!(of(&all, Some("100")), ("10.0.0.0/8 192.0.2.2".into(), other("route of table 254")));
        let several = format!(":\n{}\n{}\n", route(1, "default"), route(2, "red"));
        assert_eq!(of(&several, None), ("10.0.0.0/8 192.0.2.1".into(), other("route of VRF red")));
    }

    #[test]
    fn damage_is_named_or_passed_over() {
        let text = TEXT.replace("198.51.100.0/24", "198.51.100.7/24").replace("fe80::1", "fe80");
        let error = parse(text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "memory, line 9: 198.51.100.7/24 has bits set after its length (host bits)");
        let options = ReadOptions { keep_going: true, ..Default::default() };
        let loaded = parse(text.as_bytes(), &options).unwrap();
        assert_eq!((routes(&loaded).len(), loaded.damage.len()), (4, 2));
        let cut = &TEXT.as_bytes()[..TEXT.find("198.51.101").unwrap()];
        assert!(
            parse(cut, &ReadOptions::default())
                .unwrap_err()
                .to_string()
                .starts_with("memory, line 10: expected")
        );
        assert_eq!(routes(&parse(cut, &options).unwrap()).len(), 3);
        assert!(parse(b"{\"default\":{\"1.0.0.0/33\":[]}}", &ReadOptions::default()).is_err());
    }
}
