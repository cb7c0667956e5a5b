//! `fibula build`: writes a compiled table as a file that is mapped.

use super::measuring::OnTable;
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::engine::{BEST, Config, WidthBits};
use fibula::snapshot::{Image, Snapshot};
use fibula::{Address, Fib, Rib};
use fibula_io::snapshot;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Compile a table into a snapshot: a file that is mapped and answers at once
///
/// A snapshot holds both families and the next hops. With --rib it holds the routes too, and every
/// command reads it as a table; without them `fibula lookup` answers from it. It is written to a
/// temporary file and renamed, so that at any moment the name is either the whole old file or the
/// whole new one. It can be read on machines of this byte order.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engine, as in `best` or `dxr/k=20`
    #[arg(short, long, default_value = BEST, value_name = "ENGINE")]
    engine: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Keep the routes too
    #[arg(long)]
    rib: bool,
    /// The width of next hops in bits, 8, 16 or 32
    #[arg(long, value_parser = super::measuring::width, value_name = "BITS")]
    width: Option<WidthBits>,
    #[command(flatten)]
    on_table: OnTable,
}

/// A table of the snapshot that was written.
#[derive(Debug, Serialize)]
struct Row {
    engine: String,
    family: String,
    table: String,
    prefixes: u64,
    next_hops: u64,
    width: u8,
    /// Of the file, as the times to write it and to map it again, check it and open its engines.
    bytes: u64,
    build_ms: f64,
    write_ms: f64,
    open_ms: f64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (tables, whole) = self.on_table.load()?;
        let mut build_ms = Vec::new();
        let ipv4 = self.built(&tables.ipv4, &mut build_ms)?;
        let ipv6 = self.built(&tables.ipv6, &mut build_ms)?;
        let start = Instant::now();
        let mut image = Image::new(&tables.next_hops);
        if let Some(fib) = &ipv4 {
            image = image.with(fib, &tables.ipv4, self.rib)?;
        }
        if let Some(fib) = &ipv6 {
            image = image.with(fib, &tables.ipv6, self.rib)?;
        }
        snapshot::write(&image, &self.output)?;
        let write_ms = milliseconds(start);
        let start = Instant::now();
        let snapshot = Snapshot::open(&self.output)?;
        snapshot.views_from(registry::engines())?;
        let open_ms = milliseconds(start);
        output.rows(snapshot.parts().iter().zip(build_ms).map(|(part, build_ms)| Row {
            engine: part.specification.clone(),
            family: part.family.to_string(),
            table: self.on_table.name(),
            prefixes: part.prefixes,
            next_hops: tables.next_hops.len() as u64,
            width: part.width.bits(),
            bytes: image.bytes(),
            build_ms,
            write_ms,
            open_ms,
        }))?;
        Ok(whole)
    }

    /// Compiles a family that the snapshot is to hold, and adds the milliseconds that it took.
    fn built<A: Address>(&self, rib: &Rib<A>, build_ms: &mut Vec<f64>) -> anyhow::Result<Option<Fib<A>>> {
        if !self.on_table.wants(rib) {
            return Ok(None);
        }
        let mut config = Config::default();
        config.width = self.width;
        let start = Instant::now();
        let fib = Fib::build_from(registry::engines(), &self.engine, rib, config)?;
        build_ms.push(milliseconds(start));
        Ok(Some(fib))
    }
}

fn milliseconds(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
