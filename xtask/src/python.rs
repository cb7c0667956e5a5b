//! The Python package: its module is built as the tests are, put beside its Python code under
//! target/, and tested there, and again where nothing else is installed. So is DuckDB's extension,
//! which Python loads. `cargo xtask dist` builds wheels, and `dist --try` installs one.

use crate::duckdb;
use crate::run::{FEATURES, cargo, host, libraries_of, nightly, output, root, run, works};
use crate::setup::debian;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages that the tests need, with their versions.
const REQUIREMENTS: &str = "python/requirements.txt";

/// Earlier releases of what the package is part of: the list of each, the folder of the environment
/// that it is installed into, and the tests that run with it.
const EARLIER: [(&str, &str, &str); 2] = [
    ("python/requirements-duckdb.txt", "earlier-duckdb", "tests/test_duckdb_extension.py"),
    ("python/requirements-polars.txt", "earlier-polars", "tests/test_polars.py"),
];

/// The tests of the page, which are Python too.
const PAGE: &str = "../crates/fibula-page/tests";

/// The tests that cannot run with the sanitizer: one of where packages are, one of the memory that
/// calls leave, which it keeps, and those that run Java.
const UNSANITIZED: [&str; 6] = [
    "--deselect",
    "tests/test_duckdb_extension.py::test_the_release",
    "--deselect",
    "tests/test_threads.py::test_a_million_calls_leave_no_memory",
    "--ignore",
    "tests/test_spark.py",
];

/// The environment. Nothing outside the tree changes.
fn environment() -> PathBuf {
    root().join("target/python")
}

/// A program of the environment, run in the package's folder.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(environment().join("bin").join(name));
    command.args(arguments).current_dir(root().join("python"));
    command
}

/// An environment with nothing but the package.
fn bare() -> PathBuf {
    root().join("target/python-bare")
}

/// What runs there: the package needs no other one.
const BARE: &str = "
import importlib.util, pathlib, tempfile, fibula
found = [name for name in ('numpy', 'pyarrow', 'polars') if importlib.util.find_spec(name)]
assert not found, found
table = fibula.Table({'8.8.8.0/24': 'dns', '2001:db8::/32': 'doc'})
assert table['8.8.8.8'] == 'dns'
assert table.lookup(['2001:db8::1', '::1']) == ['doc', None]
path = pathlib.Path(tempfile.mkdtemp()) / 'table.fib'
table.to_fib(path, family=4)
assert fibula.open(path)['8.8.8.8'] == 'dns'
path.unlink()
path.parent.rmdir()
";

/// Creates the environment, and installs what the tests need where the lists of it have changed.
pub(crate) fn set_up() -> Result<()> {
    if !works("java", &["-version"]) {
        debian("Java for Spark", &["default-jre-headless"])?;
    }
    install(REQUIREMENTS, None)?;
    EARLIER.iter().try_for_each(|(list, folder, _)| install(list, Some(environment().join(folder))))
}

/// Installs what a list names, unless that was done before: into the environment, or without
/// dependencies into a folder of its own.
pub(crate) fn install(list: &str, folder: Option<PathBuf>) -> Result<()> {
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

/// Checks the Python code, builds the package and DuckDB's extension, and tests them. Warnings are
/// errors.
pub(crate) fn test() -> Result<()> {
    run(&mut tool("ruff", &["check", ".", PAGE]))?;
    run(&mut tool("ruff", &["format", "--check", ".", PAGE]))?;
    run(&mut tool("mypy", &["fibula"]))?;
    // The libraries that the tests of both crates have beside them.
    let mut build =
        cargo(&["test", "--no-run", "--test", "module", "--test", "library", "--workspace", "--locked"]);
    let built = libraries_of(build.args(FEATURES), ["_fibula", "fibula_duckdb"])?;
    let package = package("target/python/package", &built[0])?;
    duckdb::pack(&built[1], duckdb::EXTENSION)?;
    import_from(&environment().join("bin/python"), &package)?;
    run(&mut tool("pytest", &["--quiet"]))?;
    for (_, folder, tests) in EARLIER {
        run(tool("pytest", &["--quiet", tests]).env("PYTHONPATH", environment().join(folder)))?;
    }
    let bare = bare();
    run(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&bare))?;
    let bare_python = bare.join("bin/python");
    import_from(&bare_python, &package)?;
    run(Command::new(bare_python).args(["-I", "-c", BARE]))
}

/// Puts the package into a folder: its Python code, and a module that was built. Returns the
/// folder.
fn package(folder: &str, module: &Path) -> Result<PathBuf> {
    let package = root().join(folder);
    // What is no longer in the package could still be imported.
    if package.exists() {
        std::fs::remove_dir_all(&package).with_context(|| folder.to_owned())?;
    }
    std::fs::create_dir_all(&package).with_context(|| folder.to_owned())?;
    run(Command::new("cp").arg("-r").arg(root().join("python/fibula")).arg(&package))?;
    std::fs::copy(module, package.join("fibula/_fibula.abi3.so")).context("the module")?;
    Ok(package)
}

/// Lets an environment import what is in a folder.
fn import_from(python: &Path, folder: &Path) -> Result<()> {
    const PACKAGES: &str = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let packages = output(Command::new(python).args(["-c", PACKAGES]))?;
    let file = Path::new(packages.trim()).join("fibula-tested.pth");
    std::fs::write(&file, format!("{}\n", folder.display())).with_context(|| file.display().to_string())
}

/// Runs the tests with every memory access of both extensions checked. Compiling all that they are
/// made of again, for these alone, takes too long for [`test()`].
pub(crate) fn sanitized() -> Result<()> {
    let target = host()?;
    let built = format!("target/sanitizer/{target}/quick");
    let mut build =
        nightly(&["build", "--package", "fibula-python", "--package", "fibula-duckdb", "--locked"]);
    build.args(["--profile", "quick", "--target", &target, "--target-dir", "target/sanitizer"]);
    build.env("CARGO_PROFILE_QUICK_DEBUG", "line-tables-only");
    run(build.env("RUSTFLAGS", "-Zsanitizer=address"))?;

    let package = package("target/sanitizer/python", &root().join(&built).join("lib_fibula.so"))?;
    let extension = "target/sanitizer/fibula.duckdb_extension";
    duckdb::pack(&root().join(&built).join("libfibula_duckdb.so"), extension)?;
    // A program that loads such code has the sanitizer from its start, which looks then for the
    // function that throws DuckDB's exceptions.
    let library = |name| output(Command::new("cc").arg(format!("-print-file-name={name}")));
    let preloaded = [library("libasan.so")?, library("libstdc++.so.6")?];
    let mut tests = tool("pytest", &["--quiet"]);
    tests.env("LD_PRELOAD", preloaded.concat().replace('\n', " ")).env("ASAN_OPTIONS", "detect_leaks=0");
    tests.args(UNSANITIZED).env("PYTHONMALLOC", "malloc").env("PYTHONPATH", package);
    run(tests.env("FIBULA_DUCKDB_EXTENSION", root().join(extension)))
}
