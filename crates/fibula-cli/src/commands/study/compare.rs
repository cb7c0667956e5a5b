//! `fibula study compare`: an engine beside others, and the measures that it loses.

use super::common::{OnTables, ToFile, each_table};
use crate::commands::measuring::{engines, tell_all, traces};
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::generate::{NextHopModel, remap};
use fibula_kit::With;
use fibula_lab::Refusal;
use fibula_lab::bench::{BenchOptions, BenchRow};
use fibula_lab::study::{Comparison, compare};
use indicatif::ProgressBar;
use serde::Serialize;

/// Race an engine against others on many tables, and print the ratios and every measure that it
/// loses
///
/// Rows go to standard output, one for each table, model of next hops and trace. With `--output` a
/// file also has every engine's figures and every measure that is lost.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engine, or one per family
    #[arg(short, long, default_value = "best", value_name = "LIST")]
    engine: String,
    /// The engines that it is compared with; with the feature `peers` also `peer:` names
    #[arg(long, default_value = "dir24-8,sail-l,poptrie,dxr,sail-l6", value_name = "LIST")]
    against: String,
    /// The models of next hops, each a comparison of its own
    #[arg(long, value_delimiter = ',', default_value = "near=200,different=200", value_name = "MODEL")]
    next_hops: Vec<NextHopModel>,
    /// The numbers of addresses in a call, each a comparison of its own; 1 also compares `lookup`,
    /// which is no batch
    #[arg(long, value_delimiter = ',', default_value = "16384", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Vec<u32>,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    /// The number of threads for the scaling figure: the speed on them over that on one
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    #[command(flatten)]
    on_tables: OnTables,
    #[command(flatten)]
    file: ToFile,
}

/// The model of a table's next hops.
#[derive(Clone, Copy, Serialize)]
struct Model<'s> {
    model: &'s str,
}

/// An engine that refused one of the tables.
#[derive(Serialize)]
struct RefusedTable<'s> {
    table: &'s str,
    model: &'s str,
    #[serde(flatten)]
    refusal: &'s Refusal,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        for list in [&self.engine, &self.against] {
            engines::<u32>(list)?; // a wrong name fails before a table is read
        }
        let mut comparisons = Vec::new();
        let OnTables { table, reading, .. } = &self.on_tables;
        let whole = each_table(table, reading, |name, tables| {
            for &model in &self.next_hops {
                comparisons.extend(self.compare(name, model, &tables.ipv4)?);
                comparisons.extend(self.compare(name, model, &tables.ipv6)?);
            }
            Ok(())
        })?;
        anyhow::ensure!(
            !comparisons.is_empty(),
            "nothing to compare: no family of a table has an engine and another to compare it with"
        );
        for comparison in &comparisons {
            tell_all(&comparison.wrong);
        }
        let refused = comparisons.iter().flat_map(|comparison| {
            let Comparison { table, model, .. } = comparison;
            comparison.refused.iter().map(move |refusal| RefusedTable { table, model, refusal })
        });
        output.rows_and_refused(comparisons.iter().flat_map(Comparison::rows), refused.clone())?;
        self.file.evidence.write("compare", |evidence| {
            for comparison in &comparisons {
                evidence.add(comparison.rows())?;
                evidence.add(comparison.lost())?;
                let context = Model { model: &comparison.model };
                evidence.add(comparison.races.iter().flatten().map(|row| With { context, row }))?;
            }
            evidence.add(refused)
        })?;
        anyhow::ensure!(
            comparisons.iter().any(|comparison| !comparison.races.is_empty()),
            "nothing to compare: the engine refuses every table"
        );
        // Wrong answers of the others are a finding. Wrong answers of its own are a failure.
        let own_is_right = |race: &Vec<_>| race.first().is_some_and(|row: &BenchRow| row.mismatches == 0);
        let right = comparisons.iter().flat_map(|comparison| &comparison.races).all(own_is_right);
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Compares one family of a table; `None` if it has no routes or there is nothing to compare.
    fn compare<A: Address>(
        &self,
        table: &str,
        model: NextHopModel,
        rib: &Rib<A>,
    ) -> anyhow::Result<Option<Comparison>> {
        let own = engines::<A>(&self.engine)?;
        let rivals = engines::<A>(&self.against)?;
        let Some(own) = own.first().filter(|_| !rib.is_empty() && !rivals.is_empty()) else {
            return Ok(None);
        };
        let rib = remap(rib, model, 1, 1);
        let traces = traces(&self.on_tables.trace, &rib, self.file.addresses);
        let batches = self.batch.iter().map(|&batch| batch as usize).collect();
        let options = BenchOptions { passes: self.passes.into(), batches, ..BenchOptions::default() };
        let bar = ProgressBar::new_spinner();
        let comparison = compare(
            registry::engines(),
            (own, &rivals),
            (table, &model.to_string(), &rib),
            &traces,
            self.threads.into(),
            &options,
            &mut |what| bar.set_message(what.to_owned()),
        )?;
        bar.finish_and_clear();
        Ok(Some(comparison))
    }
}
