//! Writes what the test bench of `hdl/` reads: for each pipeline its first memories, and then for
//! each clock an address with its answers, and often a word to write.
//!
//! `vectors FOLDER BEATS SCALE [TABLE UPDATES]`: `SCALE` is `small` or `full`. Without `TABLE` the
//! table and its updates are made.
//!
//! Files, all little-endian. `NAME.image`: records of memory u32, index u32, count u32, 0 u32, data
//! u64. `NAME.beats`: records of flags u8 (1: an address, 2: a word), memory u8, 0 u16, address
//! u32, answer before u32, answer after u32, index u32, 0 u32, data u64. An address between the
//! words of one change may be answered as before the change or as after it. `NAME.module`: the top
//! module, the stages on chip, the number of beats, changes, words, routes and bits on chip, and
//! the parameters. `NAME.followed`: the reads of one lookup.

use anyhow::{Context, Result, bail};
use fibula::{Change, Fib, NextHop, Prefix, Rib};
use fibula_hdl::{Driver, Memories, Pipeline, Read, Sizes, Word};
use fibula_io::generate::{self, NextHopModel, Size};
use fibula_io::{Source, table, update};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

/// The clocks before the first word of each change. The bench sends the first of them alone.
const GAP: usize = 12;

/// The random choices are the same in each run.
const SEED: u64 = 24;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, beats, scale, files @ ..] = &arguments[..] else {
        bail!("usage: vectors FOLDER BEATS small|full [TABLE UPDATES]")
    };
    let (rib, changes) = match files {
        [] => made(if scale == "small" { 3_000 } else { 500_000 })?,
        [table, updates] => read(table, updates)?,
        _ => bail!("a table and its updates are two files"),
    };
    println!("{} routes, {} changes, next hops up to {}", rib.len(), changes.len(), rib.max_next_hop().0);
    std::fs::create_dir_all(folder)?;
    for pipeline in Pipeline::ALL {
        vectors(
            pipeline,
            sizes(pipeline, scale == "small"),
            &rib,
            &changes,
            beats.parse()?,
            folder.as_ref(),
        )?;
    }
    Ok(())
}

/// Returns the sizes that the tables fit.
fn sizes(pipeline: Pipeline, small: bool) -> Sizes {
    let map_bits = match pipeline {
        Pipeline::Mosaic if small => 12,
        Pipeline::Mosaic => 17,
        _ if small => 12,
        _ => 16,
    };
    let (next_hop_bits, chunk_bits) = if small { (8, 10) } else { (16, 13) };
    Sizes { next_hop_bits, chunk_bits, map_bits }
}

fn made(routes: usize) -> Result<(Rib<u32>, Vec<Change<u32>>)> {
    let mut rib = generate::internet(Size::ipv4(routes), NextHopModel::Near(200), SEED)?.ipv4;
    // A small share of a full table has few routes longer than /24, so more are added.
    let networks: Vec<Prefix<u32>> = rib.iter().map(|route| route.prefix).collect();
    for network in networks.iter().filter(|network| network.len() == 24).step_by(8).take(500) {
        for length in [25, 28, 32] {
            let prefix = Prefix::containing(network.last() ^ 1 << (32 - length), length);
            rib.insert(prefix, NextHop(1 + u32::from(length)));
        }
    }
    let changes = generate::updates(&rib, 4_000, SEED);
    Ok((rib, changes))
}

fn read(table: &str, updates: &str) -> Result<(Rib<u32>, Vec<Change<u32>>)> {
    let mut tables = table::read(&Source::from(table), &table::ReadOptions::default())?.tables;
    let options = update::ReadOptions::default();
    let mut updates = update::read(&Source::from(updates), &options, &mut tables.next_hops)?;
    updates.settle(&tables.ipv4, &tables.ipv6);
    Ok((tables.ipv4, updates.ipv4.iter().map(|timed| timed.change).collect()))
}

/// An address, in the prefix of the last change, in that of some route, or anywhere.
fn address(random: &mut fastrand::Rng, routes: &[Prefix<u32>], last: Prefix<u32>) -> u32 {
    let prefix = match random.u8(..8) {
        0..4 => last,
        4..7 if !routes.is_empty() => routes[random.usize(..routes.len())],
        _ => Prefix::ALL,
    };
    match random.u8(..8) {
        0 => prefix.first(),
        1 => prefix.last(),
        _ => random.u32(prefix.first()..=prefix.last()),
    }
}

