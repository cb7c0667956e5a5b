//! The final tables of MRT files, beside those of what `bgpdump -m` prints of them.
//!
//! ```text
//!   FILE ──▶ read as MRT ─────────────────────────▶ table ┐
//!        └─▶ bgpdump -m ──▶ read as bgpdump's lines ──▶ table ┴▶ equal
//! ```

mod common;

use fibula_io::Source;
use fibula_io::table::{self, AddPath, Format, Loaded, ReadOptions, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Why `bgpdump` 1.6.2 prints another table of some files.
const ENTRIES: &str = "a record has many entries, of which it prints the first";
const NO_PEERS: &str = "it prints no record before a table of peers";
const OLD_ENTRY: &str = "it does not know the deprecated BGP4MP_ENTRY";
const WITHDRAWN: &str = "it prints the peer's address for each withdrawn prefix of the deprecated type BGP";
const NO_ROUTERS: &str = "it prints no identifiers of routers, by which equal paths are ranked";
const OTHERWISE: [(&str, &str); 7] = [
    ("bview.20000111.0032.gz", ENTRIES),
    ("bview.20140112.1600_3samples.bz2", NO_PEERS),
    ("bview.64k_stream_overflow.gz", NO_ROUTERS),
    ("openbgpd_rib_table-mp", OLD_ENTRY),
    ("updates.19990903.1041.gz", WITHDRAWN),
    ("updates.20000102.2014.gz", WITHDRAWN),
    ("updates.20000325.0345.gz", WITHDRAWN),
];

fn routes(loaded: &Loaded) -> BTreeMap<String, String> {
    let name = |next_hop| {
        let route = loaded.tables.next_hops.get(next_hop).unwrap().to_string();
        // `bgpdump` leaves out extended communities, and writes large ones elsewhere.
        route.split_once(",\"communities\"").map_or_else(|| route.clone(), |(before, _)| before.to_owned())
    };
    let four = loaded.tables.ipv4.iter().map(|route| (route.prefix.to_string(), name(route.next_hop)));
    let six = loaded.tables.ipv6.iter().map(|route| (route.prefix.to_string(), name(route.next_hop)));
    four.chain(six).collect()
}

/// Returns what differs, at most a few routes.
fn difference(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<String> {
    let prefixes = ours.keys().chain(theirs.keys());
    let differs = prefixes.filter(|prefix| ours.get(*prefix) != theirs.get(*prefix));
    let line =
        |prefix: &String| format!("{prefix}: {:?}, bgpdump {:?}", ours.get(prefix), theirs.get(prefix));
    differs.map(line).take(5).collect()
}

fn compare(path: &Path, text: &[u8]) -> Vec<String> {
    // `bgpdump` never takes a list for one with path identifiers that is not marked so.
    // The whole routes of the large files would take a minute.
    const LARGE: usize = 10 << 20;
    let value = if text.len() < LARGE { Value::Route } else { Value::OriginAs };
    let options = ReadOptions { value, keep_going: true, add_path: AddPath::No, ..Default::default() };
    let ours = table::read(&Source::File(path.to_owned()), &options).unwrap();
    let theirs = table::parse(text, &ReadOptions { format: Some(Format::Bgpdump), ..options }).unwrap();
    let no_routes = theirs.damage.first().map(|first| format!("bgpdump prints what is no route: {first}"));
    let mut differs = difference(&routes(&ours), &routes(&theirs));
    differs.extend(no_routes);
    differs
}

#[test]
fn the_tables_of_bgpdump() {
    let Some(folder) = common::data("mrt") else { return };
    if Command::new("bgpdump").output().is_err() {
        println!("skipped: bgpdump is not installed");
        return;
    }
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".bgpdump.txt.gz") {
            continue;
        }
        let printed = Command::new("bgpdump").arg("-m").arg(&path).output().unwrap();
        let differs = compare(&path, &printed.stdout);
        let known = OTHERWISE.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
        if differs.is_empty() == known.is_some() {
            wrong.push(format!("{name}: {differs:#?}, expected {known:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
