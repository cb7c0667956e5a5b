//! `fibula bench --device gpu`: the speed of engines on a card.

use super::Run;
use crate::commands::device::{Card, on_processor, refusal};
use crate::exit::tell;
use fibula::Rib;
use fibula_gpu::{Key, study};
use fibula_lab::Expected;
use std::io::Write;

impl<W: Write> Run<'_, W> {
    /// Races engines on a card.
    pub(super) fn on_card<A: Key>(
        &mut self,
        card: &Card,
        specifications: &[String],
        (table, rib): (&str, &Rib<A>),
        (trace, addresses): (&str, &[A]),
    ) -> anyhow::Result<()> {
        let Card { cuda, options } = card;
        let stride = (addresses.len() / self.arguments.options().check).max(1);
        let expected = Expected::new(rib, addresses.iter().step_by(stride).copied().collect())?;
        let passes = self.arguments.passes.into();
        for engine in specifications {
            let fib = match on_processor(engine, rib, self.arguments.building.width) {
                Ok(fib) => fib,
                Err(error) => {
                    self.refuse(refusal::<A>(engine, error)?)?;
                    continue;
                }
            };
            let workload = study::Workload { table, rib, engine, addresses, fib: &fib };
            // With the processor beside it one row: the threads are the processor's.
            let feeders = if card.is_alone() { &self.arguments.threads[..] } else { &[1] };
            for &feeders in feeders {
                let right = (expected.next_hops(), stride);
                let row = study::race(cuda, &workload, trace, right, *options, feeders.into(), passes)?;
                if let Some(fault) = &row.fault {
                    tell(format_args!("{fault}; the processor has answered the rest"));
                }
                self.raced = true;
                self.right &= row.mismatches == 0 && row.fault.is_none();
                self.printer.row(&row)?;
            }
        }
        Ok(())
    }
}
