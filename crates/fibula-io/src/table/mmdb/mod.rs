//! MaxMind DB files, version 2: read by the `maxminddb` crate, written here.
//!
//! ```text
//! search tree: node_count nodes of two records ─▶ 16 zeros ─▶ data section ─▶ marker, metadata
//! ```
//!
//! A record is the JSON of its data: a map is an object, bytes are text in hexadecimal digits. A
//! file for IPv6 has IPv4 addresses in ::/96, which are read as the IPv4 routes that they are; the
//! aliases of that part are not read again. Written values are the data of the same JSON, without
//! its nulls, which the format lacks; an AS number is `{"autonomous_system_number":64500}`.
//!
//! Source: <https://maxmind.github.io/MaxMind-DB/>.

mod tree;
mod write;

use super::builder::Builder;
use super::fields::{list, object, quoted};
use super::layouts::{Layout, Looks, Reader as Reads, Writer};
use super::{ReadOptions, Value, json, rows};
use crate::{Damage, scan};
use fibula::{IpPrefix, NextHop, NextHopInfo, Prefix};
use maxminddb::{Reader, WithinOptions};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::net::IpAddr;

/// What is before the metadata.
const MARKER: &[u8] = b"\xAB\xCD\xEFMaxMind.com";

/// The most bytes of the metadata, which are at the end of the file.
const METADATA_BYTES: usize = 128 << 10;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Ends(|bytes| {
        let end = &bytes[bytes.len().saturating_sub(METADATA_BYTES + MARKER.len())..];
        memchr::memmem::rfind(end, MARKER).is_some()
    }),
    reader: Reads::Held(read),
    writer: Some(Writer::Whole(write::write)),
    endings: &["mmdb"],
};

fn read(bytes: Vec<u8>, _: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let damaged = |error: &dyn fmt::Display| Damage::byte(0, format!("MaxMind DB: {error}"));
    let reader = match Reader::from_source(bytes) {
        Ok(reader) => reader,
        Err(error) => return builder.damaged(damaged(&error)),
    };
    let mut known: HashMap<usize, NextHop> = HashMap::new();
    let networks = match reader.networks(WithinOptions::default()) {
        Ok(networks) => networks,
        Err(error) => return builder.damaged(damaged(&error)),
    };
    let is_ipv6 = reader.metadata().ip_version == 6;
    json::each(networks, builder, |place, found, builder| {
        let found = found.map_err(|error| error.to_string())?;
        let network = found.network().map_err(|error| error.to_string())?;
        let Some(offset) = found.offset() else { return Ok(()) };
        let next_hop = if let Some(&next_hop) = known.get(&offset) {
            next_hop
        } else {
            let Json(text) =
                found.decode().map_err(|error| error.to_string())?.ok_or("a record without data")?;
            let info = match serde_json::from_str::<String>(&text) {
                Ok(text) => rows::read_value(text.as_bytes(), Value::NextHop)?,
                Err(_) => NextHopInfo::Label(text.into()),
            };
            let next_hop = builder.intern(place, info)?;
            known.insert(offset, next_hop);
            next_hop
        };
        let prefix = scan::prefix_of(network.ip(), network.prefix(), true)?;
        let ipv4 = if is_ipv6 { within_ipv4(network.ip(), network.prefix()) } else { None };
        match ipv4 {
            Some(ipv4) => {
                builder.push(place, IpPrefix::V4(ipv4), next_hop)?;
                // A network that is larger than all of IPv4 is one of IPv6 too.
                if network.prefix() < 96 {
                    builder.push(place, prefix, next_hop)?;
                }
            }
            None => builder.push(place, prefix, next_hop)?,
        }
        Ok(())
    })
}

/// Returns the part of an IPv6 network that is of IPv4 addresses.
fn within_ipv4(address: IpAddr, length: u8) -> Option<Prefix<u32>> {
    let IpAddr::V6(address) = address else { return None };
    let bits = u32::try_from(address.to_bits()).ok()?;
    Prefix::masked(bits, length.saturating_sub(96)).ok()
}

