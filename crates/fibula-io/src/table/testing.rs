//! What the tests of the formats look at.

use super::{Format, Loaded, ReadOptions, parse};

/// Returns the routes of both families as text.
pub(super) fn routes(loaded: &Loaded) -> Vec<String> {
    let name = |next_hop| loaded.tables.next_hops.get(next_hop).unwrap();
    let four = loaded.tables.ipv4.iter().map(|r| format!("{} {}", r.prefix, name(r.next_hop)));
    let six = loaded.tables.ipv6.iter().map(|r| format!("{} {}", r.prefix, name(r.next_hop)));
    four.chain(six).collect()
}

/// Returns the next hops as text.
pub(super) fn values(loaded: &Loaded) -> Vec<String> {
    loaded.tables.next_hops.iter().map(|(_, info)| info.to_string()).collect()
}

/// Returns the error of a text in a format.
pub(super) fn error(format: Format, text: &str) -> String {
    let options = ReadOptions { format: Some(format), ..Default::default() };
    parse(text.as_bytes(), &options).unwrap_err().to_string()
}
