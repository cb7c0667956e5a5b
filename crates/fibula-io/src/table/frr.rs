//! FRR's `show ip route json` and `show ipv6 route json`.
//!
//! The content is one object with the routes of each prefix under its text. The route that FRR has
//! `selected` (else `installed`) is taken. Prefixes without one are skipped, as FRR does not
//! forward by them. The first hop that is in the forwarding table (`fib`) counts, else the first.
//! With `vrf all` the VRF `default` is read.

use super::ReadOptions;
use super::builder::Builder;
use crate::scan;
use crate::{Damage, Place};
use fibula::NextHopInfo;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// The fields of a route that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RouteEntry<'a> {
    #[serde(default)]
    selected: bool,
    #[serde(default)]
    installed: bool,
    #[serde(default, borrow)]
    nexthops: Vec<Hop<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools, reason = "the flags are FRR's own keys")]
struct Hop<'a> {
    #[serde(default)]
    fib: bool,
    ip: Option<IpAddr>,
    #[serde(borrow)]
    interface_name: Option<Cow<'a, str>>,
    /// The route does not forward. The other flags say how, as far as FRR knows.
    #[serde(default)]
    unreachable: bool,
    #[serde(default)]
    blackhole: bool,
    #[serde(default)]
    reject: bool,
    #[serde(default)]
    admin_prohibited: bool,
}

pub(super) fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut stopped = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let reader = Reader { text, options, builder, stopped: &mut stopped };
    let result = deserializer.deserialize_map(reader).and_then(|()| deserializer.end());
    match (stopped, result) {
        (Some(damage), _) => Err(damage),
        (None, Err(error)) => {
            builder.damaged(Damage::line(error.line() as u64, format!("expected the JSON of FRR: {error}")))
        }
        (None, Ok(())) => Ok(()),
    }
}

/// Reads the routes of the outer object one by one: a full table as a tree of JSON values would
/// need gigabytes.
struct Reader<'r> {
    text: &'r [u8],
    options: &'r ReadOptions,
    builder: &'r mut Builder,
    /// The damage at which reading had to stop.
    stopped: &'r mut Option<Damage>,
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the routes of each prefix")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
            let result = if key == "default" && value.get().starts_with('{') {
                let inner = Reader { builder: self.builder, stopped: self.stopped, ..self };
                let result = serde_json::Deserializer::from_str(value.get()).deserialize_map(inner);
                if self.stopped.is_some() {
                    return Err(serde::de::Error::custom("stopped"));
                }
                result.map_err(|error| error.to_string())
            } else if value.get().starts_with('{') {
                Ok(()) // another VRF
            } else {
                self.prefix(&key, value.get())
            };
            if let Err(what) = result {
                let damage = Damage::line(self.line_of(value.get()), what);
                if let Err(damage) = self.builder.damaged(damage) {
                    *self.stopped = Some(damage);
                    return Err(serde::de::Error::custom("stopped"));
                }
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// Returns the line that a part of the text begins on. Only called for damage, as it is O(n).
    fn line_of(&self, part: &str) -> u64 {
        let before = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = &self.text[..before.min(self.text.len())];
        1 + memchr::memchr_iter(b'\n', before).count() as u64
    }

    /// The routes of one prefix.
    fn prefix(&mut self, key: &str, routes: &str) -> Result<(), String> {
        let prefix = scan::prefix(key.as_bytes(), self.options.mask_host_bits)?;
        let routes: Vec<RouteEntry<'_>> =
            serde_json::from_str(routes).map_err(|error| format!("the routes of {prefix}: {error}"))?;
        let chosen = routes.iter().find(|r| r.selected).or_else(|| routes.iter().find(|r| r.installed));
        let Some(route) = chosen else { return Ok(()) };
        let hop = route.nexthops.iter().find(|hop| hop.fib).or(route.nexthops.first());
        let info = hop
            .and_then(Hop::info)
            .ok_or_else(|| format!("{prefix} has no hop with an address or interface"))?;
        let next_hop = self.builder.intern(Place::Line(1), info).map_err(|damage| damage.what)?;
        self.builder.push(prefix, next_hop);
        Ok(())
    }
}

impl Hop<'_> {
    fn info(&self) -> Option<NextHopInfo> {
        let label = match self {
            Self { admin_prohibited: true, .. } => Some("prohibit"),
            Self { reject: true, .. } => Some("unreachable"),
            Self { blackhole: true, .. } => Some("blackhole"),
            Self { unreachable: true, ip: None, interface_name: None, .. } => Some("unreachable"),
            _ => None,
        };
        if let Some(label) = label {
            return Some(NextHopInfo::Label(label.into()));
        }
        let interface = self.interface_name.as_deref().filter(|name| !name.is_empty());
        let clean =
            |name: &str| name.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
        (self.ip.is_some() || interface.is_some()).then(|| NextHopInfo::Gateway {
            address: self.ip,
            interface: interface.map(|name| clean(name).into()),
        })
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
            "2001:db8::/32 fe80::1 dev eth0",
        ];
        assert_eq!(routes(&loaded), expected);
        let vrfs = format!("{{\"red\":{{}},\"default\":{TEXT}}}");
        assert_eq!(routes(&parse(vrfs.as_bytes(), &ReadOptions::default()).unwrap()), expected);
    }

    #[test]
    fn damage_is_named_or_passed_over() {
        let text = TEXT.replace("198.51.100.0/24", "198.51.100.7/24").replace("fe80::1", "fe80");
        let error = parse(text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "memory, line 9: 198.51.100.7/24 has bits set after its length (host bits)");
        let options = ReadOptions { keep_going: true, ..Default::default() };
        let loaded = parse(text.as_bytes(), &options).unwrap();
        assert_eq!((routes(&loaded).len(), loaded.damage.len()), (3, 2));
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
