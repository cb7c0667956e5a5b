//! Counts the instructions of a lookup by callgrind: a ratchet, so that no engine's hot path grows
//! unnoticed.
//!
//! Counts of one compiler do not drift as times do. They are of the test profile, which the tests
//! have built already, and of the instruction sets that callgrind knows.

use crate::run::{FEATURES, cargo, on_all_cores, output, root};
use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Message;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The recorded counts. A line has an engine, a family, an instruction set and the instructions of
/// a lookup.
const RECORD: &str = "docs/instructions.tsv";

/// The allowed difference from the record, as a share. Unrelated code changes inlining by less.
const TOLERANCE: f64 = 0.03;

/// The function of the counted program whose instructions are collected.
const COUNTED: &str = "*lookups_counted*";

/// `[--record]`
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check(),
        [word] if word == "--record" => record(),
        _ => bail!("{:?}: expected nothing or --record", arguments.join(" ")),
    }
}

/// Counts, and compares with the record.
pub(crate) fn check() -> Result<()> {
    let recorded = std::fs::read_to_string(root().join(RECORD)).with_context(|| RECORD.to_owned())?;
    let recorded = parse(&recorded)?;
    let complaints = differences(&recorded, &count()?);
    if complaints.is_empty() {
        println!("instructions a lookup: {} counts within {TOLERANCE} of {RECORD}", recorded.len());
        return Ok(());
    }
    bail!(
        "instructions a lookup have changed; if that is meant, `cargo xtask instructions --record`:\n  {}",
        complaints.join("\n  ")
    )
}

/// Counts, and writes the record.
fn record() -> Result<()> {
    let mut text = String::from("engine\tfamily\tisa\tinstructions\n");
    for (name, instructions) in count()? {
        let _ = writeln!(text, "{}\t{instructions:.1}", name.replace(' ', "\t"));
    }
    let path = root().join(RECORD);
    let beside = path.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, &path)?;
    println!("wrote {RECORD}");
    Ok(())
}

fn parse(text: &str) -> Result<BTreeMap<String, f64>> {
    let line = |line: &str| {
        let (name, number) = line.rsplit_once('\t').with_context(|| format!("{RECORD}: {line:?}"))?;
        Ok((name.replace('\t', " "), number.parse().with_context(|| format!("{RECORD}: {line:?}"))?))
    };
    text.lines().skip(1).map(line).collect()
}

/// Returns what differs from the record. An instruction set that this machine lacks is no
/// difference.
fn differences(recorded: &BTreeMap<String, f64>, counted: &BTreeMap<String, f64>) -> Vec<String> {
    let has = |set: Option<&str>| counted.keys().any(|name| name.rsplit(' ').next() == set);
    let mut complaints = Vec::new();
    for (name, &before) in recorded {
        match counted.get(name) {
            Some(&now) if (now - before).abs() > before * TOLERANCE => {
                complaints.push(format!("{name}: {before:.1} recorded, {now:.1} counted"));
            }
            None if has(name.rsplit(' ').next()) => complaints.push(format!("{name}: recorded, not counted")),
            _ => {}
        }
    }
    let new = counted.keys().filter(|name| !recorded.contains_key(*name));
    complaints.extend(new.map(|name| format!("{name}: counted, not recorded")));
    complaints
}

/// Returns the instructions of a lookup of each engine, family and instruction set, counted on all
/// cores.
fn count() -> Result<BTreeMap<String, f64>> {
    let program = program()?;
    let lines = output(&mut Command::new(&program))?;
    let lines: Vec<(&str, f64)> = lines.lines().map(lookups).collect::<Result<_>>()?;
    println!("counting the instructions of {} engines", lines.len());
    let count =
        |&(name, lookups): &(&str, f64)| Ok((name.to_owned(), instructions(&program, name)? / lookups));
    Ok(on_all_cores(&lines, count)?.into_iter().collect())
}

/// Parses a line of the counted program: the name of the lookup, and the number of lookups.
fn lookups(line: &str) -> Result<(&str, f64)> {
    let (name, lookups) = line.rsplit_once(' ').with_context(|| format!("{line:?} counts nothing"))?;
    Ok((name, lookups.parse()?))
}

/// Builds the program to be counted, as the tests are built.
fn program() -> Result<PathBuf> {
    // Of the whole workspace, as the tests are: the features are the same, so nothing is built
    // again.
    let arguments = ["test", "--workspace", "--test", "instructions", "--no-run", "--locked"];
    let messages = output(cargo(&arguments).args(FEATURES).arg("--message-format=json-render-diagnostics"))?;
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.target.name == "instructions"
            && let Some(program) = artifact.executable
        {
            return Ok(program.into());
        }
    }
    bail!("cargo has built no program that counts instructions")
}

/// Returns the instructions of the counted call.
fn instructions(program: &Path, name: &str) -> Result<f64> {
    let folder = root().join("target/callgrind");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(name.replace(' ', "-"));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", &format!("--toggle-collect={COUNTED}")]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    output(command.arg(program).args(name.split(' ')))?;
    let profile = std::fs::read_to_string(&file)?;
    let total = profile.lines().find_map(|line| line.strip_prefix("summary: "));
    let total: f64 = total.with_context(|| format!("{} has no summary", file.display()))?.trim().parse()?;
    ensure!(total > 0.0, "{name}: callgrind has counted nothing");
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_new_engines_and_lost_ones_are_told_and_noise_is_not() {
        let recorded = parse(
            "engine\tfamily\tisa\tinstructions\na\tipv4\tscalar\t100.0\nb\tipv4\tscalar\t10.0\nb\tipv4\tavx2\t9.0\n",
        );
        let recorded = recorded.unwrap();
        let counted =
            |a: f64, b: &str| BTreeMap::from([("a ipv4 scalar".to_owned(), a), (b.to_owned(), 10.1)]);
        assert!(differences(&recorded, &counted(102.0, "b ipv4 scalar")).is_empty());
        assert_eq!(
            differences(&recorded, &counted(104.0, "c ipv4 scalar")),
            [
                "a ipv4 scalar: 100.0 recorded, 104.0 counted",
                "b ipv4 scalar: recorded, not counted",
                "c ipv4 scalar: counted, not recorded"
            ]
        );
        assert_eq!(differences(&recorded, &counted(90.0, "b ipv4 scalar")).len(), 1, "less is told, too");
        assert!(parse("head\nno tab").is_err());
    }
}