fn vectors(
    pipeline: Pipeline,
    sizes: Sizes,
    rib: &Rib<u32>,
    changes: &[Change<u32>],
    beats: usize,
    folder: &Path,
) -> Result<()> {
    let file = |ending| -> Result<BufWriter<File>> {
        let path = folder.join(format!("{}.{ending}", pipeline.name()));
        Ok(BufWriter::new(File::create(&path).with_context(|| path.display().to_string())?))
    };
    let mut rib = rib.clone();
    let mut driver = Driver::build(pipeline, sizes, &rib)?;
    let mut image = file("image")?;
    for run in driver.memories().runs() {
        for number in [u32::from(run.first.memory), run.first.index, run.count, 0] {
            image.write_all(&number.to_le_bytes())?;
        }
        image.write_all(&run.first.data.to_le_bytes())?;
    }
    image.flush()?;

    let routes: Vec<Prefix<u32>> = rib.iter().map(|route| route.prefix).collect();
    let mut oracle = Fib::build("oracle", &rib)?;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut out = file("beats")?;
    let (mut written, mut words_written, mut followed) = (0, 0, 0);
    let mut changes = changes.iter();
    let mut last = Prefix::ALL;
    while written < beats {
        for _ in 0..GAP {
            let address = address(&mut random, &routes, last);
            let answer = oracle.lookup_index(address).0;
            beat(&mut out, address, answer, answer, None)?;
        }
        let delta = changes.next().and_then(|&change| rib.apply(change));
        let words = match delta {
            Some(delta) => {
                followed += 1;
                last = delta.prefix;
                driver.apply(&rib, &[delta])?
            }
            None => Vec::new(),
        };
        let clocks: Vec<(u32, Option<&Word>)> =
            words.iter().map(|word| (address(&mut random, &routes, last), Some(word))).collect();
        let before: Vec<u32> = clocks.iter().map(|(address, _)| oracle.lookup_index(*address).0).collect();
        if let Some(delta) = delta {
            oracle.apply(&rib, &[delta])?;
        }
        let after: Vec<u32> = clocks.iter().map(|(address, _)| oracle.lookup_index(*address).0).collect();
        for ((&(address, word), &before), &after) in clocks.iter().zip(&before).zip(&after) {
            // The word of a beat is written behind its address.
            beat(&mut out, address, before, after, word)?;
        }
        written += clocks.len() + GAP;
        words_written += words.len();
    }
    out.flush()?;
    follow(pipeline, &sizes, driver.memories(), &rib, &mut file("followed")?)?;
    let (module, parameters) = pipeline.module(&sizes);
    let mut text = file("module")?;
    writeln!(
        text,
        "{module} {} {written} {followed} {words_written} {} {}",
        pipeline.stages(),
        rib.len(),
        pipeline.on_chip_bits(&sizes)
    )?;
    for (name, value) in parameters {
        writeln!(text, "{name} {value}")?;
    }
    Ok(text.flush()?)
}

/// The memories of a pipeline, and the reads from them.
struct Recorded<'a> {
    memories: &'a Memories,
    reads: RefCell<Vec<Word>>,
}

impl Read for Recorded<'_> {
    fn read(&self, memory: u8, index: u32) -> u64 {
        let data = self.memories.read(memory, index);
        self.reads.borrow_mut().push(Word { memory, index, data });
        data
    }
}

/// Writes the reads of the lookup of one address: in the first route longer than /24, if there is
/// one. A line is the memory, the index and the data; the last is the address and its answer.
fn follow(
    pipeline: Pipeline,
    sizes: &Sizes,
    memories: &Memories,
    rib: &Rib<u32>,
    out: &mut impl Write,
) -> Result<()> {
    let route = rib.iter().find(|route| route.prefix.len() > 24).or_else(|| rib.iter().next());
    let address = route.context("the table has a route")?.prefix.last();
    let recorded = Recorded { memories, reads: RefCell::default() };
    let answer = pipeline.lookup(&recorded, sizes, address);
    for read in recorded.reads.into_inner() {
        writeln!(out, "{} {:#x} {:#x}", read.memory, read.index, read.data)?;
    }
    Ok(writeln!(out, "{} {answer} .", Ipv4Addr::from(address))?)
}

fn beat(out: &mut impl Write, address: u32, before: u32, after: u32, word: Option<&Word>) -> Result<()> {
    let none = Word { memory: 0, index: 0, data: 0 };
    let flags = if word.is_some() { 3 } else { 1 };
    let word = word.unwrap_or(&none);
    out.write_all(&[flags, word.memory, 0, 0])?;
    for number in [address, before, after, word.index, 0] {
        out.write_all(&number.to_le_bytes())?;
    }
    Ok(out.write_all(&word.data.to_le_bytes())?)
}
