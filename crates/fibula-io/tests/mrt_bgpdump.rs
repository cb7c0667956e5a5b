//! The final tables of MRT files, beside those of what `bgpdump -m` prints of them.
//!
//! ```text
//!   FILE ──▶ read as MRT ─────────────────────────▶ table ┐
//!        └─▶ bgpdump -m ──▶ read as bgpdump's lines ──▶ table ┴▶ equal
//! ```

mod common;

use fibula_io::Source;
use fibula_io::table::{self, Format, Loaded, ReadOptions, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Files of which `bgpdump` prints another table than there is, and why.
const OTHERWISE: [(&str, &str); 0] = [];

fn routes(loaded: &Loaded) -> BTreeMap<String, String> {
    let name = |next_hop| loaded.tables.next_hops.get(next_hop).unwrap().to_string();
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

fn compare(path: &Path, text: &[u8], value: Value) -> Vec<String> {
    let options = ReadOptions { value, keep_going: true, ..Default::default() };
    let ours = table::read(&Source::File(path.to_owned()), &options).unwrap();
    let theirs = table::parse(text, &ReadOptions { format: Some(Format::Bgpdump), ..options }).unwrap();
    assert_eq!(theirs.damage, [], "{}", path.display());
    difference(&routes(&ours), &routes(&theirs))
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
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".bgpdump.txt.gz") {
            continue;
        }
        let printed = Command::new("bgpdump").arg("-m").arg(&path).output().unwrap();
        for value in [Value::NextHop, Value::OriginAs, Value::Peer] {
            let differs = compare(&path, &printed.stdout, value);
            let known = OTHERWISE.iter().find(|(known, _)| *known == name);
            assert_eq!(differs.is_empty(), known.is_none(), "{name}, {value}: {differs:#?}");
        }
    }
}
