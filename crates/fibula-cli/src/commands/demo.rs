//! `fibula demo`: the main job on a made table.

use super::measuring::{INTERNET, internet, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::table::Tables;
use fibula_io::trace::{self, TraceKind};
use fibula_lab::bench::Workload;
use fibula_lab::demo::{DemoOptions, DemoRow};
use fibula_lab::machine::Machine;
use std::fmt;
use std::io::{self, Write};

/// The number of addresses for each family. They are streamed again and again.
const ADDRESSES: usize = 10_000_000;

/// Show the main job: build the best engine for full Internet tables, check it, stream lookups
/// through it
///
/// Needs no file: the tables are made, as large and as nested as real ones of May 2026. Each engine
/// is compared with the oracle around every prefix and at a million random addresses. Takes less
/// than a minute on two cores.
///
/// The limit is the rate of one random 4-byte load per address from an array as large as the
/// engine's, on this machine. A share above 1 is possible: an engine may load more than once, but
/// from a part of its bytes that stays in the caches.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engine
    #[arg(short, long, default_value = fibula::engine::BEST)]
    engine: String,
    /// How many lookups are streamed, for each family
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    lookups: usize,
    /// How many threads; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The seed of the tables and the addresses
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        // A wrong name fails before a table is made.
        fibula_lab::select::<u32>(registry::engines(), &self.engine)?;
        let in_sentences = output.asked().is_none();
        if in_sentences {
            writeln!(io::stdout(), "{}\n", Machine::here())?;
        }
        let Tables { ipv4, ipv6, .. } = internet(self.seed)?;
        let mut printer = output.printer();
        let mut right = true;
        for row in [self.family(&ipv4)?, self.family(&ipv6)?].into_iter().flatten() {
            right &= row.mismatches == 0;
            if in_sentences {
                write!(io::stdout(), "{}", Sentences(&row))?;
            } else {
                printer.row(&row)?;
            }
        }
        printer.finish()?;
        Ok(Verdict::good_if(right))
    }

    /// Runs the demo for one family, if the engine does it. Prints the first wrong answers.
    fn family<A: Address>(&self, rib: &Rib<A>) -> anyhow::Result<Option<DemoRow>> {
        if fibula_lab::select::<A>(registry::engines(), &self.engine)?.is_empty() {
            tell(format_args!("{} does not do {}", self.engine, A::FAMILY));
            return Ok(None);
        }
        let kind = TraceKind::Prefix;
        let addresses = trace::generate(&kind, rib, ADDRESSES.min(self.lookups.max(1)), self.seed)?;
        let trace = kind.to_string();
        let workload = Workload { table: INTERNET, rib, trace: &trace, addresses: &addresses };
        let mut options =
            DemoOptions { engine: self.engine.clone(), lookups: self.lookups, ..DemoOptions::default() };
        if let Some(threads) = self.threads {
            options.threads = threads.into();
        }
        let (row, wrong) = fibula_lab::demo::demo(registry::engines(), workload, &options)?;
        tell_all(&wrong);
        Ok(Some(row))
    }
}

/// Prints a row for a reader who does not know the keys.
struct Sentences<'r>(&'r DemoRow);

impl fmt::Display for Sentences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.0;
        let family = if row.family == "ipv4" { "IPv4" } else { "IPv6" };
        writeln!(
            f,
            "{family}: {} prefixes, {} next hops (made table {:?})",
            grouped(row.prefixes),
            grouped(row.next_hops),
            row.table
        )?;
        writeln!(f, "  engine     {}", row.engine)?;
        let megabytes = row.bytes as f64 / 1e6;
        writeln!(
            f,
            "  built      in {:.1} ms: {megabytes:.2} MB, {:.2} bytes a prefix",
            row.build_ms, row.bytes_per_prefix
        )?;
        match row.mismatches {
            0 => writeln!(f, "  checked    {} answers against the oracle: all right", grouped(row.checked))?,
            wrong => writeln!(
                f,
                "  checked    {} answers against the oracle: {} WRONG",
                grouped(row.checked),
                grouped(wrong)
            )?,
        }
        let (Some(mlps), Some(limit), Some(share), Some(ns)) =
            (row.mlps, row.limit_mlps, row.limit_share, row.ns_dependent)
        else {
            return writeln!(f, "  streamed   nothing: a speed without right answers is no result\n");
        };
        let threads = if row.threads == 1 { "1 thread".into() } else { format!("{} threads", row.threads) };
        writeln!(
            f,
            "  streamed   {} lookups, addresses drawn from the prefixes, {threads}, {}: {mlps:.1} million a second",
            grouped(row.lookups),
            row.isa
        )?;
        writeln!(
            f,
            "  limit      {limit:.1} million a second: one random load an address from as many bytes; share {share:.2}"
        )?;
        writeln!(f, "  latency    {ns:.1} ns where each lookup waits for the one before\n")
    }
}

/// Writes a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_from_the_right() {
        assert_eq!([0, 12, 999, 1_000, 1_043_325].map(grouped), ["0", "12", "999", "1,000", "1,043,325"]);
    }
}
