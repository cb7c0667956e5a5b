//! Measures a card, for `fibula study gpu`.

use super::Arguments;
use crate::commands::device::{Card, engines_with_kernels, on_processor, refusal};
use crate::commands::measuring::{base_name, tables};
use crate::exit::{Verdict, tell};
use crate::output::Output;
use fibula::{Change, Rib};
use fibula_gpu::Key;
use fibula_gpu::device::Cuda;
use fibula_gpu::study::{self, Limits, Plan, Study, Workload};
use fibula_io::table::Tables;
use fibula_io::trace;
use fibula_kit::With;
use fibula_lab::Refusal;
use indicatif::ProgressBar;
use serde::Serialize;

/// What a row is of.
#[derive(Clone, Copy, Serialize)]
struct Of<'s> {
    family: &'s str,
    table: &'s str,
    prefixes: usize,
}

impl Arguments {
    /// Runs all measurements and writes the evidence.
    pub(super) fn on_card(&self, card: &Card, output: &Output) -> anyhow::Result<Verdict> {
        let cuda = &card.cuda;
        let (mut tables, whole) = tables(&self.table, &self.reading)?;
        let changes = self.updates.load(&mut tables)?;
        let Tables { ipv4, ipv6, .. } = &tables;
        let mut refused = Vec::new();
        let mut studies = self.study(cuda, ipv4, &changes.ipv4, &mut refused)?;
        studies.extend(self.study(cuda, ipv6, &changes.ipv6, &mut refused)?);
        output.rows_and_refused(studies.iter().flat_map(|study| &study.sweep), &refused)?;
        anyhow::ensure!(
            !studies.is_empty(),
            "nothing to study: no engine of the list holds a family of the table"
        );
        self.evidence.write("gpu", |evidence| {
            evidence.header.device = shown(cuda.card());
            for study in &studies {
                let Study { family, table, prefixes, limits, sweep, cooperative, updates, .. } = study;
                let of = Of { family, table, prefixes: *prefixes };
                evidence.add([With { context: of, row: limits }])?;
                evidence.add(sweep.iter().map(|row| With { context: of, row }))?;
                evidence.add(cooperative.iter().map(|row| With { context: of, row }))?;
                evidence.add(updates.iter().map(|row| With { context: of, row }))?;
            }
            evidence.add(&refused)
        })?;
        Ok(if studies.iter().all(is_right) { whole } else { Verdict::Bad })
    }

    /// Studies one family of the table.
    fn study<A: Key>(
        &self,
        cuda: &Cuda,
        rib: &Rib<A>,
        changes: &[Change<A>],
        refused: &mut Vec<Refusal>,
    ) -> anyhow::Result<Vec<Study>> {
        let mut studies = Vec::new();
        if rib.is_empty() {
            return Ok(studies);
        }
        let addresses = trace::generate(&self.trace, rib, self.addresses as usize, 1)?;
        let plan = Plan::of_the_papers();
        for engine in engines_with_kernels::<A>(&self.engine)? {
            let fib = match on_processor(&engine, rib, None) {
                Ok(fib) => fib,
                Err(error) => {
                    refused.push(refusal::<A>(&engine, error)?);
                    continue;
                }
            };
            let table = base_name(&self.table);
            let workload = Workload { table, rib, engine: &engine, addresses: &addresses, fib: &fib };
            let bar = ProgressBar::new_spinner().with_message(engine.clone());
            let study = Study {
                engine: engine.clone(),
                family: A::FAMILY.to_string(),
                table: table.into(),
                prefixes: rib.len(),
                limits: Limits::of(cuda, &workload)?,
                sweep: study::sweep(cuda, &workload, &plan, &mut |row| show(&bar, row))?,
                cooperative: study::cooperative(cuda, &workload, &plan, &mut |row| show(&bar, row))?,
                updates: study::updates(cuda, &workload, changes, &plan, &mut |row| show(&bar, row))?,
            };
            bar.finish_and_clear();
            if !is_right(&study) {
                tell(format_args!(
                    "{engine} answers wrong on {}: see the column mismatches",
                    cuda.card().name
                ));
            }
            studies.push(study);
        }
        Ok(studies)
    }
}

fn is_right(study: &Study) -> bool {
    study.sweep.iter().all(|row| row.mismatches == 0)
        && study.cooperative.iter().all(|row| row.mismatches == 0)
}

fn show(bar: &ProgressBar, row: &impl Serialize) {
    bar.set_message(serde_json::to_string(row).unwrap_or_default());
    bar.tick();
}

fn shown(card: &fibula_gpu::device::Card) -> String {
    format!(
        "{}, {} MiB, {} multiprocessors, L2 {} MiB, driver for CUDA {}",
        card.name,
        card.memory_bytes >> 20,
        card.multiprocessors,
        card.l2_bytes >> 20,
        card.driver
    )
}
