//! The hardware pipelines: checked, simulated, spoiled, synthesised, placed and routed.

mod defects;
mod report;
mod simulation;
mod synthesis;

use crate::run::{root, run};
use crate::setup;
use anyhow::{Result, bail};
use simulation::Simulated;
use std::path::PathBuf;

/// The pipelines, as their files are named.
const PIPELINES: [&str; 5] = ["sail_b", "sail_u", "sail_l", "mosaic", "dir24_8"];

/// Runs `cargo xtask hdl` with what follows on the command line.
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => full(),
        ["--quick"] => quick(),
        _ => bail!("hdl takes nothing, or --quick"),
    }
}

/// Checks and simulates the pipelines on a small table, and shows that defects are caught.
pub(crate) fn quick() -> Result<()> {
    setup::verilator()?;
    lint()?;
    let vectors = simulation::vectors("small", 60_000)?;
    let simulated = simulation::all(&vectors)?;
    simulated.iter().for_each(Simulated::print);
    let caught = defects::all(&vectors)?;
    println!("{} defects put in, {} caught", caught.len(), caught.len());
    Ok(())
}

/// Does all of it, and writes the page.
fn full() -> Result<()> {
    quick()?;
    let vectors = simulation::vectors("full", 1_000_000)?;
    let simulated = simulation::all(&vectors)?;
    simulated.iter().for_each(Simulated::print);
    synthesis::set_up()?;
    let devices = synthesis::virtex()?;
    let routed = synthesis::ecp5()?;
    let larger = simulation::requirements()?;
    println!("{larger}");
    report::write(&vectors, &simulated, &devices, &routed, &larger)
}

/// Where the commands work.
fn target() -> PathBuf {
    root().join("target/hdl")
}

/// The folder of the pipelines' text.
fn rtl() -> PathBuf {
    root().join("hdl/rtl")
}

/// Checks every configuration. A warning is an error.
fn lint() -> Result<()> {
    let tops = [
        ("pipeline", &["-GFRONT=1", "-GSTEP=1"][..]),
        ("pipeline", &["-GFRONT=1", "-GSTEP=6"]),
        ("pipeline", &["-GFRONT=2"]),
        ("pipeline", &["-GFRONT=0"]),
        ("mosaic", &[]),
    ];
    for ((top, parameters), clocks) in
        tops.into_iter().flat_map(|top| simulation::STAGE_CLOCKS.map(|clocks| (top, clocks)))
    {
        let mut check = std::process::Command::new("verilator");
        check.args(["--lint-only", "-Wall", "--top-module", top]).args(parameters);
        check.arg(format!("-GSTAGE_CLOCKS={clocks}"));
        run(check.arg("-y").arg(rtl()).arg(rtl().join(format!("{top}.sv"))))?;
    }
    Ok(())
}
