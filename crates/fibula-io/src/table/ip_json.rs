//! `ip -j route` and `ip -6 -j route`: what [`ip_route`](super::ip_route) reads, as JSON. The
//! fields of an encapsulation are beside those of its route there too, in the order of the text.

use super::builder::Builder;
use super::ip_route::{Context, Field, Parts, kind_of, offer, sink};
use super::layouts::{Layout, Looks, Reader};
use super::router::marks::unknown;
use super::{ReadOptions, json};
use crate::{Damage, Place, scan};
use fibula::IpPrefix;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(|value| {
        let first = json::first(value);
        value.is_array() && (first.is_null() || first.get("dst").is_some() && first.get("flags").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// The fields of an object in their order; a key may come twice.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the fields of a route")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    fields.push((name, text_of(value)));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// Returns a value with the numbers in it as text.
fn text_of(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Array(values) => values.into_iter().map(text_of).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, text_of(value))).collect(),
        other => other,
    }
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "ip -j route", builder, |routes: Vec<Fields>, builder| {
        let prefix = |route: &Fields| scan::prefix(route.destination().as_bytes(), true).ok();
        let first = routes.iter().find_map(prefix);
        let context = Context { is_ipv6: matches!(first, Some(IpPrefix::V6(_))) };
        let mut sink = sink(options);
        for (route, place) in routes.iter().zip((1..).map(Place::Row)) {
            let result =
                route.parts().and_then(|parts| offer(&mut sink, place, route.destination(), parts, context));
            sink.count(place, result.into());
        }
        sink.finish(builder)
    })
}

impl Fields {
    fn destination(&self) -> &str {
        let dst = self.0.iter().find(|(name, _)| name == "dst");
        dst.and_then(|(_, value)| value.as_str()).unwrap_or_default()
    }

    fn parts(&self) -> Result<Parts<'_>, String> {
        let mut parts = Parts::new(None);
        fields(&mut parts, &mut self.0.iter().map(|(name, value)| (name.as_str(), value)))?;
        parts.next_hop();
        Ok(parts)
    }
}

fn fields<'f>(
    parts: &mut Parts<'f>,
    fields_of: &mut dyn Iterator<Item = (&'f str, &'f Value)>,
) -> Result<(), String> {
    let mut has_destination = false;
    for (name, value) in fields_of {
        match (name, value) {
            ("dst", _) if !std::mem::replace(&mut has_destination, true) => {}
            ("type", Value::String(kind)) => parts.kind = Some(kind_of(kind).ok_or_else(|| unknown(kind))?),
            ("via", Value::Object(via)) => {
                let host = via.get("host").and_then(Value::as_str).unwrap_or_default();
                parts.via(host, true)?;
            }
            ("nexthops" | "metrics", Value::Array(several)) => {
                for object in several.iter().filter_map(Value::as_object) {
                    if name == "nexthops" {
                        parts.next_hop();
                    }
                    fields(parts, &mut object.iter().map(|(name, value)| (name.as_str(), value)))?;
                }
            }
            // Of an object of which the route has the number, and the next hops.
            ("nh_info", Value::Object(_)) => {}
            ("flags", Value::Array(flags)) => {
                for flag in flags.iter().filter_map(Value::as_str) {
                    match parts.field(flag)? {
                        Some(field @ (Field::Flag | Field::Dead)) => parts.take(field, "")?,
                        _ => return Err(unknown(flag)),
                    }
                }
            }
            (_, Value::String(text)) => {
                if let Some(field) = parts.field(name)? {
                    parts.take(field, text)?;
                }
            }
            _ => _ = parts.field(name)?,
        }
    }
    Ok(())
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
            {"type":"6","dst":"10.2.0.0/16","nhid":8,"dev":"lo","flags":[],"nh_info":{"id":8,"blackhole":null,"flags":[]}},{"dst":"10.2.0.0/16","tos":"0x10","dev":"eth3","flags":[]},
            {"dst":"10.3.0.0/16","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0","flags":[],"flow":{"to":"4"},"metrics":[{"ecn":null,"congestion":"reno"}]},
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
        assert_eq!(notes, ["dead next hop", "conditional route", further, "route of table local"]);
        let all = ReadOptions { value: Value::NextHops, ..Default::default() };
        assert!(routes(&parse(text.as_bytes(), &all).unwrap())[1].ends_with(r#""dev":"eth2","weight":2}]"#));
        let first = r#"[{"dst":"10.0.0.0/8","gateway":"192.0.2.1","dev":"eth0","flags":["dead"]}]"#;
        let loaded = parse(first.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((loaded.format, routes(&loaded).len()), (Format::IpJson, 0));
        let error = testing::error(Format::IpJson, r#"[{"dst":"10.0.0.0/8","flags":[]}]"#);
        assert_eq!(
            error,
            "memory, row 1: 10.0.0.0/8 has no hop (expected via, dev, or nexthop lines); 1 of 1 lines are not understood"
        );
    }
}
