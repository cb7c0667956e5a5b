//! Defects put into copies of the pipelines, which the test bench must catch.

use super::simulation::{bench, build, module};
use super::{rtl, target};
use crate::run::on_all_cores;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// A defect: of a pipeline, what it is, its file, the text that it replaces, and its own.
type Defect = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// One word in sixteen is not written on chip.
const LOST: (&str, &str, &str) =
    ("table_stage.sv", ".write(write && ", ".write(write && word[WRITE_DATA +: 4] != 4'd5 && ");

/// The bit of a map is chosen by the address behind.
const EARLY: (&str, &str, &str) = (
    "bitmap_stage.sv",
    "always_ff @(posedge clock) which <= (CLOCKS*BIT_BITS)'({which, index[BIT_BITS-1:0]});",
    "assign which = (CLOCKS*BIT_BITS)'(index[BIT_BITS-1:0]);",
);

/// The index of a next hop is shifted by a bit too few.
const SHIFT: (&str, &str, &str) =
    ("pipeline.sv", "(LENGTH_BITS'(DEEPEST) - found_length)", "(LENGTH_BITS'(DEEPEST - 1) - found_length)");

/// A defect of each kind for each pipeline.
const DEFECTS: [Defect; 15] = [
    ("sail_b", "shift", SHIFT.0, SHIFT.1, SHIFT.2),
    ("sail_b", "lost write", LOST.0, LOST.1, LOST.2),
    ("sail_b", "delay", EARLY.0, EARLY.1, EARLY.2),
    ("sail_u", "shift", SHIFT.0, SHIFT.1, SHIFT.2),
    ("sail_u", "lost write", LOST.0, LOST.1, LOST.2),
    ("sail_u", "delay", EARLY.0, EARLY.1, EARLY.2),
    (
        "sail_l",
        "shift",
        "chunks.sv",
        "first_rest[LOW_BITS +: SLOT_BITS]",
        "first_rest[LOW_BITS-1 +: SLOT_BITS]",
    ),
    ("sail_l", "lost write", LOST.0, LOST.1, LOST.2),
    ("sail_l", "delay", EARLY.0, EARLY.1, EARLY.2),
    (
        "mosaic",
        "shift",
        "mosaic.sv",
        "[CHUNK_BITS-1:0], tile_low})",
        "[CHUNK_BITS-1:0], LOW_BITS'(tile_low << 1)})",
    ),
    ("mosaic", "lost write", LOST.0, LOST.1, LOST.2),
    (
        "mosaic",
        "delay",
        "mosaic.sv",
        ".in_carried(root_rest[LOW_BITS-1:0])",
        ".in_carried(in_address[LOW_BITS-1:0])",
    ),
    (
        "dir24_8",
        "shift",
        "pipeline.sv",
        "assign found_low    = in_address[LOW_BITS-1:0];\n        assign found_answer = '0;\n        assign found_write  = taken_write;",
        "assign found_low    = in_address[LOW_BITS:1];\n        assign found_answer = '0;\n        assign found_write  = taken_write;",
    ),
    (
        "dir24_8",
        "lost write",
        "memory_stage.sv",
        "assign port_write       = in_write && ",
        "assign port_write       = in_write && in_word[WRITE_DATA +: 4] != 4'd5 && ",
    ),
    ("dir24_8", "delay", "memory_stage.sv", "(waiting[LATENCY])", "(waiting[LATENCY-1])"),
];

/// Puts each defect into a copy of the text and runs it; an error if the test bench finds all well.
/// Returns what was caught.
pub(super) fn all(vectors: &Path) -> Result<Vec<String>> {
    on_all_cores(&DEFECTS, |&(name, what, file, good, bad)| {
        let folder = target().join("defects").join(format!("{name}-{}", what.replace(' ', "-")));
        let copy = folder.join("rtl");
        std::fs::create_dir_all(&copy)?;
        for entry in std::fs::read_dir(rtl())? {
            let entry = entry?;
            let mut text = std::fs::read_to_string(entry.path())?;
            if entry.file_name() == file {
                ensure!(text.matches(good).count() == 1, "{file} has not once {good:?}");
                text = text.replace(good, bad);
            }
            std::fs::write(copy.join(entry.file_name()), text).context("cannot write a copy")?;
        }
        let module = module(name, vectors)?;
        // What is unused after the defect is none of this test's business, so warnings are off.
        let program = build(&module, &copy, &folder.join("model"))?;
        let (good, text) = bench(&program, &module, vectors, 1, "even")?;
        ensure!(!good, "{name} with a defect ({what}) passes:\n{text}");
        println!("caught in {name}: {what}: {}", text.lines().next().unwrap_or_default());
        Ok(format!("{name}: {what}"))
    })
}
