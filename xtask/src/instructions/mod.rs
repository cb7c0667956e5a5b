//! Counts the instructions of a lookup by callgrind: a ratchet, so that no engine's hot path grows
//! unnoticed.
//!
//! Counts of one compiler do not drift as times do. They are of the test profile, which the tests
//! have built already, and of the instruction sets that callgrind knows. Those of 64-bit Arm are
//! counted in an [emulator](emulated), only if asked for: to compile every engine again takes
//! minutes.

mod emulated;

use crate::run::{built, on_all_cores, output, root};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The recorded counts. A line has an engine, a family, an instruction set and the instructions of
/// a lookup.
const RECORD: &str = "docs/instructions.tsv";

/// The allowed difference from the record, as a share. Unrelated code changes inlining by less.
const TOLERANCE: f64 = 0.03;

/// The function of the counted program whose instructions are collected.
const COUNTED: &str = "*lookups_counted*";

/// Where the counted program runs.
#[derive(Clone, Copy)]
enum Machine {
    /// This one, under callgrind.
    Here,
    /// An emulated 64-bit Arm. Only what is counted for its vectors is recorded.
    Arm,
}

/// The instruction set that only 64-bit Arm has.
const OF_ARM: &str = "neon";

/// `[--arm] [--record]`
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => check(),
        ["--record"] => record(Machine::Here),
        ["--arm"] => compare(Machine::Arm),
        ["--arm", "--record"] => record(Machine::Arm),
        _ => bail!("{:?}: expected nothing, --arm, --record or --arm --record", arguments.join(" ")),
    }
}

/// Counts on this machine, and compares with the record.
pub(crate) fn check() -> Result<()> {
    compare(Machine::Here)
}

/// Counts, and compares with the record.
fn compare(machine: Machine) -> Result<()> {
    let (recorded, counted) = (recorded()?, count(machine)?);
    let complaints = differences(&recorded, &counted);
    if complaints.is_empty() {
        println!("instructions a lookup: {} counts within {TOLERANCE} of {RECORD}", counted.len());
        return Ok(());
    }
    bail!(
        "instructions a lookup have changed; if that is meant, `cargo xtask instructions --record`:\n  {}",
        complaints.join("\n  ")
    )
}

/// Counts, and writes the record. Instruction sets that were not counted keep their lines.
fn record(machine: Machine) -> Result<()> {
    let counted = count(machine)?;
    let mut all = recorded()?;
    all.retain(|name, _| !has_set(&counted, name));
    all.extend(counted);
    let mut text = String::from("engine\tfamily\tisa\tinstructions\n");
    for (name, instructions) in all {
        let _ = writeln!(text, "{}\t{instructions:.1}", name.replace(' ', "\t"));
    }
    let path = root().join(RECORD);
    let beside = path.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, &path)?;
    println!("wrote {RECORD}");
    Ok(())
}

/// Reads the record.
fn recorded() -> Result<BTreeMap<String, f64>> {
    parse(&std::fs::read_to_string(root().join(RECORD)).with_context(|| RECORD.to_owned())?)
}

/// Returns whether anything was counted for the instruction set of `name`.
fn has_set(counted: &BTreeMap<String, f64>, name: &str) -> bool {
    counted.keys().any(|counted| set_of(counted) == set_of(name))
}

/// Returns the instruction set, the last word of a name.
fn set_of(name: &str) -> &str {
    name.rsplit(' ').next().unwrap_or(name)
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
    let mut complaints = Vec::new();
    for (name, &before) in recorded {
        match counted.get(name) {
            Some(&now) if (now - before).abs() > before * TOLERANCE => {
                complaints.push(format!("{name}: {before:.1} recorded, {now:.1} counted"));
            }
            None if has_set(counted, name) => complaints.push(format!("{name}: recorded, not counted")),
            _ => {}
        }
    }
    let new = counted.keys().filter(|name| !recorded.contains_key(*name));
    complaints.extend(new.map(|name| format!("{name}: counted, not recorded")));
    complaints
}

/// Returns the instructions of a lookup of each engine, family and instruction set, counted on all
/// cores.
fn count(machine: Machine) -> Result<BTreeMap<String, f64>> {
    let program = match machine {
        Machine::Here => built(&["test", "--no-run", "--test"], "instructions")?,
        Machine::Arm => emulated::program()?,
    };
    let lines = output(&mut match machine {
        Machine::Here => Command::new(&program),
        Machine::Arm => emulated::command(&program),
    })?;
    let lines: Vec<(&str, f64)> = lines.lines().map(lookups).collect::<Result<_>>()?;
    let is_counted = |name: &str| match machine {
        Machine::Here => true,
        Machine::Arm => set_of(name) == OF_ARM,
    };
    let lines: Vec<_> = lines.into_iter().filter(|(name, _)| is_counted(name)).collect();
    println!("counting the instructions of {} engines", lines.len());
    let folder = root().join("target/callgrind");
    std::fs::create_dir_all(&folder)?;
    let count = |&(name, lookups): &(&str, f64)| {
        let file = folder.join(name.replace(' ', "-"));
        let total = match machine {
            Machine::Here => instructions(&program, name, &file)?,
            Machine::Arm => emulated::instructions(&program, name, &file)?,
        };
        ensure!(total > 0.0, "{name}: nothing was counted");
        Ok((name.to_owned(), total / lookups))
    };
    Ok(on_all_cores(&lines, count)?.into_iter().collect())
}

/// Parses a line of the counted program: the name of the lookup, and the number of lookups.
fn lookups(line: &str) -> Result<(&str, f64)> {
    let (name, lookups) = line.rsplit_once(' ').with_context(|| format!("{line:?} counts nothing"))?;
    Ok((name, lookups.parse()?))
}

/// Returns the instructions of the counted call. `file` takes callgrind's profile.
fn instructions(program: &Path, name: &str, file: &Path) -> Result<f64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", &format!("--toggle-collect={COUNTED}")]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    output(command.arg(program).args(name.split(' ')))?;
    let profile = std::fs::read_to_string(file)?;
    let total = profile.lines().find_map(|line| line.strip_prefix("summary: "));
    Ok(total.with_context(|| format!("{} has no summary", file.display()))?.trim().parse()?)
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
