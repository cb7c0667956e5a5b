//! The Python package: built as a wheel, installed into an environment under target/, and tested
//! there.

use crate::run::{root, run, works};
use crate::setup::debian;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The packages that the tests need, with their versions.
const REQUIREMENTS: &str = "python/requirements.txt";

/// Where wheels are built.
const WHEELS: &str = "target/wheels";

/// The environment. Nothing outside the tree changes.
fn environment() -> PathBuf {
    root().join("target/python")
}

/// A program of the environment, run in the package's folder.
fn tool(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(environment().join("bin").join(name));
    command.args(arguments).current_dir(root().join("python"));
    command
}

/// Creates the environment, and installs what the tests need if the list of it has changed.
pub(crate) fn set_up() -> Result<()> {
    let installed = environment().join("requirements.txt");
    let wanted = root().join(REQUIREMENTS);
    let text = std::fs::read_to_string(&wanted).context(REQUIREMENTS)?;
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    if !works("python3", &["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 10)"]) {
        debian("Python 3.10 or newer with venv", &["python3", "python3-venv"])?;
    }
    println!("installing {REQUIREMENTS} under target/python");
    run(Command::new("python3").args(["-m", "venv"]).arg(environment()))?;
    let mut install = tool("pip", &["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    run(install.arg(&wanted)).context("is the registry of Python packages reachable?")?;
    std::fs::write(&installed, text).context("cannot write into target/python")
}

/// Checks the Python code, builds the wheel and tests it. Warnings are errors.
pub(crate) fn test() -> Result<()> {
    run(&mut tool("ruff", &["check"]))?;
    run(&mut tool("ruff", &["format", "--check"]))?;
    let wheels = root().join(WHEELS);
    // An old wheel of another name would be installed too.
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).context(WHEELS)?;
    }
    let mut build = tool("maturin", &["build", "--locked", "--quiet", "--out"]);
    run(build.arg(&wheels).env("CARGO_INCREMENTAL", "0"))?;
    let mut install = tool("pip", &["install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    install.args(["--force-reinstall", "--no-index", "--find-links"]).arg(&wheels).arg("fibula");
    run(&mut install)?;
    run(&mut tool("mypy", &["fibula"]))?;
    run(&mut tool("pytest", &["--quiet"]))
}
