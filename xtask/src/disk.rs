//! Whether what the tests build fits on the disk. A linker that finds none left dies of a signal,
//! and names no reason.

use crate::run::{output, root};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The folders that the tests build into.
const FOLDERS: [&str; 2] = ["target", "fuzz/target"];

/// What a whole run leaves in them, which it prints at its end, and a tenth more; in KiB.
const NEEDED: u64 = 15 << 20;

/// Returns an error if what a whole run builds does not fit beside what is there.
pub(crate) fn check() -> Result<()> {
    let (taken, free) = (taken()?, free()?);
    if taken + free < NEEDED {
        bail!(
            "the tests build {:.1} GiB under {}; {:.1} are there, and the disk has {:.1} left",
            gib(NEEDED),
            FOLDERS.join(" and "),
            gib(taken),
            gib(free)
        );
    }
    Ok(())
}

/// Prints what the folders take.
pub(crate) fn report() -> Result<()> {
    println!("built: {:.1} GiB under {}", gib(taken()?), FOLDERS.join(" and "));
    Ok(())
}

fn gib(kib: u64) -> f64 {
    kib as f64 / f64::from(1 << 20)
}

/// What the folders take, in KiB.
fn taken() -> Result<u64> {
    let there: Vec<_> = FOLDERS.into_iter().filter(|folder| root().join(folder).exists()).collect();
    if there.is_empty() {
        return Ok(0);
    }
    let sizes = output(Command::new("du").arg("-sk").args(there).current_dir(root()))?;
    sizes.lines().map(|line| number(line, 0)).sum()
}

/// What is left on their disk, in KiB.
fn free() -> Result<u64> {
    // `-P` is what POSIX says of its columns.
    let table = output(Command::new("df").args(["-Pk", "."]).current_dir(root()))?;
    number(table.lines().nth(1).context("df prints no disk")?, 3)
}

/// The number in a column of a line.
fn number(line: &str, column: usize) -> Result<u64> {
    let word = line.split_whitespace().nth(column).with_context(|| format!("no column {column}: {line}"))?;
    word.parse().with_context(|| format!("no number: {line}"))
}
