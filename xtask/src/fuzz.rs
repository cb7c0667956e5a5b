//! Runs each fuzz target under fuzz/ for a while.

use crate::run::{nightly, on_all_cores, output, root, run};
use crate::setup;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The seconds of each target as part of the tests.
pub(crate) const SECONDS: u32 = 3;

/// `[--seconds N] [TARGET...]`
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    let (mut seconds, mut chosen) = (SECONDS, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            seconds = arguments.next().context("--seconds needs a number")?.parse()?;
        } else {
            chosen.push(argument.as_str());
        }
    }
    targets(seconds, &chosen)
}

/// Runs the chosen targets, or all.
pub(crate) fn targets(seconds: u32, chosen: &[&str]) -> Result<()> {
    let program = setup::cargo_fuzz()?;
    let mut list = Command::new(&program);
    let all = output(list.args(["fuzz", "list"]).current_dir(root()))?;
    let all: Vec<&str> = all.lines().collect();
    if let Some(unknown) = chosen.iter().find(|name| !all.contains(name)) {
        bail!("no fuzz target {unknown:?} (there are: {})", all.join(", "));
    }
    let path = std::env::join_paths(
        program
            .parent()
            .map(std::path::Path::to_path_buf)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let chosen = if chosen.is_empty() { &all } else { chosen };
    run(nightly(&["fuzz", "build"]).env("PATH", &path))?;
    on_all_cores(chosen, |target| {
        let duration = format!("-max_total_time={seconds}");
        // A compressed input may expand some ten thousand times; this keeps it far below the
        // fuzzer's bound on memory.
        let options = ["--", &duration, "-max_len=4096", "-print_final_stats=0"];
        run(nightly(&["fuzz", "run", target]).args(options).env("PATH", &path))
    })?;
    Ok(())
}
