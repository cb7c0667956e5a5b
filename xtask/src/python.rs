//! The Python package: built as a wheel, installed into an environment under target/, and tested
//! there. So is DuckDB's extension, which Python loads.

use crate::duckdb;
use crate::run::{root, run, works};
use crate::setup::debian;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The packages that the tests need, with their versions.
const REQUIREMENTS: &str = "python/requirements.txt";

/// An earlier release of DuckDB, which is installed into a folder of its own.
const EARLIER_DUCKDB: &str = "python/requirements-duckdb.txt";

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

/// The folder of the earlier release of DuckDB.
fn earlier_duckdb() -> PathBuf {
    environment().join("earlier-duckdb")
}

/// Creates the environment, and installs what the tests need where the lists of it have changed.
pub(crate) fn set_up() -> Result<()> {
    if !works("java", &["-version"]) {
        debian("Java for Spark", &["default-jre-headless"])?;
    }
    install(REQUIREMENTS, None)?;
    install(EARLIER_DUCKDB, Some(earlier_duckdb()))
}

/// Installs what a list names, unless that was done before: into the environment, or without
/// dependencies into a folder of its own.
fn install(list: &str, folder: Option<PathBuf>) -> Result<()> {
    let wanted = root().join(list);
    let installed = environment().join(wanted.file_name().context("a list is a file")?);
    let text = std::fs::read_to_string(&wanted).with_context(|| list.to_owned())?;
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    if !works("python3", &["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 10)"]) {
        debian("Python 3.10 or newer with venv", &["python3", "python3-venv"])?;
    }
    println!("installing {list} under target/python");
    run(Command::new("python3").args(["-m", "venv"]).arg(environment()))?;
    let mut install = tool("pip", &["install", "--quiet", "--disable-pip-version-check"]);
    install.arg("--requirement").arg(&wanted);
    if let Some(folder) = folder {
        // What another list has installed there could still be imported.
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        install.args(["--no-deps", "--target"]).arg(folder);
    }
    run(&mut install).context("is the registry of Python packages reachable?")?;
    std::fs::write(&installed, text).context("cannot write into target/python")
}

/// Checks the Python code, builds the wheel and DuckDB's extension, and tests them. Warnings are
/// errors.
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
    duckdb::build()?;
    run(&mut tool("pytest", &["--quiet"]))?;
    let mut earlier = tool("pytest", &["--quiet", "tests/test_duckdb_extension.py"]);
    run(earlier.env("PYTHONPATH", earlier_duckdb()))
}