/// Data as JSON.
struct Json(String);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Data)
    }
}

struct Data;

/// Makes JSON of values that are written as they are displayed.
macro_rules! displayed {
    ($($visit:ident: $type:ty,)*) => {
        $(
            fn $visit<E: Error>(self, value: $type) -> Result<Json, E> {
                Ok(Json(value.to_string()))
            }
        )*
    };
}

impl<'de> Visitor<'de> for Data {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("data")
    }

    displayed! {
        visit_bool: bool,
        visit_i64: i64,
        visit_u64: u64,
        visit_u128: u128,
    }

    fn visit_f32<E: Error>(self, value: f32) -> Result<Json, E> {
        // The shortest text of the number, not that of the same number with more digits.
        Ok(Json(if value.is_finite() { format!("{value:?}") } else { "null".to_owned() }))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json(serde_json::Value::from(value).to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json(quoted(value)))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Json, E> {
        let mut digits = String::new();
        for byte in value {
            let _ = write!(digits, "{byte:02x}");
        }
        Ok(Json(quoted(&digits)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(Json(value)) = elements.next_element()? {
            values.push(value);
        }
        Ok(Json(list(&values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields: Vec<(String, String)> = Vec::new();
        while let Some((name, Json(value))) = map.next_entry::<String, Json>()? {
            fields.push((name, value));
        }
        Ok(Json(object(fields.iter().map(|(name, value)| (name.as_str(), value.clone())))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, Tables, parse, write};

    fn written(tables: &Tables) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(tables, Format::Mmdb, &mut bytes).unwrap();
        bytes
    }

    fn tables(text: &str) -> Tables {
        parse(text.as_bytes(), &ReadOptions::default()).unwrap().tables
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fields =
            r#"{"country":{"iso_code":"BE"},"asn":4294967296,"lat":-1.5,"n":-7,"is":true,"in":[1,"x"]}"#;
        let text = format!(
            "10.0.0.0/8\t{fields}\n10.1.0.0/16\tlab room\n0.0.0.0/0\t64500\n2001:db8::/32\t{fields}\n::/0\tdefault\n"
        );
        let bytes = written(&tables(&text));
        let loaded = parse(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Mmdb);
        let all = loaded.tables;
        let answer = |address: &str| {
            let next_hop = match address.parse().unwrap() {
                std::net::IpAddr::V4(ip) => all.ipv4.longest_match(ip.to_bits()).map(|route| route.next_hop),
                std::net::IpAddr::V6(ip) => all.ipv6.longest_match(ip.to_bits()).map(|route| route.next_hop),
            };
            all.next_hops.get(next_hop.unwrap()).unwrap().to_string()
        };
        assert_eq!(answer("10.2.3.4"), fields);
        assert_eq!(answer("10.1.3.4"), "lab room");
        assert_eq!(answer("192.0.2.1"), "{\"autonomous_system_number\":64500}");
        assert_eq!((answer("2001:db8::1").as_str(), answer("3000::").as_str()), (fields, "default"));
    }

    #[test]
    fn one_family_and_none() {
        let bytes = written(&tables("192.0.2.0/24 a\n192.0.2.128/25 b\n"));
        let loaded = parse(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["192.0.2.0/25 a", "192.0.2.128/25 b"]);
        let loaded = parse(&written(&Tables::default()), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.tables, Tables::default());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = write(&tables("::1/128 a\n"), Format::Mmdb, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "::1/128 cannot be written as mmdb, which has IPv4 addresses in ::/96");
        let whole = written(&tables("192.0.2.0/24 a\n"));
        for end in 0..whole.len() {
            let _ = parse(&whole[..end], &ReadOptions::default());
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            let _ = parse(&changed, &ReadOptions { format: Some(Format::Mmdb), ..Default::default() });
        }
    }
}
