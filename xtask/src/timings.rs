//! `cargo xtask test --timings`: what the time of the tests goes to.
//!
//! [`FILE`] in the environment names a file. Cargo then runs each compiler and each test program by
//! a copy of this program ([`stand_in`]), which adds lines to the file: what a crate took to
//! compile, and what each test program and each test took. Stages add theirs. The file becomes four
//! tables.

use crate::run::{host, root, run};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The variable with the path of the file that all lines go to.
const FILE: &str = "FIBULA_TIMINGS";

/// The folder of the file, of the copy of this program, and of the tables.
const FOLDER: &str = "target/timings";

/// The file in it.
const LINES: &str = "lines.tsv";

/// The tables.
const TABLES: &str = "target/timings/timings.md";

/// How many crates and tests the tables have.
const MOST: usize = 20;

/// A line of the file.
#[derive(Debug, PartialEq)]
struct Line {
    /// `stage`, `crate`, `program` or `test`.
    kind: String,
    /// The folder that a crate is compiled into, or the program of a test.
    of: String,
    name: String,
    wall: f64,
    /// Of all processors.
    cpu: f64,
}

/// The page whose table of stages compares a run with an earlier one.
const PAGE: &str = "CONTRIBUTING.md";

/// How the header of that table begins.
const COMPARED: &str = "| stage, before and after |";

/// As [`test()`], and writes what each stage took into the last columns of the table of [`PAGE`].
pub(crate) fn record() -> Result<()> {
    test()?;
    let (page, lines) = (root().join(PAGE), read(&root().join(FOLDER).join(LINES))?);
    let text = std::fs::read_to_string(&page).context(PAGE)?;
    std::fs::write(&page, compared(&text, &lines)?).context(PAGE)
}

/// Returns the page with what these lines say in the last two columns of its table of stages.
fn compared(page: &str, lines: &[Line]) -> Result<String> {
    let start = page.find(COMPARED).with_context(|| format!("{PAGE} has no {COMPARED:?}"))?;
    let (before, table) = page.split_at(start);
    let (table, after) = table.split_at(table.find("\n\n").map_or(table.len(), |end| end + 1));
    let rows = table.lines().map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let stage =
            of_kind(lines, "stage").find(|stage| cells.get(1).is_some_and(|cell| cell.trim() == stage.name));
        match (stage, cells.as_slice()) {
            (Some(Line { wall, cpu, .. }), [_, name, old_wall, old_cpu, ..]) => {
                format!("|{name}|{old_wall}|{old_cpu}| {:.1} | {:.1} |\n", wall / 60.0, cpu / 60.0)
            }
            _ => format!("{row}\n"),
        }
    });
    Ok(format!("{before}{}{after}", rows.collect::<String>()))
}

/// Runs all tests, and prints the tables. A failure of the tests is one of this.
pub(crate) fn test() -> Result<()> {
    let folder = root().join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| FOLDER.to_owned())?;
    let (file, program) = (folder.join(LINES), folder.join("xtask"));
    File::create(&file)?;
    // Cargo may write the program that runs again.
    std::fs::copy(std::env::current_exe()?, &program).with_context(|| program.display().to_string())?;
    let runner = format!("CARGO_TARGET_{}_RUNNER", host()?.to_uppercase().replace('-', "_"));
    let mut tests = Command::new(&program);
    tests.arg("test").env(FILE, &file).env("RUSTC_WRAPPER", &program).env(runner, &program);
    let passed = run(&mut tests);
    let lines = read(&file)?;
    let tables = [stages(&lines), crates(&lines), programs(&lines), tests_of(&lines)].join("\n");
    println!("\n{tables}");
    std::fs::write(root().join(TABLES), tables).with_context(|| TABLES.to_owned())?;
    passed
}

/// Notes what something took, if that is asked for.
pub(crate) fn note(kind: &str, of: &str, name: &str, wall: f64, cpu: f64) -> Result<()> {
    let Some(file) = std::env::var_os(FILE) else { return Ok(()) };
    let mut file = OpenOptions::new().append(true).open(file).context(FILE)?;
    // One write a line: other processes append too.
    file.write_all(format!("{kind}\t{of}\t{name}\t{wall:.3}\t{cpu:.2}\n").as_bytes()).context(FILE)
}

/// Returns the processor time of all programs that have ended so far, in seconds; 0 where the
/// system does not tell.
pub(crate) fn cpu_seconds() -> f64 {
    /// The unit in which Linux tells it.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses: the state is field 3, user and system time of children 16, 17.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields = after_name.split(' ').skip(13).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
}

/// Runs what cargo runs by this program, a compiler or a test program, and notes what it took.
/// `None` if a person runs this.
pub(crate) fn stand_in() -> Option<Result<ExitCode>> {
    std::env::var_os(FILE)?;
    let mut arguments = std::env::args_os().skip(1);
    let program = PathBuf::from(arguments.next()?);
    let arguments: Vec<OsString> = arguments.collect();
    // The commands of this program are words; what cargo runs has a path, or is a compiler.
    let is_compiler = program.ends_with("rustc") || program.ends_with("clippy-driver");
    if is_compiler {
        return Some(compile(&program, &arguments));
    }
    let is_path = program.parent().is_some_and(|folder| !folder.as_os_str().is_empty());
    is_path
        .then(|| if has_times(&program) { tested(&program, &arguments) } else { same(&program, &arguments) })
}

