//! Writes a file.

use super::super::{Tables, json_of};
use super::MARKER;
use super::tree::{Record, Tree};
use fibula::{Address, NextHopInfo, Prefix, Rib};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::IpAddr;

/// The bytes between the tree and the data, all zero.
const GAP: usize = 16;

/// Numbers of the types of data.
mod kind {
    pub(super) const TEXT: u8 = 2;
    pub(super) const DOUBLE: u8 = 3;
    pub(super) const U16: u8 = 5;
    pub(super) const U32: u8 = 6;
    pub(super) const MAP: u8 = 7;
    pub(super) const I32: u8 = 8;
    pub(super) const U64: u8 = 9;
    pub(super) const ARRAY: u8 = 11;
    pub(super) const BOOL: u8 = 14;
}

/// Writes tables. Equal tables give equal bytes, so the time of the build is not written.
pub(super) fn write(tables: &Tables, _: &[String], out: &mut dyn Write) -> io::Result<()> {
    const IPV4_BITS: u8 = 96;
    let is_ipv6 = !tables.ipv6.is_empty();
    let in_ipv4 = |prefix: &Prefix<u128>| prefix.len() >= IPV4_BITS && prefix.first() >> u32::BITS == 0;
    if let Some(route) = tables.ipv6.iter().find(|route| in_ipv4(&route.prefix)) {
        let what = format!("{} cannot be written as mmdb, which has IPv4 addresses in ::/96", route.prefix);
        return Err(invalid(what));
    }
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    for (_, info) in tables.next_hops.iter() {
        offsets.push(data.len());
        encode(&value(info), &mut data)?;
    }
    let mut tree = Tree::new();
    fill(&mut tree, &tables.ipv6, 0, &offsets);
    if is_ipv6 {
        tree.set(0, IPV4_BITS, Record::Nothing);
    }
    fill(&mut tree, &tables.ipv4, if is_ipv6 { IPV4_BITS } else { 0 }, &offsets);
    let count = tree.nodes.len();
    let last = (count + GAP + data.len()) as u64;
    let record_bits = [24_u16, 28, 32].into_iter().find(|bits| last < 1 << bits);
    let record_bits =
        record_bits.ok_or_else(|| invalid(format!("{count} nodes are more than a file holds")))?;
    for node in &tree.nodes {
        let [left, right] = node.map(|record| match record {
            Record::Nothing => count,
            Record::Node(node) => node,
            Record::Data(offset) => count + GAP + offset,
        } as u32);
        out.write_all(&records(left, right, record_bits))?;
    }
    out.write_all(&[0; GAP])?;
    out.write_all(&data)?;
    out.write_all(MARKER)?;
    out.write_all(&metadata(count, record_bits, is_ipv6)?)
}

/// Puts the routes of a family below a depth of the tree.
fn fill<A: Address>(tree: &mut Tree, rib: &Rib<A>, depth: u8, offsets: &[usize]) {
    if rib.is_empty() {
        return;
    }
    for range in rib.ranges().filter(|range| range.next_hop.is_some()) {
        let record = Record::Data(offsets[range.next_hop.0 as usize]);
        for prefix in Prefix::fewest(range.first, range.last) {
            let first = match prefix.first().to_ip() {
                IpAddr::V4(address) => address.to_bits().into(),
                IpAddr::V6(address) => address.to_bits(),
            };
            let bits = first << (128 - u32::from(A::BITS)) >> depth;
            match prefix.len() + depth {
                0 => [0, 1 << 127].into_iter().for_each(|half| tree.set(half, 1, record)),
                len => tree.set(bits, len, record),
            }
        }
    }
}

/// Returns the two records of a node.
fn records(left: u32, right: u32, bits: u16) -> Vec<u8> {
    let ([l0, l1, l2, l3], [r0, r1, r2, r3]) = (left.to_be_bytes(), right.to_be_bytes());
    match bits {
        24 => vec![l1, l2, l3, r1, r2, r3],
        28 => vec![l1, l2, l3, l0 << 4 | r0, r1, r2, r3],
        _ => vec![l0, l1, l2, l3, r0, r1, r2, r3],
    }
}

/// Returns a next hop as data.
fn value(info: &NextHopInfo) -> Value {
    match info {
        NextHopInfo::AutonomousSystem(number) => json!({ "autonomous_system_number": number }),
        other => json_of(other)
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_else(|| Value::from(other.to_string())),
    }
}

fn metadata(count: usize, record_bits: u16, is_ipv6: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let fields = [
        ("binary_format_major_version", kind::U16, 2),
        ("binary_format_minor_version", kind::U16, 0),
        ("build_epoch", kind::U64, 1),
        ("ip_version", kind::U16, if is_ipv6 { 6 } else { 4 }),
        ("record_size", kind::U16, record_bits.into()),
    ];
    control(kind::MAP, fields.len() + 4, &mut bytes);
    for (name, kind, number) in fields {
        text(name, &mut bytes);
        unsigned(kind, number, &mut bytes);
    }
    let rest = json!({ "node_count": count, "database_type": "fibula", "languages": [], "description": {} });
    for (name, value) in rest.as_object().into_iter().flatten() {
        text(name, &mut bytes);
        encode(value, &mut bytes)?;
    }
    Ok(bytes)
}

/// Adds a value to the data.
fn encode(value: &Value, out: &mut Vec<u8>) -> io::Result<()> {
    match value {
        Value::Null => {}
        Value::Bool(value) => control(kind::BOOL, usize::from(*value), out),
        Value::String(value) => text(value, out),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) if number <= u32::MAX.into() => unsigned(kind::U32, number, out),
            (Some(number), _, _) => unsigned(kind::U64, number, out),
            (None, Some(number), _) => {
                let number = i32::try_from(number);
                let number = number.map_err(|_| invalid(format!("{value} is past the integers of mmdb")))?;
                control(kind::I32, size_of::<i32>(), out);
                out.extend(number.to_be_bytes());
            }
            (None, None, number) => {
                control(kind::DOUBLE, size_of::<f64>(), out);
                out.extend(number.unwrap_or(f64::NAN).to_be_bytes());
            }
        },
        Value::Array(values) => {
            let values = || values.iter().filter(|value| !value.is_null());
            control(kind::ARRAY, values().count(), out);
            values().try_for_each(|value| encode(value, out))?;
        }
        Value::Object(fields) => {
            let fields = || fields.iter().filter(|(_, value)| !value.is_null());
            control(kind::MAP, fields().count(), out);
            for (name, value) in fields() {
                text(name, out);
                encode(value, out)?;
            }
        }
    }
    Ok(())
}

fn text(text: &str, out: &mut Vec<u8>) {
    control(kind::TEXT, text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// Adds an integer without the zeros before it.
fn unsigned(kind: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let digits = &bytes[number.leading_zeros() as usize / 8..];
    control(kind, digits.len(), out);
    out.extend_from_slice(digits);
}

/// Adds what comes before data: its type and size. A label has at most 4 KiB, so a size has two
/// bytes at most.
fn control(kind: u8, size: usize, out: &mut Vec<u8>) {
    let (size, more): (u8, Vec<u8>) = match size {
        0..29 => (size as u8, vec![]),
        29..285 => (29, vec![(size - 29) as u8]),
        285..65_821 => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
        _ => (31, ((size - 65_821) as u32).to_be_bytes()[1..].to_vec()),
    };
    match kind {
        1..=7 => out.push(kind << 5 | size),
        extended => out.extend([size, extended - 7]),
    }
    out.extend(more);
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
