//! The figures of `fibula demo` in the README are those that the program prints.

use std::process::Command;

const README: &str = include_str!("../../../README.md");

/// Returns what is between `before` and `after` in `text`.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    found.unwrap_or_else(|| panic!("no {before:?} and {after:?} in:\n{text}")).0
}

/// Compares what does not depend on the machine: routes, bytes, and the number of answers checked.
/// As many addresses as by default are streamed, and few passes over them.
#[test]
fn the_figures_of_the_demo_are_those_of_the_readme() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_fibula"));
    let run = demo.args(["demo", "--lookups", "10000000"]).output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{printed}");
    for family in ["IPv4", "IPv6"] {
        let part = between(&printed, &format!("\n{family}: "), "\n\n");
        let prefixes = part.split_once(" prefixes").unwrap().0;
        let memory = between(part, " ms: ", ", ");
        let bytes = between(part, " MB, ", " bytes a prefix");
        let checked = between(part, "checked    ", " answers against the oracle: all right");
        let row = format!("| {family} | {prefixes} | {memory} | {bytes} | {checked} |");
        assert!(README.lines().any(|line| line == row), "the README has no line {row}");
    }
}
