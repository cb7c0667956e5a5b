//! The ledger on the evidence of this tree.

use fibula_kit::Evidence;
use fibula_papers::{Judged, PAPERS, Verdict, judge_all, tallies};
use std::path::{Path, PathBuf};

/// Returns the evidence of the tree, by the files' names without endings.
fn evidence(name: &str) -> Evidence {
    read(&folder().join(format!("{name}.jsonl")))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence")
}

fn read(path: &Path) -> Evidence {
    Evidence::read(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn papers() -> Vec<Evidence> {
    PAPERS.into_iter().map(|paper| evidence(paper.name)).collect()
}

#[test]
fn verdicts_in_the_tree_are_those_of_its_evidence() {
    let mut expected = Evidence::default();
    expected.add(judge_all(&papers()).unwrap()).unwrap();
    // Numbers are read as those of the file are.
    let expected = Evidence::read(&expected.text().unwrap()).unwrap();
    let mut written = evidence("claims").rows;
    written.retain(|row| row.contains_key("claim"));
    assert_eq!(written.len(), expected.rows.len());
    for (written, expected) in written.iter().zip(&expected.rows) {
        assert_eq!(written, expected, "make docs/evidence/claims.jsonl again by `fibula study claims`");
    }
}

#[test]
fn the_set_of_files_changes_no_tally() {
    let expected = tallies(&judge_all(&papers()).unwrap());
    let all = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    all.sort();
    for _ in 0..2 {
        let evidence: Vec<Evidence> = all.iter().map(|path| read(path)).collect();
        assert_eq!(tallies(&judge_all(&evidence).unwrap()), expected);
        all.reverse();
    }
}

#[test]
fn what_fails_under_the_papers_conditions_says_why() {
    for Judged { paper, says, verdict, reason, .. } in judge_all(&papers()).unwrap() {
        let is_final = matches!(verdict, Verdict::Refuted | Verdict::InconsistentWithinThePaper);
        assert!(!is_final || reason.is_some(), "{paper}: {says} {verdict} without a reason in the ledger");
    }
}

/// Prints the verdicts that are not those of most claims, for who edits the ledger:
/// `cargo test -p fibula-papers --test ledger -- --ignored --nocapture`.
#[test]
#[ignore = "prints alone"]
fn the_verdicts_that_are_against_a_claim() {
    let judged = judge_all(&papers()).unwrap();
    for Judged { paper, claim, says, rule, verdict, differs, hold, decide, measured, unit, model, .. } in
        &judged
    {
        if verdict.fails() || model.is_some() {
            println!(
                "{paper} {claim}\t{verdict} [{differs:?}] {model:?} {hold}/{decide} {measured:?} {unit:?}\t{says}\t{rule}"
            );
        }
    }
    for tally in tallies(&judged) {
        println!("{tally:?}");
    }
}
