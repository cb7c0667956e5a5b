//! Files, and what can happen to them.

use super::{Expected, Source};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Returns a file of 40 routes with a version, or the first of them.
pub(super) fn table(version: u64, routes: usize) -> String {
    let lines: Vec<String> = (0..routes).map(|at| format!("10.{at}.0.0/16 {version}\n")).collect();
    lines.concat()
}

/// Puts something in the place of a file.
fn put(path: &Path, make: impl FnOnce(&Path)) {
    let beside = path.with_extension("beside");
    make(&beside);
    // No file takes the place of a directory by a rename.
    if path.is_dir() {
        fs::remove_dir(path).unwrap();
    }
    if beside.is_dir() {
        let _ = fs::remove_file(path);
    }
    fs::rename(beside, path).unwrap();
}

pub(super) fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Does one thing to a file. Returns what it is, and what its table is after it.
pub(super) fn harm_file(
    source: &Source,
    path: &Path,
    before: Expected,
    dice: u32,
) -> (&'static str, Expected) {
    let (Expected::Ok(version) | Expected::Stale(version)) = before else {
        unreachable!("a file is never empty")
    };
    let stale = Expected::Stale(version);
    let write = |text: String| put(path, |beside| fs::write(beside, text).unwrap());
    match dice {
        0 => write(String::new()),
        1 => write(table(version + 1000, 15)),
        2 => write(format!("{}garbage\n", table(version + 1000, 20))),
        3 => put(path, make_pipe),
        4 => put(path, |beside| symlink("/dev/zero", beside).unwrap()),
        5 => put(path, |beside| fs::create_dir(beside).unwrap()),
        6 => {
            if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }.unwrap();
            // Others expect that there is something.
            put(path, |beside| symlink("nowhere", beside).unwrap());
            return ("a file was deleted", stale);
        }
        _ => {
            let next = source.next();
            write(table(next, 40));
            return ("a file was replaced", Expected::Ok(next));
        }
    }
    ("a file was harmed", stale)
}
