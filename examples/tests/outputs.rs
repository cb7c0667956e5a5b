//! Runs every example, and compares what it prints with the block of text on its page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the block of text on the page at the top of a program.
fn page(source: &str) -> String {
    let page = source.lines().map_while(|line| line.strip_prefix("//!"));
    let block =
        page.skip_while(|line| line.trim() != "```text").skip(1).take_while(|line| line.trim() != "```");
    block.flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect()
}

/// Returns the program that was built for an example: in the folder `examples` beside that of the
/// tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    built.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn every_example_prints_what_its_page_says() {
    let mut names: Vec<String> = fs::read_dir(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}.rs"));
        let expected = page(&fs::read_to_string(source).unwrap());
        assert!(!expected.is_empty(), "{name}: no block of text on its page");
        let output = Command::new(program(&name))
            .output()
            .unwrap_or_else(|error| panic!("{name}: {error} (cargo test -p fibula-examples builds it)"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{errors}", output.status);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}");
    }
}
