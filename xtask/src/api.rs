//! Compares the public surface of each published crate with its record, so that no change of it
//! goes unnoticed.
//!
//! The record lists the public items with all features on. It leaves out:
//!
//! - hidden items;
//! - auto traits such as `Send`, and blanket implementations such as `Into`;
//! - the methods of derived traits. The line `impl core::clone::Clone for ...` stays.
//!
//! rustdoc's JSON is unstable, and its format differs from compiler to compiler. So the pinned
//! compiler writes it, which `RUSTC_BOOTSTRAP` allows. A nightly compiler would break this check
//! whenever the format changes. Only rustdoc sees that variable: cargo would build some
//! dependencies again.

use crate::abi;
use crate::packages::published;
use crate::run::{cargo, root, run};
use anyhow::{Context, Result, bail, ensure};
use public_api::Builder;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The folder of the records: a file for each published crate, an item a line.
const RECORDS: &str = "docs/public-api";

/// The folder that the linted documentation is built in too: the crates' dependencies are checked
/// once.
const TARGET: &str = "target";

/// `[--record]`
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check(),
        [word] if word == "--record" => record().and_then(|()| abi::record()),
        _ => bail!("{:?}: expected nothing or --record", arguments.join(" ")),
    }
}

/// Compares every published crate with its record. Prints the differences.
pub(crate) fn check() -> Result<()> {
    let mut changed = Vec::new();
    for package in published()? {
        let name = package.name.as_str();
        let file = record_of(name);
        let recorded = std::fs::read_to_string(&file).with_context(|| format!("{RECORDS}/{name}.txt"))?;
        let now = surface(name)?;
        let differences = differences(&recorded, &now);
        if differences.is_empty() {
            println!("public surface: {name} has the {} items of its record", now.lines().count());
        } else {
            changed.push(format!("{RECORDS}/{name}.txt\n{}", differences.join("\n")));
        }
    }
    ensure!(
        changed.is_empty(),
        "the public surface has changed; if that is meant, `cargo xtask api --record`:\n{}",
        changed.join("\n")
    );
    abi::check()
}

/// Writes the record of every published crate.
fn record() -> Result<()> {
    std::fs::create_dir_all(root().join(RECORDS))?;
    for package in published()? {
        let surface = surface(&package.name)?;
        let file = record_of(&package.name);
        let beside = file.with_extension("new");
        std::fs::write(&beside, surface)?;
        std::fs::rename(&beside, &file)?;
        println!("wrote {RECORDS}/{}.txt", package.name);
    }
    Ok(())
}

fn record_of(package: &str) -> PathBuf {
    root().join(RECORDS).join(package).with_extension("txt")
}

/// Returns the public items of a crate, an item a line.
fn surface(package: &str) -> Result<String> {
    let mut rustdoc = cargo(&["rustdoc", "--quiet", "--package", package, "--lib", "--all-features"]);
    rustdoc.args(["--locked", "--target-dir", TARGET, "--"]);
    // Only lint denies the warnings of the documentation.
    rustdoc.args(["-Zunstable-options", "--output-format=json", "--cap-lints=allow"]);
    run(rustdoc.env("RUSTDOC", unstable_rustdoc()?))?;
    let json = root().join(TARGET).join("doc").join(package.replace('-', "_")).with_extension("json");
    let items = |without_derived| {
        let builder = Builder::from_rustdoc_json(&json).omit_blanket_impls(true);
        let builder = builder.omit_auto_trait_impls(true).omit_auto_derived_impls(without_derived);
        let items = builder.build().with_context(|| {
            format!("{}: the version of public-api must fit rust-toolchain.toml", json.display())
        });
        items.map(|items| items.to_string())
    };
    Ok(without_derived_methods(&items(false)?, &items(true)?))
}

/// Writes a program that runs rustdoc with what is unstable in it. Returns its path.
fn unstable_rustdoc() -> Result<PathBuf> {
    let program = root().join(TARGET).join("unstable-rustdoc");
    std::fs::create_dir_all(root().join(TARGET))?;
    std::fs::write(&program, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")
        .and_then(|()| std::fs::set_permissions(&program, Permissions::from_mode(0o755)))
        .with_context(|| format!("cannot write {}", program.display()))?;
    Ok(program)
}

/// Returns the lines of `all` except the methods of derived traits. `written` is the same list
/// without derived implementations.
fn without_derived_methods(all: &str, written: &str) -> String {
    let written: BTreeSet<&str> = written.lines().collect();
    let is_kept = |line: &&str| {
        // The compiler adds StructuralPartialEq to a derived PartialEq.
        written.contains(line) || (line.starts_with("impl") && !line.contains("::StructuralPartialEq "))
    };
    all.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

/// Returns the lines that only one of both has: `-` if it is the record, `+` if it is the crate.
fn differences(recorded: &str, now: &str) -> Vec<String> {
    let (recorded, now): (BTreeSet<&str>, BTreeSet<&str>) =
        (recorded.lines().collect(), now.lines().collect());
    let mut differences: Vec<(&str, char)> = recorded.difference(&now).map(|line| (*line, '-')).collect();
    differences.extend(now.difference(&recorded).map(|line| (*line, '+')));
    differences.sort_unstable();
    differences.iter().map(|(line, sign)| format!("{sign}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_new_items_are_told_and_their_order_is_not() {
        assert!(differences("pub fn a\npub fn b\n", "pub fn b\npub fn a\n").is_empty());
        let told =
            differences("pub fn a() -> u8\npub fn b()\n", "pub fn a() -> u16\npub fn b()\npub fn c()\n");
        assert_eq!(told, ["+pub fn a() -> u16", "-pub fn a() -> u8", "+pub fn c()"]);
    }

    #[test]
    fn a_derived_trait_is_one_line() {
        let written = "pub struct a::B\n";
        let all = "pub struct a::B\nimpl core::clone::Clone for a::B\npub fn a::B::clone(&self) -> a::B\n\
                   impl core::marker::StructuralPartialEq for a::B\n";
        let kept = "pub struct a::B\nimpl core::clone::Clone for a::B\n";
        assert_eq!(without_derived_methods(all, written), kept);
    }
}