/// Runs a program as it is.
fn same(program: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let status = Command::new(program).args(arguments).status();
    Ok(code(status.with_context(|| program.display().to_string())?))
}

fn code(status: std::process::ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs a compiler.
fn compile(program: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let start = Instant::now();
    let status = same(program, arguments)?;
    if let Some((of, name)) = compiled(program, arguments) {
        note("crate", &of, &name, start.elapsed().as_secs_f64(), cpu_seconds())?;
    }
    Ok(status)
}

/// Returns the folder that a crate is compiled into, with what it is compiled as, and its name.
/// `None` if a compiler was only asked something.
fn compiled(program: &Path, arguments: &[OsString]) -> Option<(String, String)> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).map(|word| word.clone().into_owned())
    };
    let (name, folder) = (after("--crate-name")?, PathBuf::from(after("--out-dir")?));
    let root = root();
    let folder = folder.strip_prefix(&root).unwrap_or(&folder);
    let folder: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    let folder = folder.iter().take_while(|part| *part != "deps" && *part != "build");
    let mut of = folder.map(AsRef::as_ref).collect::<Vec<_>>().join("/");
    if program.ends_with("clippy-driver") || words.iter().any(|word| word.ends_with("clippy-driver")) {
        of.push_str(" (clippy)");
    } else if words.iter().any(|word| word == "--test") {
        of.push_str(" (tests)");
    }
    Some((of, name))
}

/// Returns whether a program is one of the standard test harness, which tells what tests took.
fn has_times(program: &Path) -> bool {
    let is_test = program.parent().is_some_and(|folder| folder.ends_with("deps"));
    let help = || Command::new(program).arg("--help").stdin(Stdio::null()).output();
    is_test && help().is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--report-time"))
}

