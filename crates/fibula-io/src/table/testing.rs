//! What the tests of the formats look at.

use super::{Format, Loaded, ReadOptions, parse};
use std::path::Path;

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

/// Compares the part of docs/tables.md that a test makes with it, or with `FIBULA_WRITE_PAGES`
/// writes that part.
pub(super) fn part_of_page(test: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    let (begin, end) = (format!("<!-- written by the test {test} -->\n"), "<!-- end -->\n");
    let (before, rest) = text.split_once(&begin).expect("the page has the beginning of the part");
    let (found, after) = rest.split_once(end).expect("the page has the end of the part");
    if std::env::var_os("FIBULA_WRITE_PAGES").is_some() {
        std::fs::write(&path, [before, &begin, made, end, after].concat()).unwrap();
    } else {
        assert!(found == made, "run this test with FIBULA_WRITE_PAGES=1");
    }
}
