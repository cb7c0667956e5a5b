//! `cargo xtask test`: everything, in the order in which it is most likely to fail.

use crate::run::{PEERS, cargo, host, nightly, root, run};
use crate::{fuzz, instructions, lint, setup};
use anyhow::Result;
use std::process::Command;
use std::time::Instant;

/// What the tests consist of, each with its name.
const STAGES: [(&str, Stage); 7] = [
    ("what the tests need", setup::all),
    ("lint", lint::all),
    ("tests", tests),
    ("instructions", instructions::check),
    ("address sanitizer", address_sanitizer),
    ("thread sanitizer", thread_sanitizer),
    ("fuzzing", || fuzz::targets(fuzz::SECONDS, &[])),
];

type Stage = fn() -> Result<()>;

/// All checks and tests; stops at the first that fails.
pub(crate) fn all() -> Result<()> {
    let mut took = Vec::new();
    for (name, stage) in STAGES {
        let start = Instant::now();
        stage()?;
        took.push(format!("{name} {} s", start.elapsed().as_secs()));
    }
    println!("all good ({})", took.join(", "));
    Ok(())
}

/// Everything that runs as users run it.
fn tests() -> Result<()> {
    run(cargo(&["test", "--workspace", "--locked"]).args(PEERS))
}

/// What `unsafe` code does, with every access to memory checked. Engines and blocks must have none: what they read and write goes through
/// `memory` and `arch`, and a few tests of each show whether they use those as they may be used. Unoptimized, since optimizing
/// instrumented code for three widths and three instruction sets takes three times as long as all of this.
fn address_sanitizer() -> Result<()> {
    let units = ["arch::", "blocks::", "live::", "memory::", "snapshot::", "table_set::"];
    let units = [&units[..], &["--skip", "comes_back_at_every_width"]].concat();
    let tests: [(&[&str], &[&str]); 3] = [
        (&["--lib"], &units),
        (&["--test", "live"], &[]),
        (&["--test", "engines"], &["::w8::", "::last_address_in_every_lane"]),
    ];
    for (tests, chosen) in tests {
        let mut tests = sanitized(tests)?;
        // Wrong accesses show in few cases; the many are for wrong answers, and have been run before.
        run(tests
            .arg("--")
            .args(chosen)
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
            .env("PROPTEST_CASES", "2"))?;
    }
    Ok(())
}

/// Readers and a writer at once, with every access checked against every other thread's.
fn thread_sanitizer() -> Result<()> {
    let suppressions = root().join("crates/fibula/tests/thread_sanitizer.txt");
    let mut tests = sanitized(&["--test", "live"])?;
    run(tests
        .env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer")
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display())))
}

/// Some of the library's tests by the toolchain that has sanitizers.
fn sanitized(tests: &[&str]) -> Result<Command> {
    let host = host()?;
    let mut arguments = vec!["test", "--package", "fibula"];
    arguments.extend(tests);
    arguments.extend(["--locked", "--target", &host, "--target-dir", "target/sanitizer"]);
    Ok(nightly(&arguments))
}
