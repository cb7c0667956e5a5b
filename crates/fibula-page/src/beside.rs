//! [`Beside`]: what is said of a route beside its value: the names of its ASes, and what RPKI's
//! payloads say of its origin.

use crate::Shown;
use crate::routes::is_of_systems;
use fibula::{IpPrefix, NextHop, NextHopInfo};
use fibula_io::as_names::AsNames;
use fibula_io::mrt::as_number;
use fibula_io::rov::{Origins, Vrps};
use fibula_io::table::json_of;
use serde_json::{Map, Value};
use std::io::Write as _;
use std::sync::Arc;

/// What is said of routes, where it is known.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The names of ASes.
    pub names: Option<Arc<AsNames>>,
    /// The payloads of RPKI.
    pub vrps: Option<Arc<Vrps>>,
}

impl Beside {
    /// Writes `,"as_names":{...}`, the names of the ASes in a route's value, and `,"rov":...`, the
    /// state of its origin (RFC 6811): a list of several origins, `null` where there is none.
    pub fn write(&self, out: &mut Vec<u8>, shown: &Shown, route: Option<(IpPrefix, NextHop)>) {
        if self.names.is_none() && self.vrps.is_none() {
            return;
        }
        let route = route.and_then(|(prefix, next_hop)| Some((prefix, shown.next_hops.get(next_hop)?)));
        // Memory can always be written.
        if let Some(names) = &self.names {
            let systems = route.map_or_else(Vec::new, |(_, info)| systems(info));
            let named = systems.into_iter().filter_map(|asn| Some((asn.to_string(), names.get(asn)?.into())));
            let _ = write!(out, ",\"as_names\":{}", Value::from(named.collect::<Map<_, _>>()));
        }
        if let Some(vrps) = &self.vrps {
            let state = route.map_or(Value::Null, |(prefix, info)| state(vrps, prefix, info));
            let _ = write!(out, ",\"rov\":{state}");
        }
    }
}

fn state(vrps: &Vrps, prefix: IpPrefix, info: &NextHopInfo) -> Value {
    let state = |origin| Value::from(vrps.validity(prefix, origin).name());
    match Origins::of(info) {
        Origins::Unknown => Value::Null,
        Origins::One(origin) => state(origin),
        Origins::Several(origins) => origins.into_iter().map(state).collect(),
    }
}

/// Returns the numbers of the ASes in a value: that it is, those of a list or a set, and those in
/// fields of AS numbers.
fn systems(info: &NextHopInfo) -> Vec<u32> {
    let mut found = Vec::new();
    match json_of(info).and_then(|text| serde_json::from_str(text).ok()) {
        Some(Value::Object(fields)) => {
            let of_systems = fields.iter().filter(|(name, _)| is_of_systems(name));
            of_systems.for_each(|(_, value)| add(value, &mut found));
        }
        // Other lists and texts may hold any numbers.
        _ if Origins::of(info) == Origins::Unknown => {}
        Some(list) => add(&list, &mut found),
        None => add(&info.to_string().into(), &mut found),
    }
    found
}

/// Adds the AS numbers of a field: one, a list, or a text of such alone.
fn add(value: &Value, found: &mut Vec<u32>) {
    match value {
        Value::Number(number) => found.extend(number.as_u64().and_then(|number| u32::try_from(number).ok())),
        Value::Array(list) => list.iter().for_each(|value| add(value, found)),
        Value::String(text) => {
            let between = |letter: char| letter.is_whitespace() || "{},".contains(letter);
            let numbers = text.split(between).filter(|part| !part.is_empty()).map(as_number);
            found.extend(numbers.collect::<Result<Vec<_>, _>>().unwrap_or_default());
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_of_a_value_are_those_that_it_names() {
        for (value, expected) in [
            ("AS64500", &[64_500][..]),
            ("{64500,64501}", &[64_500, 64_501]),
            ("[64500,[64501,64502]]", &[64_500, 64_501, 64_502]),
            (r#"{"next_hop":"192.0.2.1","as_path":[64500,[7,8]],"med":9}"#, &[64_500, 7, 8]),
            (r#"{"as_path":"64500 {7,8}","as_name":"Area 51","origin_as":"AS8"}"#, &[64_500, 7, 8, 8]),
            (r#"{"asn":null}"#, &[]),
            ("192.0.2.1", &[]),
            ("64500:10", &[]),
            ("[\"a\",1]", &[]),
        ] {
            assert_eq!(systems(&NextHopInfo::parse(value)), expected, "{value}");
        }
    }
}
