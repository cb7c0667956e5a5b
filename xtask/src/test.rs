//! `cargo xtask test`: everything, in the order in which it is most likely to fail.

use crate::run::{PEERS, cargo, host, nightly, root, run};
use crate::{fuzz, instructions, lint, setup};
use anyhow::Result;
use std::process::Command;

/// All checks and tests; stops at the first that fails.
pub(crate) fn all() -> Result<()> {
    setup::all()?;
    lint::all()?;
    run(cargo(&["test", "--workspace", "--locked"]).args(PEERS))?;
    instructions::check()?;
    address_sanitizer()?;
    thread_sanitizer()?;
    fuzz::targets(fuzz::SECONDS, &[])?;
    println!("all good");
    Ok(())
}

/// The library's unit tests and the engine suite, with every access to memory checked.
fn address_sanitizer() -> Result<()> {
    let mut tests = sanitized(&["--lib", "--tests"])?;
    // Wrong accesses show in few cases; the many are for wrong answers, and have been run before: of the three widths the
    // narrowest and the widest. Instrumented code takes longer to optimize than to run.
    run(tests
        .args(["--", "--skip", "::w16::"])
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
        .env("PROPTEST_CASES", "8"))
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
