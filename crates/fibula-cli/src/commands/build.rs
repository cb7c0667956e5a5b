//! `fibula build`: writes a compiled table as a file that is mapped.

use super::measuring::OnTable;
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::engine::{BEST, Config, WidthBits};
use fibula::snapshot::Image;
use fibula::{Address, Fib, NextHops, Rib};
use fibula_io::snapshot;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Compile a table into a snapshot: a file that is mapped and answers at once
///
/// A snapshot holds one family and the next hops. With --rib it holds the routes too, and every
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

/// The snapshot that was written.
#[derive(Debug, Serialize)]
struct Row {
    engine: String,
    family: String,
    table: String,
    prefixes: u64,
    next_hops: u64,
    width: u8,
    bytes: u64,
    build_ms: f64,
    write_ms: f64,
    /// The time to map the file again, check it and open an engine.
    open_ms: f64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (tables, whole) = self.on_table.load()?;
        let next_hops = &tables.next_hops;
        let row = match (self.on_table.wants(&tables.ipv4), self.on_table.wants(&tables.ipv6)) {
            (true, true) => {
                anyhow::bail!("the table has both families and a snapshot one: choose with --family")
            }
            (false, true) => self.family(&tables.ipv6, next_hops)?,
            _ => self.family(&tables.ipv4, next_hops)?,
        };
        output.rows([row])?;
        Ok(whole)
    }

    fn family<A: Address>(&self, rib: &Rib<A>, next_hops: &NextHops) -> anyhow::Result<Row> {
        let mut config = Config::default();
        config.width = self.width;
        let start = Instant::now();
        let fib = Fib::build_from(registry::engines(), &self.engine, rib, config)?;
        let build_ms = milliseconds(start);
        let start = Instant::now();
        let image = Image::new(&fib, rib, next_hops, self.rib)?;
        snapshot::write(&image, &self.output)?;
        let write_ms = milliseconds(start);
        let start = Instant::now();
        snapshot::open(&self.output)?.view_from::<A>(registry::engines())?;
        let open_ms = milliseconds(start);
        Ok(Row {
            engine: fib.specification(),
            family: A::FAMILY.to_string(),
            table: self.on_table.name(),
            prefixes: rib.len() as u64,
            next_hops: next_hops.len() as u64,
            width: fib.width().bits(),
            bytes: image.bytes(),
            build_ms,
            write_ms,
            open_ms,
        })
    }
}

fn milliseconds(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
