//! `cargo xtask test`: everything, in the order in which it is most likely to fail.

use crate::run::{cargo, host, nightly, run};
use crate::{fuzz, instructions, lint, setup};
use anyhow::Result;

/// All checks and tests; stops at the first that fails.
pub(crate) fn all() -> Result<()> {
    setup::all()?;
    lint::all()?;
    run(&mut cargo(&["test", "--workspace", "--locked"]))?;
    run(&mut cargo(&["test", "--package", "fibula-peers", "--features", "crates", "--locked"]))?;
    instructions::check()?;
    address_sanitizer()?;
    fuzz::targets(fuzz::SECONDS, &[])?;
    println!("all good");
    Ok(())
}

/// The library's unit tests and the engine suite, with every access to memory checked.
fn address_sanitizer() -> Result<()> {
    let host = host()?;
    let arguments = [
        "test",
        "--package",
        "fibula",
        "--lib",
        "--tests",
        "--locked",
        "--target",
        &host,
        "--target-dir",
        "target/sanitizer",
    ];
    let mut tests = nightly(&arguments);
    // Wrong accesses show in few cases; the many are for wrong answers, and have been run before. Instrumented code takes
    // longer to optimize than to run.
    run(tests
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
        .env("PROPTEST_CASES", "8"))
}
