//! `cargo xtask test`: everything, in the order in which it is most likely to fail.

use crate::run::{DEFAULT_FEATURES, FEATURES, cargo, host, nightly, run};
use crate::{aarch64, api, fuzz, instructions, lint, packages, setup};
use anyhow::Result;
use std::process::Command;
use std::time::Instant;

/// The stages of the tests, each with its name.
const STAGES: [(&str, Stage); 10] = [
    ("what the tests need", setup::all),
    ("lint", lint::all),
    ("packages", packages::check),
    ("public surface", api::check),
    ("tests", tests),
    ("instructions", instructions::check),
    ("64-bit Arm", aarch64::test),
    ("address sanitizer", address_sanitizer),
    ("thread sanitizer", thread_sanitizer),
    ("fuzzing", || fuzz::targets(fuzz::SECONDS, &[])),
];

/// The stages of what one runs before a commit.
const QUICK: [(&str, Stage); 2] = [("lint", lint::code), ("unit tests", unit_tests)];

type Stage = fn() -> Result<()>;

/// Runs all checks and tests. Stops at the first that fails.
pub(crate) fn all() -> Result<()> {
    stages(&STAGES)
}

/// Runs what one runs before a commit: formatting, clippy and the unit tests, with few cases each.
pub(crate) fn quick() -> Result<()> {
    stages(&QUICK)
}

/// Runs stages one after the other and prints what each took.
fn stages(stages: &[(&str, Stage)]) -> Result<()> {
    let mut took = Vec::new();
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    for (name, stage) in stages {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        stage()?;
        took.push((*name, start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start));
    }
    took.push(("all", start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start));
    println!("{:<20} {:>7} {:>7}", "all good", "wall s", "CPU s");
    for (name, wall, cpu) in took {
        println!("{name:<20} {wall:>7.0} {cpu:>7.0}");
    }
    Ok(())
}

/// Returns the processor time of all programs that have ended so far, in seconds; 0 where the
/// system does not tell.
fn cpu_seconds() -> f64 {
    /// The unit in which Linux tells it.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses: the state is field 3, user and system time of children 16, 17.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields = after_name.split(' ').skip(13).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
}

/// Runs everything as users run it.
fn tests() -> Result<()> {
    run(cargo(&["test", "--workspace", "--locked"]).args(FEATURES))?;
    let mut without = cargo(&["test", "--workspace", "--test", "without_features", "--locked"]);
    run(without.args(DEFAULT_FEATURES))
}

/// Runs the unit tests of all crates, not optimized and with few cases each.
fn unit_tests() -> Result<()> {
    let mut tests = cargo(&["test", "--workspace", "--lib", "--bins", "--locked", "--profile", "quick"]);
    run(tests.args(FEATURES).env("PROPTEST_CASES", "4"))
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
        (&["--test", "engines"], &["::w8::random", "::w8::empty", "::last_address_in_every_lane"]),
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

/// Runs readers and a writer at once, with every access checked against every other thread's. The
/// standard library is built with the sanitizer too: else it would not see how locks and channels
/// order what they hand over.
fn thread_sanitizer() -> Result<()> {
    let mut tests = sanitized(&["-Zbuild-std", "--test", "live"])?;
    run(tests.env("RUSTFLAGS", "-Zsanitizer=thread").env("CARGO_PROFILE_TEST_OPT_LEVEL", "0"))
}

/// Runs some of the library's tests with the toolchain that has sanitizers.
fn sanitized(tests: &[&str]) -> Result<Command> {
    let host = host()?;
    let mut arguments = vec!["test", "--package", "fibula"];
    arguments.extend(tests);
    arguments.extend(["--locked", "--target", &host, "--target-dir", "target/sanitizer"]);
    Ok(nightly(&arguments))
}
