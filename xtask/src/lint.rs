//! The checks that do not run the code.

use crate::run::{DEFAULT_FEATURES, FEATURES, LARGE, cargo, cargo_of, run, with_features};
use crate::{aarch64, comments, dependencies, pages, setup};
use anyhow::Result;
use std::process::Command;

/// Checks formatting, the width of comments and pages, clippy, documentation, dependencies, and
/// that the library compiles for another architecture and with the least version of Rust.
pub(crate) fn all() -> Result<()> {
    style()?;
    clippy(cargo(&["clippy", "--workspace", "--all-targets", "--locked"]).args(FEATURES))?;
    // Without a feature other code is compiled only in libraries, in the command line and in one
    // test.
    let without = ["clippy", "--workspace", "--lib", "--bins", "--test", "without_features", "--locked"];
    clippy(cargo(&without).args(DEFAULT_FEATURES))?;
    // What someone gets who wants the library and as little else as possible.
    clippy(&mut cargo(&["clippy", "--package", "fibula", "--no-default-features", "--locked"]))?;
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked", "--profile", "quick"]);
    run(documentation.args(FEATURES).env("RUSTDOCFLAGS", "--deny warnings"))?;
    dependencies::check()?;
    aarch64::check()?;
    with_32_bits()?;
    least_rust()
}

/// Builds the library for processors of 32 bits. A check is not enough: it does not compute the
/// constants of generic code.
fn with_32_bits() -> Result<()> {
    setup::rust_target(setup::WITH_32_BITS)?;
    let build = ["build", "--package", "fibula", "--locked", "--profile", "quick"];
    run(cargo(&build).args(["--target", setup::WITH_32_BITS]))
}

/// Checks that the library compiles with the version of Rust that its manifest names.
fn least_rust() -> Result<()> {
    let check =
        ["check", "--package", "fibula", "--all-features", "--locked", "--target-dir", "target/least"];
    run(&mut cargo_of(&setup::least_rust()?, &check))
}

/// Checks formatting, the width of comments and pages, and the crates that are not
/// [large](LARGE) by clippy.
pub(crate) fn quick() -> Result<()> {
    style()?;
    let mut small = cargo(&["clippy", "--workspace", "--all-targets", "--locked"]);
    clippy(small.args(LARGE.iter().flat_map(|name| ["--exclude", name])))
}

/// Checks formatting, the width of comments and pages, and some crates by clippy.
pub(crate) fn of(crates: &[&str]) -> Result<()> {
    style()?;
    clippy(with_features("clippy", crates).arg("--all-targets"))
}

/// Checks formatting and the width of comments and pages.
fn style() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    comments::check()?;
    pages::check()
}

/// Runs clippy, for which a warning is an error. Its build scripts and macros are those of the
/// tests.
fn clippy(command: &mut Command) -> Result<()> {
    run(command.args(["--profile", "quick", "--", "--deny", "warnings"]))
}
