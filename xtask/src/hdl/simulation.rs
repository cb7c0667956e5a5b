//! Verilator's models of the pipelines, and the test bench around them.

use super::{PIPELINES, rtl, target};
use crate::run::{cargo, on_all_cores, root, run};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The clocks from a read off chip to its answer, as the pipelines have it by default.
const LATENCY: &str = "8";

/// The real table and its updates, in the folder beside the checkout.
const TABLE: [&str; 2] = ["ipv4-20140513-routeviews-asn.tsv.gz", "updates-ipv4-20141217-linx.tsv.gz"];

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
    /// With memories that are never busy.
    pub(super) even: String,
    /// With busy memories, gaps and a reset.
    pub(super) rough: String,
}

impl Simulated {
    pub(super) fn print(&self) {
        let Module { name, stages, numbers, .. } = &self.module;
        println!("{name}: {stages} stages on chip, {} changes in {} words", numbers[1], numbers[2]);
        println!("  {}\n  {}", self.even.trim(), self.rough.trim());
    }
}

/// Makes the vectors, `small` or `full`, and returns their folder. The full ones are of the real
/// table where it is beside the checkout.
pub(super) fn vectors(scale: &str, beats: usize) -> Result<PathBuf> {
    let folder = target().join(scale);
    let mut make = cargo(&["run", "--profile", "test", "--package", "fibula-hdl", "--example", "vectors"]);
    make.args(["--locked", "--"]).arg(&folder).arg(beats.to_string()).arg(scale);
    let data = std::env::var_os("FIBULA_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let files = TABLE.map(|file| data.join(file));
    if scale == "full" && files.iter().all(|file| file.exists()) {
        make.args(files);
    }
    run(&mut make)?;
    Ok(folder)
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
    on_all_cores(&PIPELINES, |&name| {
        let module = module(name, vectors)?;
        let program = build(&module, &rtl(), &vectors.join(format!("{name}-model")))?;
        let [even, rough] = ["even", "rough"].map(|how| bench(&program, &module, vectors, how));
        let ((even_good, even), (rough_good, rough)) = (even?, rough?);
        ensure!(even_good && rough_good, "{name} fails its test bench:\n{even}\n{rough}");
        Ok(Simulated { module, even, rough })
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
pub(super) fn bench(program: &Path, module: &Module, vectors: &Path, how: &str) -> Result<(bool, String)> {
    let file = |ending| vectors.join(format!("{}.{ending}", module.name));
    let mut bench = Command::new(program);
    bench.args([file("image"), file("beats")]).args([&module.stages, LATENCY, how]);
    let output = bench.output().with_context(|| program.display().to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code() {
        Some(0) => Ok((true, text)),
        Some(1) => Ok((false, text)),
        _ => bail!("the test bench of {} ended with {}:\n{text}", module.name, output.status),
    }
}
