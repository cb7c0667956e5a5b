//! Verilator's models of the pipelines, and the test bench around them.

use super::{PIPELINES, rtl, target};
use crate::run::{built, on_all_cores, output, root, run};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The clocks of a stage on chip: without and with a register behind its memory.
pub(super) const STAGE_CLOCKS: [u32; 2] = [1, 2];

/// The clocks from a read off chip to its answer, as the pipelines have it by default.
const LATENCY: &str = "8";

/// The real table and its updates, in the folder beside the checkout.
const TABLE: [&str; 2] = ["ipv4-20140513-routeviews-asn.tsv.gz", "updates-ipv4-20141217-linx.tsv.gz"];

/// Larger real tables, in the same folder.
const LARGER: [&str; 2] = ["ipv4-202401-tier1-joinedasn.tsv.gz", "ipv6-20260511-ris-as3333-joinedasn.tsv.gz"];

/// A pipeline as its vectors were made for it.
pub(super) struct Module {
    pub(super) name: &'static str,
    pub(super) top: String,
    pub(super) stages: String,
    /// Beats, changes, words, routes and bits on chip.
    pub(super) numbers: Vec<u64>,
    pub(super) parameters: Vec<(String, String)>,
}

/// What the test bench printed of a pipeline.
pub(super) struct Simulated {
    pub(super) module: Module,
    pub(super) stage_clocks: u32,
    /// With memories that are never busy.
    pub(super) even: String,
    /// With busy memories, gaps and a reset.
    pub(super) rough: String,
}

impl Simulated {
    pub(super) fn print(&self) {
        let Module { name, stages, numbers, .. } = &self.module;
        let clocks = self.stage_clocks;
        println!(
            "{name}: {stages} stages on chip, clocks a stage: {clocks}; {} changes in {} words",
            numbers[1], numbers[2]
        );
        println!("  {}\n  {}", self.even.trim(), self.rough.trim());
    }
}

/// Makes the vectors, `small` or `full`, and returns their folder. The full ones are of the real
/// table where it is beside the checkout.
pub(super) fn vectors(scale: &str, beats: usize) -> Result<PathBuf> {
    let folder = target().join(scale);
    let mut make = example("vectors")?;
    make.arg(&folder).arg(beats.to_string()).arg(scale);
    let files = TABLE.map(data);
    if scale == "full" && files.iter().all(|file| file.exists()) {
        make.args(files);
    }
    run(&mut make)?;
    Ok(folder)
}

/// Returns what larger tables take, as JSON lines: the made ones of 2026, and real ones
/// where they are beside the checkout.
pub(super) fn requirements() -> Result<String> {
    output(example("requirements")?.args(LARGER.map(data).iter().filter(|file| file.exists())))
}

/// Returns the command that runs an example of `fibula-hdl`.
fn example(name: &str) -> Result<Command> {
    let mut command = Command::new(built(&["build", "--profile", "test", "--example"], name)?);
    command.current_dir(root());
    Ok(command)
}

/// A file of the folder beside the checkout.
fn data(file: &str) -> PathBuf {
    let folder = std::env::var_os("FIBULA_DATA");
    folder.map_or_else(|| root().join("../shared/data"), PathBuf::from).join(file)
}

/// Reads which module a pipeline is.
pub(super) fn module(name: &'static str, vectors: &Path) -> Result<Module> {
    let path = vectors.join(format!("{name}.module"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut lines = text.lines().map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let first = lines.next().context("a module has a line")?;
    let [top, stages, numbers @ ..] = &first[..] else { bail!("{}: no module", path.display()) };
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
    let parameters = lines.filter_map(|line| Some((line.first()?.clone(), line.get(1)?.clone()))).collect();
    Ok(Module { name, top: top.clone(), stages: stages.clone(), numbers, parameters })
}

/// Builds and runs all pipelines; an error if one answers wrongly, late or not at all.
pub(super) fn all(vectors: &Path) -> Result<Vec<Simulated>> {
    let mut runs = Vec::new();
    for name in PIPELINES {
        // Without a stage on chip there is no clock of a stage to choose.
        let choices = if module(name, vectors)?.stages == "0" { 1 } else { STAGE_CLOCKS.len() };
        runs.extend(STAGE_CLOCKS[..choices].iter().map(|&clocks| (name, clocks)));
    }
    on_all_cores(&runs, |&(name, stage_clocks)| {
        let mut module = module(name, vectors)?;
        module.parameters.push(("STAGE_CLOCKS".into(), stage_clocks.to_string()));
        let program = build(&module, &rtl(), &vectors.join(format!("{name}-model-{stage_clocks}")))?;
        let [even, rough] = ["even", "rough"].map(|how| bench(&program, &module, vectors, stage_clocks, how));
        let ((even_good, even), (rough_good, rough)) = (even?, rough?);
        ensure!(
            even_good && rough_good,
            "{name}, clocks a stage: {stage_clocks}, fails its test bench:\n{even}\n{rough}"
        );
        Ok(Simulated { module, stage_clocks, even, rough })
    })
}

/// Builds the test bench with a pipeline from the text in `rtl`. Returns the program.
pub(super) fn build(module: &Module, rtl: &Path, folder: &Path) -> Result<PathBuf> {
    let flags = if module.top == "pipeline" { "-std=c++17 -DOFF_CHIP" } else { "-std=c++17" };
    let mut build = Command::new("verilator");
    build
        .args(["--cc", "-O3", "-Wno-lint", "--prefix", "Vtop", "--top-module", &module.top, "--Mdir"])
        .arg(folder);
    build.args(module.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    // The models are small: compiling them well takes longer than running them.
    let make = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O0";
    build.args(["--exe", "--build", "-CFLAGS", flags, "-MAKEFLAGS", make]);
    build.arg(root().join("hdl/bench/bench.cpp")).arg("-y").arg(rtl);
    let output =
        build.arg(rtl.join(format!("{}.sv", module.top))).output().context("cannot run verilator")?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} cannot be built:\n{text}", module.name);
    Ok(folder.join("Vtop"))
}

/// Runs a test bench. Returns whether all held, and what it printed.
pub(super) fn bench(
    program: &Path,
    module: &Module,
    vectors: &Path,
    stage_clocks: u32,
    how: &str,
) -> Result<(bool, String)> {
    let file = |ending| vectors.join(format!("{}.{ending}", module.name));
    let mut bench = Command::new(program);
    bench.args([file("image"), file("beats")]);
    bench.args([&module.stages, &stage_clocks.to_string(), LATENCY, how]);
    let output = bench.output().with_context(|| program.display().to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code() {
        Some(0) => Ok((true, text)),
        Some(1) => Ok((false, text)),
        _ => bail!("the test bench of {} ended with {}:\n{text}", module.name, output.status),
    }
}