/// Runs a test program, and prints its failures and its last line.
fn tested(program: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let start = Instant::now();
    let mut tests = Command::new(program);
    tests.args(arguments.iter().filter(|word| *word != "--quiet"));
    tests.args(["-Zunstable-options", "--format=json", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    let mut tests = tests.stdout(Stdio::piped()).spawn().with_context(|| program.display().to_string())?;
    let of = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let of = of.rsplit_once('-').map_or(of.as_str(), |(name, _)| name).to_owned();
    let printed = tests.stdout.take().context("the output of a test program")?;
    for line in BufReader::new(printed).lines() {
        let line = line?;
        match serde_json::from_str::<Value>(&line) {
            Ok(event) if event.is_object() => told(&of, &event)?,
            _ => println!("{line}"),
        }
    }
    let status = tests.wait()?;
    note("program", "", &of, start.elapsed().as_secs_f64(), cpu_seconds())?;
    Ok(code(status))
}

/// Notes or prints what a test program tells.
fn told(of: &str, event: &Value) -> Result<()> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    match (text("type"), text("event")) {
        ("test", "ok" | "failed") => {
            note("test", of, text("name"), event["exec_time"].as_f64().unwrap_or_default(), 0.0)?;
            if text("event") == "failed" {
                println!("{of} {}: FAILED\n{}", text("name"), text("stdout"));
            }
        }
        ("suite", end @ ("ok" | "failed")) => println!(
            "{of}: test result: {end}. {} passed; {} failed; {} ignored; 0 measured; {} filtered out",
            event["passed"], event["failed"], event["ignored"], event["filtered_out"]
        ),
        _ => {}
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Line> {
    let fields: Vec<&str> = line.split('\t').collect();
    let &[kind, of, name, wall, cpu] = &fields[..] else { bail!("{line:?} is no line of timings") };
    Ok(Line {
        kind: kind.into(),
        of: of.into(),
        name: name.into(),
        wall: wall.parse().with_context(|| line.to_owned())?,
        cpu: cpu.parse().with_context(|| line.to_owned())?,
    })
}

/// Returns the lines of a kind.
fn of_kind<'l>(lines: &'l [Line], kind: &'l str) -> impl Iterator<Item = &'l Line> {
    lines.iter().filter(move |line| line.kind == kind)
}

/// Returns what each stage took, in the order in which they ended.
fn stages(lines: &[Line]) -> String {
    let mut table = "| stage | wall clock, min | processors, min |\n| --- | --- | --- |\n".to_owned();
    for Line { name, wall, cpu, .. } in of_kind(lines, "stage") {
        let _ = writeln!(table, "| {name} | {:.1} | {:.1} |", wall / 60.0, cpu / 60.0);
    }
    table
}

/// Returns the crates that take longest to compile, with how often each is, and into which folders.
fn crates(lines: &[Line]) -> String {
    let mut by_name: BTreeMap<&str, (f64, f64, BTreeMap<&str, usize>)> = BTreeMap::new();
    for Line { of, name, wall, cpu, .. } in of_kind(lines, "crate") {
        let (walls, cpus, folders) = by_name.entry(name).or_default();
        *walls += wall;
        *cpus += cpu;
        *folders.entry(of).or_default() += 1;
    }
    let mut all: Vec<_> = by_name.into_iter().collect();
    all.sort_by(|(_, (_, one, _)), (_, (_, other, _))| other.total_cmp(one));
    let minutes: f64 = all.iter().map(|(_, (_, cpu, _))| cpu / 60.0).sum();
    let mut table = format!(
        "| crate ({} compiled, {minutes:.1} min) | times | processors, min | wall clock, min | where |\n\
         | --- | --- | --- | --- | --- |\n",
        all.len()
    );
    for (name, (wall, cpu, folders)) in all.into_iter().take(MOST) {
        let times: usize = folders.values().sum();
        let folders = folders.iter().map(|(folder, times)| format!("{folder}: {times}"));
        let folders = folders.collect::<Vec<_>>().join(", ");
        let _ = writeln!(table, "| {name} | {times} | {:.1} | {:.1} | {folders} |", cpu / 60.0, wall / 60.0);
    }
    table
}

/// Returns the test programs that take longest to run.
fn programs(lines: &[Line]) -> String {
    let mut all: Vec<_> = of_kind(lines, "program").collect();
    all.sort_by(|one, other| other.cpu.total_cmp(&one.cpu));
    let minutes = all.iter().fold(0.0, |sum, program| sum + program.cpu / 60.0);
    let mut table = format!(
        "| test program ({} run, {minutes:.1} min) | processors, s | wall clock, s |\n| --- | --- | --- |\n",
        all.len()
    );
    for Line { name, wall, cpu, .. } in all.into_iter().take(MOST) {
        let _ = writeln!(table, "| {name} | {cpu:.1} | {wall:.1} |");
    }
    table
}

/// Returns the slowest tests.
fn tests_of(lines: &[Line]) -> String {
    let mut all: Vec<_> = of_kind(lines, "test").collect();
    all.sort_by(|one, other| other.wall.total_cmp(&one.wall));
    let mut table = format!("| test (of {}) | program | wall clock, s |\n| --- | --- | --- |\n", all.len());
    for Line { of, name, wall, .. } in all.into_iter().take(MOST) {
        let _ = writeln!(table, "| {name} | {of} | {wall:.1} |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_known_by_its_folder_and_what_compiles_it() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let root = root().display().to_string();
        let arguments = format!("--crate-name fibula --test --out-dir {root}/target/quick/deps");
        let expected = Some(("target/quick (tests)".to_owned(), "fibula".to_owned()));
        assert_eq!(compiled(Path::new("rustc"), &words(&arguments)), expected);
        let arguments = format!("rustc --crate-name a --out-dir {root}/target/debug/deps");
        let expected = Some(("target/debug (clippy)".to_owned(), "a".to_owned()));
        assert_eq!(compiled(Path::new("/bin/clippy-driver"), &words(&arguments)), expected);
        assert_eq!(compiled(Path::new("rustc"), &words("-vV")), None);
    }

    #[test]
    fn a_run_is_written_beside_an_earlier_one() {
        let page = format!(
            "text\n\n{COMPARED} a | b | c | d |\n| --- |\n| lint | 9.0 | 9.9 | – | – |\n| page | 1.0 | 2.0 | – | – |\n\nmore\n"
        );
        let lines = [parse("stage\t-\tlint\t60\t90").unwrap()];
        let expected = page.replace("| 9.0 | 9.9 | – | – |", "| 9.0 | 9.9 | 1.0 | 1.5 |");
        assert_eq!(compared(&page, &lines).unwrap(), expected);
        assert!(compared("no table", &lines).is_err());
    }

    #[test]
    fn the_tables_have_sums_and_the_slowest_first() {
        let text = "stage\t-\tlint\t60\t90\ncrate\tquick\ta\t1\t60\ncrate\tdebug\ta\t1\t60\ncrate\tquick\tb\t9\t180\n\
                    program\t\tsuite\t8\t15\ntest\tsuite\tfast\t0.1\t0\ntest\tsuite\tslow\t9.5\t0";
        let lines: Vec<Line> = text.lines().map(|line| parse(line).unwrap()).collect();
        assert!(stages(&lines).ends_with("| lint | 1.0 | 1.5 |\n"));
        let crates = crates(&lines);
        assert!(crates.starts_with("| crate (2 compiled, 5.0 min)"), "{crates}");
        assert!(
            crates
                .ends_with("| b | 1 | 3.0 | 0.1 | quick: 1 |\n| a | 2 | 2.0 | 0.0 | debug: 1, quick: 1 |\n")
        );
        assert!(programs(&lines).starts_with("| test program (1 run, 0.2 min)"));
        assert!(programs(&lines).ends_with("| suite | 15.0 | 8.0 |\n"));
        assert!(tests_of(&lines).ends_with("| slow | suite | 9.5 |\n| fast | suite | 0.1 |\n"));
        assert!(parse("stage\tlint").is_err());
    }
}
