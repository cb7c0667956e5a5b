//! `fibula table map` into files: whole ones of the format that their name says, and nothing else.
#![cfg(feature = "map")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Draws a table of the fixtures. Returns the exit status.
fn draw(table: &str, file: &Path) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(["table", "map", "--size", "256", "-t"]).arg(format!("tests/fixtures/{table}"));
    command.arg("-o").arg(file).output().unwrap().status.code()
}

#[test]
fn the_name_of_the_file_says_the_format() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begins, ends) in [
        ("map.png", &b"\x89PNG\r\n\x1a\n"[..], &b"IEND\xae\x42\x60\x82"[..]),
        ("map.SVG", b"<svg ", b"</svg>\n"),
    ] {
        let file = folder.path().join(name);
        assert_eq!(draw("edge.txt", &file), Some(0));
        let image = fs::read(&file).unwrap();
        assert!(image.starts_with(begins) && image.ends_with(ends), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_table_that_cannot_be_read_leaves_the_old_picture() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.png");
    fs::write(&file, "old").unwrap();
    assert_eq!(draw("damaged.txt", &file), Some(2));
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
