//! `fibula table at`: a table as it was at a time.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use anyhow::Context;
use clap::Args;
use fibula_io::Source;
use std::time::Duration;

/// Write a table as it was at a time: a dump, and the updates after it up to then
///
/// Of MRT files the paths of all peers are followed. A prefix has the best path that was left, or
/// with --peer that peer's. Updates may also be text: `A|W prefix next-hop time` on each line.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The time: 2026-05-11T12:00:00 or 2026-05-11 12:00:00 (UTC), or seconds since 1970
    #[arg(value_name = "TIME", value_parser = time)]
    time: Duration,
    /// The table to begin with, a file
    #[arg(long, value_name = "FILE")]
    rib: String,
    /// The updates after it, files in order of time
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    updates: Vec<String>,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

fn time(text: &str) -> anyhow::Result<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).context("expected seconds since 1970");
    }
    let time = humantime::parse_rfc3339_weak(text).context("expected a time as 2026-05-11T12:00:00")?;
    time.duration_since(std::time::UNIX_EPOCH).context("expected a time since 1970")
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let updates: Vec<Source> = self.updates.iter().map(|file| Source::from(file.as_str())).collect();
        let loaded = self.reading.read_at(&Source::from(self.rib.as_str()), &updates, self.time)?;
        self.writing.write(&loaded.tables, output)?;
        Ok(verdict(&loaded))
    }
}
