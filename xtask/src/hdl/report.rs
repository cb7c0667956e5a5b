//! The evidence of the hardware pipelines, and `docs/hdl.md` made from it.

use super::simulation::Simulated;
use super::synthesis::{Device, Routed};
use crate::run::{output, root};
use anyhow::{Context, Result};
use fibula_kit::{Error, Evidence, Header, Row, fill};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// The bits of a prefix in the Bloom filters of PBF (the paper, section 6.2).
const PBF_BITS: f64 = 18.755;

/// The blocks of 36 Kb of the paper's part, XC7VX1140T, and the clocks that the paper has for it,
/// in MHz.
const PAPER: (u64, [(&str, u32); 3]) = (1_880, [("sail_b", 351), ("sail_u", 405), ("sail_l", 479)]);

/// Writes the evidence and the page.
pub(super) fn write(
    vectors: &Path,
    simulated: &[Simulated],
    devices: &[Device],
    routed: &[Routed],
    larger: &str,
) -> Result<()> {
    // What is simulated is the tree's own, of the commit that it has.
    let mut git = Command::new("git");
    let commit = output(git.args(["describe", "--always", "--dirty", "--exclude=*"]).current_dir(root()))?;
    let header = Header::here("hdl", "cargo xtask hdl".into(), commit.trim(), String::new());
    let mut evidence = Evidence { header, rows: Vec::new() };
    for run in simulated {
        let [_, changes, words, routes, bits] = run.module.numbers[..] else { continue };
        for (memories, printed) in [("even", &run.even), ("rough", &run.rough)] {
            evidence.add([json!({
                "pipeline": run.module.name, "stages": run.module.stages, "stage_clocks": run.stage_clocks,
                "routes": routes, "changes": changes, "words": words, "memories": memories,
                "printed": printed.trim().trim_start_matches("even: ").trim_start_matches("rough: "),
                "reserved_bytes": bits / 8, "pbf_bytes": routes as f64 * PBF_BITS / 8.0,
            })])?;
        }
    }
    // What follows is the same for any number of clocks a stage.
    for run in simulated.iter().filter(|run| run.stage_clocks == 1) {
        let name = run.module.name;
        let path = vectors.join(format!("{name}.followed"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let [memory, index, data] = words[..] {
                // The last line of an address has its answer.
                let [memory, index, data] =
                    if data == "." { [memory, "next hop", index] } else { [memory, index, data] };
                evidence.add([json!({"pipeline": name, "memory": memory, "index": index, "data": data})])?;
            }
        }
    }
    let (blocks, clocks) = PAPER;
    for device in devices {
        let taken = device.ramb36 as f64 + device.ramb18 as f64 / 2.0;
        evidence.add([json!({
            "pipeline": device.name, "parameters": device.parameters, "ramb36": device.ramb36,
            "ramb18": device.ramb18, "percent_of_part": 100.0 * taken / blocks as f64, "luts": device.luts,
            "registers": device.registers,
            "paper_mhz": clocks.iter().find(|(name, _)| *name == device.name).map(|(_, clock)| clock),
        })])?;
    }
    for Routed { name, size, stage_clocks, blocks, megahertz, path } in routed {
        evidence.add([json!({
            "pipeline": name, "size": size, "stage_clocks": stage_clocks, "blocks_18k": blocks,
            "mhz": megahertz, "from": path.from, "to": path.to, "ns": path.nanoseconds,
            "ns_on_wires": path.wires,
        })])?;
    }
    let larger = larger.lines().map(serde_json::from_str).collect::<serde_json::Result<Vec<Row>>>()?;
    evidence.add(larger)?;
    let (docs, name) = (root().join("docs"), "docs/hdl.md");
    std::fs::write(docs.join("evidence/hdl.jsonl"), evidence.text()?)?;
    let page = std::fs::read_to_string(root().join(name)).context(name)?;
    let read =
        |file: &str| std::fs::read_to_string(docs.join(file)).map_err(|error| Error::new(error.to_string()));
    std::fs::write(root().join(name), fill(&page, name, read)?.text).context(name)
}
