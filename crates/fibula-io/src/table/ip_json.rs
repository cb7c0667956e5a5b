//! `ip -j route` and `ip -6 -j route`: what [`ip_route`](super::ip_route) reads, as JSON.

use super::builder::Builder;
use super::hops::Hop;
use super::ip_route::{Reading, Words};
use super::layouts::{Layout, Looks, Reader};
use super::{ReadOptions, json};
use crate::{Damage, scan};
use fibula::{IpPrefix, Prefix};
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(|value| {
        let first = json::first(value);
        value.is_array() && (first.is_null() || first.get("dst").is_some() && first.get("flags").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// A hop, or a route with its only hop.
#[derive(Deserialize, Default)]
struct Entry {
    gateway: Option<IpAddr>,
    /// The gateway, where it is of another family.
    via: Option<Via>,
    dev: Option<String>,
    weight: Option<u32>,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct Via {
    host: IpAddr,
}

#[derive(Deserialize)]
struct Route {
    dst: String,
    r#type: Option<String>,
    from: Option<String>,
    tos: Option<Value>,
    table: Option<Value>,
    #[serde(default)]
    metric: u32,
    #[serde(default)]
    nexthops: Vec<Entry>,
    #[serde(flatten)]
    hop: Entry,
}

impl Entry {
    /// Returns the hop if it has one, and whether it is dead.
    fn hop(&self) -> Option<(Hop, bool)> {
        let address = self.gateway.or(self.via.as_ref().map(|via| via.host));
        let hop = Hop::through(address, self.dev.as_deref(), self.weight)?;
        Some((hop, self.flags.iter().any(|flag| flag == "dead")))
    }
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "ip -j route", builder, |routes: Vec<Route>, builder| {
        let is_ipv6 = routes.iter().find_map(|route| scan::prefix(route.dst.as_bytes(), true).ok());
        let default = match is_ipv6 {
            Some(IpPrefix::V6(_)) => IpPrefix::V6(Prefix::ALL),
            _ => IpPrefix::V4(Prefix::ALL),
        };
        let mut reading = Reading::new(options, default);
        json::each(routes, builder, |place, route, builder| {
            let text = |value: &Option<Value>| match value {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            let (table, tos) = (text(&route.table), text(&route.tos));
            let mut words = Words { metric: route.metric, table: table.as_deref(), ..Words::default() };
            words.condition("from", route.from.as_deref());
            words.condition("tos", tos.as_deref());
            if let Some(kind) = route.r#type.as_deref().and_then(super::ip_route::nowhere) {
                words.hops.push(Hop::nowhere(kind));
            } else {
                let hops = route.nexthops.iter().chain([&route.hop]).filter_map(Entry::hop);
                let (dead, live): (Vec<_>, Vec<_>) = hops.partition(|(_, is_dead)| *is_dead);
                words.dead = dead.len();
                words.hops = live.into_iter().map(|(hop, _)| hop).collect();
            }
            words.family = route.hop.gateway.or_else(|| route.nexthops.iter().find_map(|hop| hop.gateway));
            let prefix = reading.prefix(&route.dst, words.family)?;
            reading.take(place, prefix, words, builder)?;
            Ok(reading.close(builder)?)
        })?;
        reading.finish(builder)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};

    #[test]
    fn what_ip_route_says_as_text() {
        let text = r#"[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","metric":100,"flags":[]},
            {"dst":"10.0.0.0/8","metric":20,"flags":[],"nexthops":[{"gateway":"192.0.2.9","dev":"eth9","weight":1,"flags":["dead","linkdown"]},
            {"gateway":"192.0.2.2","dev":"eth1","weight":1,"flags":[]},{"gateway":"192.0.2.3","dev":"eth2","weight":2,"flags":[]}]},
            {"type":"blackhole","dst":"10.2.0.0/16","flags":[]},{"dst":"10.2.0.0/16","tos":"0x10","dev":"eth3","flags":[]},
            {"dst":"10.3.0.0/16","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0","flags":[]},
            {"type":"local","dst":"192.0.2.9","dev":"eth0","table":"local","flags":[]}]"#;
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::IpJson);
        let expected = [
            "0.0.0.0/0 192.0.2.1 dev eth0",
            "10.0.0.0/8 192.0.2.2 dev eth1",
            "10.2.0.0/16 blackhole",
            "10.3.0.0/16 fe80::1 dev eth0",
        ];
        assert_eq!(routes(&loaded), expected);
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        let further = "next hop after the first (--value next-hops keeps all)";
        assert_eq!(notes, ["dead next hop", "conditional route", "route of table local", further]);
        let all = ReadOptions { value: Value::NextHops, ..Default::default() };
        assert!(routes(&parse(text.as_bytes(), &all).unwrap())[1].ends_with(r#""dev":"eth2","weight":2}]"#));
        let first = r#"[{"dst":"10.0.0.0/8","gateway":"192.0.2.1","dev":"eth0","flags":["dead"]}]"#;
        let loaded = parse(first.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((loaded.format, routes(&loaded).len()), (Format::IpJson, 0));
        let error = testing::error(Format::IpJson, r#"[{"dst":"10.0.0.0/8","flags":[]}]"#);
        assert_eq!(error, "memory, row 1: 10.0.0.0/8 has no hop (expected via, dev, or nexthop lines)");
    }
}
