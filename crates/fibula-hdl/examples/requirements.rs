//! Prints what the memories of the pipelines must hold for larger tables, as JSON lines:
//! for each IPv4 table the sizes that it fits and their bits, for each IPv6 table the parts of
//! SAIL's structure that are on chip (section 7 of the paper).
//!
//! `requirements [TABLE...]`: the made tables of 2026, and those of the files.

use anyhow::{Context, Result};
use fibula::Rib;
use fibula_hdl::{Driver, Pipeline, Sizes};
use fibula_io::generate::{self, NextHopModel, Size};
use fibula_io::{Source, table};
use serde_json::json;
use std::path::Path;

/// The bits of a block of RAM in an FPGA of Xilinx.
const BLOCK: u64 = 36 << 10;

/// The random choices are the same in each run.
const SEED: u64 = 24;

fn main() -> Result<()> {
    let made = generate::internet(Size::FULL, NextHopModel::Near(200), SEED)?;
    let mut tables = vec![("made, of 2026".to_owned(), made.ipv4, made.ipv6)];
    for path in std::env::args().skip(1) {
        let read = table::read(&Source::from(path.as_str()), &table::ReadOptions::default())?.tables;
        let file = Path::new(&path).file_name().context("a table is a file")?;
        tables.push((file.display().to_string(), read.ipv4, read.ipv6));
    }
    for (name, rib, _) in tables.iter().filter(|(_, rib, _)| !rib.is_empty()) {
        Pipeline::ALL.into_iter().try_for_each(|pipeline| pipelines(name, rib, pipeline))?;
    }
    for (name, _, rib) in tables.iter().filter(|(_, _, rib)| !rib.is_empty()) {
        ipv6(name, rib)?;
    }
    Ok(())
}

/// Prints the row of one pipeline, built with room to spare and then cut to what it used.
fn pipelines(name: &str, rib: &Rib<u32>, pipeline: Pipeline) -> Result<()> {
    let map_bits = if pipeline == Pipeline::Mosaic { 18 } else { 16 };
    let next_hop_bits = u32::BITS - rib.max_next_hop().0.leading_zeros();
    let room = Sizes { next_hop_bits, chunk_bits: 16, map_bits };
    let sizes = Driver::build(pipeline, room, rib)?.fitting();
    let (_, parameters) = pipeline.module(&sizes);
    let tables =
        parameters.iter().filter(|(name, _)| ["MAP_CHUNKS", "TILE_BITS", "CHUNK_BITS"].contains(name));
    let tables: Vec<String> = tables.map(|(name, bits)| format!("{name}={bits}")).collect();
    let (on, off) = (pipeline.on_chip_bits(&sizes), pipeline.off_chip_bits(&sizes));
    let row = json!({
        "table": name, "routes": rib.len(), "pipeline": pipeline.name(), "sizes": tables.join(" "),
        "next_hop_bits": next_hop_bits, "on_chip_bytes": on / 8, "blocks": on.div_ceil(BLOCK),
        "off_chip_bytes": off / 8,
    });
    println!("{row}");
    Ok(())
}

/// Prints the parts on chip of SAIL_L for IPv6, and their sum.
fn ipv6(name: &str, rib: &Rib<u128>) -> Result<()> {
    let memory = fibula_engines::build("sail-l6", rib)?.memory();
    let parts: Vec<(&str, u64)> = memory
        .parts
        .iter()
        .filter(|part| part.on_chip)
        .map(|part| (part.name, 8 * part.bytes as u64))
        .collect();
    let all = ("all", parts.iter().map(|(_, bits)| bits).sum());
    for (part, bits) in parts.into_iter().chain([all]) {
        let blocks = bits.div_ceil(BLOCK);
        let row =
            json!({"table": name, "routes": rib.len(), "part": part, "bytes": bits / 8, "blocks": blocks});
        println!("{row}");
    }
    Ok(())
}
