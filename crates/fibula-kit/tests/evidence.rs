//! The files of evidence are those of the list of steps, and not much older than their engines.

use fibula_kit::Evidence;
use fibula_kit::steps::{STEPS, Step, Way};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most commits that may have changed the sources of a file since it was made.
const MOST_CHANGES: usize = 40;

/// Files that are older, or whose commit is not known: they say nothing of the engines of today.
const TO_MAKE_AGAIN: [&str; 0] = [];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn the_steps_make_every_file_of_evidence() {
    let files = std::fs::read_dir(root().join("docs/evidence")).unwrap();
    let there: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let listed: BTreeSet<String> = STEPS.iter().map(|step| step.file.to_owned()).collect();
    assert_eq!(there, listed);
    assert_eq!(listed.len(), STEPS.len(), "a file is of two steps");
    for Step { file, way, sources, .. } in STEPS {
        for source in *sources {
            assert!(root().join(source).exists(), "{file} speaks of {source}, which is not there");
        }
        match way {
            Way::Page(page) => {
                assert!(read(page).contains(&format!("\nto {file}\n")), "{page} does not draw {file}");
            }
            Way::Claims(papers) => {
                let is_made = |paper: &str| STEPS.iter().any(|step| step.name() == paper);
                assert!(papers.iter().all(|paper| is_made(paper)), "{papers:?}");
            }
            Way::Study { .. } | Way::Command(_) => {
                let header = Evidence::read(&read(&format!("docs/evidence/{file}"))).unwrap().header;
                assert!(!header.command.is_empty() && !header.date.is_empty(), "{file}: {header:?}");
            }
        }
    }
}

/// Returns what git prints in the checkout, if it can.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn no_file_is_much_older_than_what_it_speaks_of() {
    for Step { file, sources, .. } in STEPS.iter().filter(|step| !step.sources.is_empty()) {
        let header = Evidence::read(&read(&format!("docs/evidence/{file}"))).unwrap().header;
        let commit = header.commit.trim_end_matches("-dirty");
        let listed = TO_MAKE_AGAIN.contains(file);
        if commit.is_empty() {
            assert!(listed, "{file} names no commit: `fibula study all` makes it again");
            continue;
        }
        let range = format!("{commit}..HEAD");
        let Some(log) = git(&[&["log", "--oneline", &range, "--"], *sources].concat()) else {
            println!("{file}: the history of this checkout does not reach back to {commit}: not compared");
            continue;
        };
        let changes = log.lines().count();
        println!("{file}: {changes} changes of its sources since {commit}");
        assert_eq!(
            changes > MOST_CHANGES,
            listed,
            "{file}: {changes} commits since {commit} changed {sources:?}, and at most {MOST_CHANGES} may: \
             make it again by `fibula study all`, and keep TO_MAKE_AGAIN true"
        );
    }
}
