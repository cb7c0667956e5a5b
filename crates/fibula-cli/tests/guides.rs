//! The examples of the pages on the command are run by a shell, and print what the pages say. A
//! file that a page shows by `cat` is made of what it shows.
#![cfg(all(unix, feature = "enrich"))]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The pages, in the order in which a reader meets their files.
const PAGES: [&str; 4] = ["README.md", "docs/commands.md", "docs/tables.md", "docs/enrich.md"];

#[test]
fn the_pages_print_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_fibula")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut differences = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let blocks = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let examples: Vec<&str> = blocks.flat_map(|block| block[2..].split("\n$ ")).collect();
        assert!(!examples.is_empty(), "{page} has no example");
        for example in examples {
            let (command, expected) = example.split_once('\n').unwrap();
            let expected = expected.trim_end();
            let shown = command.strip_prefix("cat ").map(|name| folder.path().join(name));
            if let Some(file) = shown.filter(|file| !file.exists()) {
                fs::write(file, format!("{expected}\n")).unwrap();
                continue;
            }
            let mut shell = Command::new("sh");
            let output = shell
                .args(["-c", &format!("exec 2>&1; {command}")])
                .current_dir(&folder)
                .env("PATH", &path)
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            if printed.trim_end() != expected {
                differences.push(format!("{page}: $ {command}\n{printed}"));
            }
        }
    }
    assert!(differences.is_empty(), "otherwise than written:\n{}", differences.concat());
}
