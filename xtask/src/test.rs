//! `cargo xtask test`: everything, in the order in which it is most likely to fail.

use crate::run::{PEERS, cargo, host, nightly, root, run};
use crate::{fuzz, instructions, lint, setup};
use anyhow::Result;
use std::process::Command;
use std::time::Instant;

/// The steps of the tests, each with its name.
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

/// Runs all checks and tests. Stops at the first that fails.
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

/// Runs everything as users run it.
fn tests() -> Result<()> {
    run(cargo(&["test", "--workspace", "--locked"]).args(PEERS))
}

/// Runs the `unsafe` code with every memory access checked. Engines and blocks have none: they read
/// and write through `memory` and `arch`. A few tests of each show whether they use those
/// correctly. The build is not optimized, since optimizing instrumented code for three widths and
/// three instruction sets takes three times as long as all of this.
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
        // Wrong accesses show in few cases. The other cases look for wrong answers, and have run
        // before.
        run(tests
            .arg("--")
            .args(chosen)
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
            .env("PROPTEST_CASES", "2"))?;
    }
    Ok(())
}

/// Runs readers and a writer at once, with every access checked against every other thread's.
fn thread_sanitizer() -> Result<()> {
    let suppressions = root().join("crates/fibula/tests/thread_sanitizer.txt");
    let mut tests = sanitized(&["--test", "live"])?;
    run(tests
        .env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer")
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display())))
}

/// Runs some of the library's tests with the toolchain that has sanitizers.
fn sanitized(tests: &[&str]) -> Result<Command> {
    let host = host()?;
    let mut arguments = vec!["test", "--package", "fibula"];
    arguments.extend(tests);
    arguments.extend(["--locked", "--target", &host, "--target-dir", "target/sanitizer"]);
    Ok(nightly(&arguments))
}
