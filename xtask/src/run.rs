//! Runs other programs. Each is printed before it runs, and named when it fails.

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message};
use std::env::consts::DLL_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The optional features that are tested: all but other people's engines that are no crates. Those
/// need what only `setup peers` installs.
pub(crate) const FEATURES: [&str; 2] = [
    "--features",
    "fibula-cli/gpu,fibula-cli/enrich,fibula-cli/map,fibula-cli/router,fibula-cli/serve,fibula-peers/crates",
];

/// The crates that need Arrow, HTTP, the kernel's programs, cards or others' engines. What they
/// need takes longer to compile than everything else.
pub(crate) const LARGE: [&str; 8] = [
    "fibula-access",
    "fibula-arrow",
    "fibula-duckdb",
    "fibula-gpu",
    "fibula-peers",
    "fibula-python",
    "fibula-router",
    "fibula-serve",
];

/// As [`FEATURES`], with the command line as it is built by default. The dependencies have the same
/// features as with [`FEATURES`], so that few of them are compiled twice: fibula-io, which has no
/// Parquet then, and what depends on it.
pub(crate) const DEFAULT_FEATURES: [&str; 2] = ["--features", "fibula-peers/crates"];

/// Returns a command of cargo for some packages, with those of [`FEATURES`] that are theirs.
pub(crate) fn with_features(command: &str, packages: &[&str]) -> Command {
    let is_theirs =
        |feature: &&str| feature.split_once('/').is_some_and(|(package, _)| packages.contains(&package));
    let features: Vec<&str> = FEATURES[1].split(',').filter(is_theirs).collect();
    let mut command = cargo(&[command, "--locked"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    if !features.is_empty() {
        command.args(["--features", &features.join(",")]);
    }
    command
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The host's target triple, as the compiler names it.
pub(crate) fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// `cargo` of the pinned toolchain.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    // What is compiled once need not be compiled again in parts.
    command.args(arguments).current_dir(root()).env("CARGO_INCREMENTAL", "0");
    command
}

/// `cargo` of the nightly toolchain: sanitizers and fuzzing need it.
pub(crate) fn nightly(arguments: &[&str]) -> Command {
    cargo_of("nightly", arguments)
}

/// `cargo` of another toolchain than the pinned one.
pub(crate) fn cargo_of(toolchain: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo"]).args(arguments).current_dir(root());
    command.env("CARGO_INCREMENTAL", "0");
    // The variables that the pinned toolchain's cargo sets for its children would override the
    // choice.
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(name);
    }
    command
}

/// Builds one program of the workspace, as the tests are built, and returns its path. `build` are
/// cargo's words for its kind, before its name. All packages are selected, as for the tests: so the
/// dependencies have the same features, and none is built again.
pub(crate) fn built(build: &[&str], name: &str) -> Result<PathBuf> {
    program_of(cargo(build).args([name, "--workspace", "--locked"]).args(FEATURES), name)
}

/// Runs a command of cargo that builds the program `name`, and returns its path.
pub(crate) fn program_of(build: &mut Command, name: &str) -> Result<PathBuf> {
    let program = artifacts_of(build)?.into_iter().find_map(|artifact| {
        let program = artifact.executable.filter(|_| artifact.target.name == name)?;
        Some(program.into())
    });
    program.with_context(|| format!("cargo has built no program {name}"))
}

/// Runs a command of cargo that builds some shared libraries, and returns their paths.
pub(crate) fn libraries_of<const N: usize>(build: &mut Command, names: [&str; N]) -> Result<[PathBuf; N]> {
    let artifacts = artifacts_of(build)?;
    let mut paths = [const { PathBuf::new() }; N];
    for (path, name) in paths.iter_mut().zip(names) {
        let files = artifacts.iter().filter(|artifact| artifact.target.name == name);
        let mut libraries = files.flat_map(|artifact| &artifact.filenames);
        let library = libraries.find(|file| file.as_str().ends_with(DLL_SUFFIX));
        *path = library.with_context(|| format!("cargo has built no library {name}"))?.into();
    }
    Ok(paths)
}

/// Runs a command of cargo, and returns what it has built.
fn artifacts_of(build: &mut Command) -> Result<Vec<Artifact>> {
    let messages = output(build.arg("--message-format=json-render-diagnostics"))?;
    let mut artifacts = Vec::new();
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message? {
            artifacts.push(artifact);
        }
    }
    Ok(artifacts)
}

/// Prints and runs a program; an error if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("+ {}", shown(command));
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot run {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Returns a program's standard output; an error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns whether a program exists and succeeds.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a closure for each item, on all cores. Returns the results in the items' order, or the
/// first error.
pub(crate) fn on_all_cores<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(done) };
            // After a failure the other threads have nothing more to do.
            let result = work(item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
            done.push((at, result));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        done.collect::<Result<Vec<_>>>().map(|done| done.into_iter().flatten().collect())
    })?;
    all.sort_unstable_by_key(|&(at, _)| at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
