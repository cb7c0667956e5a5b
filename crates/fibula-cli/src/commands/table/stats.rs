//! `fibula table stats`: what is in tables.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::Args;
use fibula_io::Source;
use serde::Serialize;

/// Show what is in tables: sizes, lengths, nesting, next hops
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The tables, files or `-`
    #[arg(required = true)]
    tables: Vec<String>,
    #[command(flatten)]
    reading: Reading,
}

/// One table.
#[derive(Debug, Serialize)]
struct Row {
    table: String,
    ipv4: usize,
    ipv6: usize,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut printer = output.printer();
        let mut whole = true;
        for table in &self.tables {
            let loaded = self.reading.read(&Source::from(table.as_str()))?;
            whole &= verdict(&loaded) == Verdict::Good;
            let tables = &loaded.tables;
            printer.row(&Row { table: table.clone(), ipv4: tables.ipv4.len(), ipv6: tables.ipv6.len() })?;
        }
        printer.finish()?;
        Ok(Verdict::good_if(whole))
    }
}
