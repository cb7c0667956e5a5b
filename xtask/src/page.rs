//! The page of `fibula serve`: the module that reads dropped files, and the page in a browser.

use crate::run::{FEATURES, cargo, program_of, root, run, works};
use crate::{python, setup};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable by which `fibula-serve` takes the module.
pub(crate) const VARIABLE: &str = "FIBULA_PAGE_MODULE";

/// WebAssembly with a clock and random numbers, which the page gives it.
const TARGET: &str = "wasm32-wasip1";

/// What drives the browser, and what finds faults of accessibility.
const REQUIREMENTS: &str = "crates/fibula-page/tests/requirements.txt";

/// Builds the module for the tests, as fast as it compiles. Returns where it is.
pub(crate) fn module() -> Result<PathBuf> {
    of_profile("quick", |build| build)
}

/// Builds the module as it is handed out, with what is added to the command that builds it. Returns
/// where it is.
pub(crate) fn module_by(adding: impl Fn(&mut Command) -> &mut Command) -> Result<PathBuf> {
    of_profile("page", adding)
}

fn of_profile(profile: &str, adding: impl Fn(&mut Command) -> &mut Command) -> Result<PathBuf> {
    setup::rust_target(TARGET)?;
    setup::clang()?;
    let mut build = cargo(&["rustc", "--package", "fibula-page", "--lib", "--crate-type", "cdylib"]);
    build.args(["--profile", profile, "--target", TARGET, "--locked", "--target-dir", "target"]);
    // Zstandard's C has the few functions of a system that it calls in its own headers.
    run(adding(build.env("CFLAGS_wasm32_wasip1", "-ffreestanding")))?;
    Ok(root().join("target").join(TARGET).join(profile).join("fibula_page.wasm"))
}

/// Installs the browser and what drives it.
pub(crate) fn set_up() -> Result<()> {
    if !works("chromium", &["--version"]) {
        setup::debian("Chromium", &["chromium"])?;
    }
    python::install(REQUIREMENTS, None)
}

/// Drives the page of the program that the tests have built.
pub(crate) fn test() -> Result<()> {
    with(&module()?)
}

/// Drives the page of a program with the module that is handed out.
pub(crate) fn test_shipped() -> Result<()> {
    with(&module_by(|build| build)?)
}

/// Builds a program that has a module, and drives its page in a browser.
fn with(module: &Path) -> Result<()> {
    set_up()?;
    // The one that the tests run: `cargo build` would compile all without what only tests need.
    let mut build = cargo(&["test", "--no-run", "--test", "serve", "--workspace", "--locked"]);
    let program = program_of(build.args(FEATURES).env(VARIABLE, module), "fibula")?;
    let mut tests = python::tool("pytest", &["--quiet", "../crates/fibula-page/tests"]);
    run(tests.env("FIBULA", program)).context("the page in a browser")
}

/// Builds the module as it is handed out, and prints where it is.
pub(crate) fn build() -> Result<()> {
    println!("{}", module_by(|build| build)?.display());
    Ok(())
}
