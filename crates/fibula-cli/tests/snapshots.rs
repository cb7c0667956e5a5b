//! `fibula build`, and the commands that read its files.
//!
//! ```text
//!   edge.txt --fibula build--> table.fib --fibula lookup--> answers
//!                 |  kill -9 at any moment:
//!                 v  the old table.fib or the new one
//! ```

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const EDGE: &str = "tests/fixtures/edge.txt";
const LATER: &str = "tests/fixtures/edge-later.txt";

fn fibula(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = fibula(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn build<'p>(table: &'p str, output: &'p Path) -> [&'p str; 9] {
    let output = output.to_str().unwrap();
    ["build", "-t", table, "--family", "ipv4", "-e", "poptrie/s=16", "-o", output]
}

#[test]
fn a_snapshot_answers_as_its_table_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    let file = path.to_str().unwrap();
    let arguments = build(EDGE, &path);
    let addresses = ["10.1.9.9", "8.8.8.8", "10.2.0.1"];

    let with_routes = [&arguments[..], &["--rib"]].concat();
    assert_eq!(run(&with_routes).0, Some(0));
    for options in [&["--all"][..], &["--format", "csv"], &["--all", "--format", "json-line"], &[]] {
        let of = |table| run(&[&["lookup", "-t", table], options, &addresses].concat());
        assert_eq!(of(file), of(EDGE));
    }
    let stats = run(&["table", "stats", file, "--format", "csv"]);
    assert_eq!((stats.0, stats.2.as_str()), (Some(0), ""));

    assert_eq!(run(&arguments).0, Some(0)); // without routes, in its place
    let (code, said, _) = run(&[&["lookup", "-t", file][..], &addresses, &["::1"]].concat());
    let table = run(&[&["lookup", "-t", EDGE][..], &addresses].concat()).1;
    let without_prefixes = table.lines().map(|line| line.split(" prefix ").next().unwrap());
    assert_eq!(code, Some(0));
    assert!(said.lines().eq(without_prefixes.chain(["::1 has no route"])), "{said}");
    let (code, _, said) = run(&["verify", "-t", file]);
    assert_eq!((code, said), (Some(2), format!("fibula: {file}, byte 0: a snapshot without its routes\n")));
}

#[test]
fn a_damaged_snapshot_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    let file = path.to_str().unwrap();
    assert_eq!(run(&build(EDGE, &path)).0, Some(0));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (code, said, why) = run(&["lookup", "-t", file, "10.0.0.1"]);
    let expected = "damaged: section \"direct table\" does not have its checksum";
    assert_eq!((code, said.as_str(), why), (Some(2), "", format!("fibula: {file}: {expected}\n")));
    fs::write(&path, &bytes[..middle]).unwrap();
    let why = run(&["lookup", "-t", file, "10.0.0.1"]).2;
    assert_eq!(
        why,
        format!("fibula: {file}: cut short or grown: {middle} bytes, expected {}\n", bytes.len())
    );
}

/// A process has the file mapped while another `fibula build` replaces it: the first goes on with
/// the whole old table, and whoever comes later has the new one.
#[test]
fn a_file_that_is_mapped_is_replaced_and_never_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    let file = path.to_str().unwrap();
    assert_eq!(run(&build(EDGE, &path)).0, Some(0));
    let answers = |table: &str| run(&["lookup", "-t", table, "10.1.9.9"]).1;
    let old = answers(file);
    let mut reader =
        fibula(&["lookup", "-t", file, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut addresses = reader.stdin.take().unwrap();
    let mut said = BufReader::new(reader.stdout.take().unwrap());
    let mut ask = || {
        writeln!(addresses, "10.1.9.9").unwrap();
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        line
    };
    let before = ask();
    for round in 0..5 {
        let table = [LATER, EDGE][round % 2];
        assert_eq!(run(&build(table, &path)).0, Some(0));
        assert_eq!(ask(), before, "round {round}");
    }
    assert_ne!(answers(file), old, "the last build was of the other table");
    drop(addresses);
    assert_eq!(reader.wait().unwrap().code(), Some(0));
}

#[test]
fn a_snapshot_has_both_families() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    let file = path.to_str().unwrap();
    let (code, rows, _) = run(&["build", "-t", EDGE, "-o", file, "--format", "csv", "--rib"]);
    let families: Vec<_> = rows.lines().skip(1).filter_map(|row| row.split(',').nth(1)).collect();
    assert_eq!((code, families), (Some(0), vec!["ipv4", "ipv6"]));
    let of = |table| run(&["lookup", "-t", table, "10.1.9.9", "8.8.8.8", "2001:db8::1", "::1"]);
    assert_eq!(of(file), of(EDGE));
}

/// A build that is killed at a random moment, 200 times: the file is the whole old one or the whole
/// new one.
#[test]
fn a_kill_at_any_moment_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    let start = Instant::now();
    let [old, new] = [EDGE, LATER].map(|table| {
        assert_eq!(run(&build(table, &path)).0, Some(0));
        fs::read(&path).unwrap()
    });
    let longest = start.elapsed() / 2;
    assert_ne!(old, new);
    let mut current = &new;
    let mut seen = [0, 0];
    for round in 0..200_u32 {
        let (table, next) = if current == &new { (EDGE, &old) } else { (LATER, &new) };
        let mut child = fibula(&build(table, &path)).stdout(Stdio::null()).spawn().unwrap();
        // Multiples of the golden ratio are spread evenly.
        let moment = f64::from(round) * 0.618_033_988_749 % 1.0;
        std::thread::sleep(longest.mul_f64(moment) + Duration::from_micros(100));
        let _ = child.kill(); // it may be done
        child.wait().unwrap();
        let found = fs::read(&path).unwrap();
        assert!(&found == current || &found == next, "round {round}: neither the old nor the new file");
        seen[usize::from(&found == next)] += 1;
        current = if &found == next { next } else { current };
    }
    assert!(seen[0] > 0, "no build was killed in time: {seen:?}");
}
