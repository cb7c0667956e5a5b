//! Outputs of routers as a public project of parsers keeps them, where the checkout has them beside
//! it: each is a table, or refused as what it is, and no word in one passes without a note.

mod common;

use fibula_io::table::{ReadOptions, parse};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the outputs, in order of their names.
fn outputs() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "raw") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    if let Some(folder) = common::beside("corpus", "ntc") {
        walk(&folder, &mut found);
    }
    found.sort();
    found
}

/// How the errors of outputs that are no table of the default VRF begin.
const REFUSED: [&str; 2] = ["memory: this is ", "memory, line 1: no VRF default, name one of "];

#[test]
fn every_output_is_read_or_refused_as_what_it_is() {
    let all = outputs();
    let mut read = 0;
    for path in &all {
        match parse(&fs::read(path).unwrap(), &ReadOptions::default()) {
            Ok(loaded) => {
                let is_empty = loaded.tables.ipv4.is_empty() && loaded.tables.ipv6.is_empty();
                assert!(!is_empty || !loaded.report.notes.is_empty(), "{}", path.display());
                read += 1;
            }
            Err(error) => {
                let error = error.to_string();
                assert!(REFUSED.iter().any(|begin| error.starts_with(begin)), "{}: {error}", path.display());
            }
        }
    }
    println!("{read} of {} are read, the others refused", all.len());
    assert!(2 * read >= all.len());
}

/// Returns how often each reason is told of a text; `None` if it is refused.
fn told(text: &str) -> Option<BTreeMap<String, u64>> {
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).ok()?;
    Some(loaded.report.notes.iter().map(|note| (note.what.to_string(), note.count)).collect())
}

/// Returns whether a word in a line may be anything: a comment of Gaia, or an interface of PAN-OS
/// where there was none.
fn is_free(path: &Path, line: &str) -> bool {
    let is_of = |platform: &str| path.components().any(|part| part.as_os_str() == platform);
    is_of("checkpoint_gaia") && line.starts_with("        ") || is_of("paloalto_panos")
}

#[test]
fn a_word_that_is_not_known_is_told() {
    /// The lines of one output that are changed.
    const LINES: usize = 40;
    let mut random = fastrand::Rng::with_seed(7);
    let (mut silent, mut changes) = (Vec::new(), 0);
    for path in outputs() {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let Some(before) = told(&text) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        let numbers: Vec<usize> =
            (0..lines.len()).filter(|&number| !lines[number].trim().is_empty()).collect();
        for number in random.choose_multiple(numbers, LINES) {
            let line = lines[number];
            let spaces = line.match_indices(' ').map(|(at, _)| at);
            let places: Vec<usize> =
                spaces.filter(|&at| !line[..at].trim().is_empty()).chain([line.len()]).collect();
            let at = random.choice(&places).copied().unwrap();
            let changed = format!("{} frobnicate{}", &line[..at], &line[at..]);
            let mut all = lines.clone();
            all[number] = &changed;
            changes += 1;
            let is_more = |(what, count): (&String, &u64)| before.get(what).is_none_or(|known| count > known);
            let is_silent = told(&all.join("\n")).is_some_and(|after| !after.iter().any(is_more));
            // A line that is left out is told once, whatever is in it.
            let mut is_left_out = || {
                all.remove(number);
                told(&all.join("\n"))
                    .is_none_or(|without| before.iter().any(|(what, _)| without.get(what) < before.get(what)))
            };
            if is_silent && !is_free(&path, line) && !is_left_out() {
                silent.push(format!("{}, line {}: {changed}", path.display(), number + 1));
            }
        }
    }
    println!("{changes} changes");
    assert!(silent.is_empty(), "not told:\n{}", silent.join("\n"));
}
