//! `fibula study growth`: engines on tables that grow.

use super::common::{ToFile, each_table};
use crate::commands::measuring::{engines, tell_all, traces};
use crate::exit::Verdict;
use crate::output::Output;
use crate::plotted::{Axes, Plotted};
use crate::reading::Reading;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::generate::{self, NextHopModel, Size};
use fibula_io::table::Tables;
use fibula_io::trace::TraceKind;
use fibula_kit::plot::Kind;
use fibula_lab::Refusal;
use fibula_lab::study::{EngineStudy, StudyOptions, growth_rows, study_engines};
use indicatif::ProgressBar;
use serde::Serialize;

/// Measure engines on made tables that grow, have many next hops, or are those of an access router
/// or of a small private network, and on tables of your own
///
/// Bytes, speed on the `prefix` trace, latency, and the time to build and to update. Rows go to
/// standard output; `--plot` draws the speed on the made tables that grow.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "best,poptrie", value_name = "LIST")]
    engine: String,
    /// Tables to measure after the made ones, as they are
    #[arg(short, long, value_name = "TABLE")]
    table: Vec<String>,
    #[command(flatten)]
    reading: Reading,
    /// The sizes of the IPv4 tables, in prefixes
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "250000,500000,1000000,2000000,4000000",
        value_name = "N"
    )]
    ipv4: Vec<usize>,
    /// The sizes of the IPv6 tables, in prefixes
    #[arg(long, value_delimiter = ',', default_value = "125000,250000,500000,1000000", value_name = "N")]
    ipv6: Vec<usize>,
    /// The next hops of these tables
    #[arg(long, default_value = "near=200", value_name = "MODEL")]
    next_hops: NextHopModel,
    /// The next hops of the full table with many next hops
    #[arg(long, default_value = "near=72000", value_name = "MODEL")]
    many: NextHopModel,
    /// The host routes of the access router's table
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    hosts: usize,
    /// The routes of the private network
    #[arg(long, default_value_t = 1000, value_name = "N")]
    private: usize,
    /// How many timed passes
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    /// How many updates each engine follows, at most
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    updates: usize,
    #[command(flatten)]
    file: ToFile,
    #[command(flatten)]
    plotted: Plotted,
}

/// What is drawn: the speed on the made tables that grow.
const AXES: Axes = Axes { kind: Kind::Lines, x: "prefixes", y: &["mlps"], by: &["engine", "family"] };

/// An engine that refused one of the tables.
#[derive(Serialize)]
struct RefusedTable<'s> {
    table: &'s str,
    prefixes: usize,
    #[serde(flatten)]
    refusal: &'s Refusal,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        /// The name of the tables that are plotted.
        const GROWING: &str = "internet";
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is made
        let mut studies = Vec::new();
        let middle = |sizes: &[usize]| sizes.get(sizes.len() / 2).copied().unwrap_or_default();
        for &size in &self.ipv4 {
            self.study(&mut studies, GROWING, &generate::internet(Size::ipv4(size), self.next_hops, 1)?)?;
        }
        for &size in &self.ipv6 {
            self.study(&mut studies, GROWING, &generate::internet(Size::ipv6(size), self.next_hops, 1)?)?;
        }
        let full = Size { ipv4: middle(&self.ipv4), ipv6: middle(&self.ipv6) };
        self.study(&mut studies, "many next hops", &generate::internet(full, self.many, 1)?)?;
        let hosts = Size { ipv4: self.hosts, ipv6: self.hosts };
        self.study(&mut studies, "hosts", &generate::edge(hosts, self.next_hops, 1)?)?;
        let private = Size { ipv4: self.private, ipv6: self.private };
        self.study(&mut studies, "private", &generate::internet(private, self.next_hops, 1)?)?;
        let whole =
            each_table(&self.table, &self.reading, |name, tables| self.study(&mut studies, name, &tables))?;
        for study in &studies {
            tell_all(&study.wrong);
        }
        let refused = studies.iter().flat_map(|study| {
            let table = &study.table;
            study.refused.iter().map(move |refusal| RefusedTable { refusal, table, prefixes: study.prefixes })
        });
        let rows = growth_rows(&studies);
        output.rows_and_refused(&rows, refused.clone())?;
        if let Some(mut plot) = self.plotted.with(AXES) {
            rows.iter().filter(|row| row.table == GROWING).try_for_each(|row| plot.add(row))?;
            plot.write()?;
        }
        self.file
            .evidence
            .write("growth", |evidence| evidence.add(&rows).and_then(|()| evidence.add(refused)))?;
        let right = studies.iter().all(|study| study.wrong.is_empty());
        Ok(if right { whole } else { Verdict::Bad })
    }

    fn study(&self, studies: &mut Vec<EngineStudy>, name: &str, tables: &Tables) -> anyhow::Result<()> {
        studies.extend(self.family(name, &tables.ipv4)?);
        studies.extend(self.family(name, &tables.ipv6)?);
        Ok(())
    }

    /// Studies one family of a table; `None` if it has no routes or no engine does it.
    fn family<A: Address>(&self, name: &str, rib: &Rib<A>) -> anyhow::Result<Option<EngineStudy>> {
        let specifications = engines::<A>(&self.engine)?;
        if rib.is_empty() || specifications.is_empty() {
            return Ok(None);
        }
        let traces = traces(&[TraceKind::Prefix], rib, self.file.addresses);
        let changes = generate::updates(rib, self.updates, 1);
        let mut options = StudyOptions::default();
        options.bench.passes = self.passes.into();
        let bar = ProgressBar::new_spinner();
        let study = study_engines(
            registry::engines(),
            &specifications,
            (name, rib),
            &traces,
            &changes,
            &options,
            &mut |what| bar.set_message(format!("{name}, {} prefixes: {what}", rib.len())),
        )?;
        bar.finish_and_clear();
        Ok(Some(study))
    }
}
