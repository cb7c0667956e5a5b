//! `fibula inspect`: the memory and figures of compiled tables.

use super::measuring::{Building, OnTable, engines};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::registry;
use clap::Args;
use fibula::engine::Config;
use fibula::{Address, Fib, Rib};
use serde::{Serialize, Serializer};
use std::io::Write;

/// Build engines and show their memory by part, and the figures that their papers print
///
/// One row per number: the bytes of each part, those that the paper keeps on chip apart, and
/// figures like chunks, nodes, or prefixes after expansion.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = fibula::engine::BEST, value_name = "LIST")]
    engine: String,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
}

/// One number.
#[derive(Debug, Serialize)]
struct Row<'r> {
    engine: &'r str,
    family: String,
    kind: &'static str,
    name: &'r str,
    #[serde(serialize_with = "number")]
    value: f64,
}

/// Counts without a fraction.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && (0.0..9e15).contains(value) {
        serializer.serialize_u64(*value as u64)
    } else {
        serializer.serialize_f64(*value)
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is read
        let (tables, whole) = self.on_table.load()?;
        let mut printer = output.printer();
        let any = self.family(&tables.ipv4, &mut printer)? | self.family(&tables.ipv6, &mut printer)?;
        printer.finish()?;
        anyhow::ensure!(any, "nothing to inspect: no engine of the list holds a family of the table");
        Ok(whole)
    }

    /// Whether there was anything to show.
    fn family<A: Address>(&self, rib: &Rib<A>, printer: &mut Printer<impl Write>) -> anyhow::Result<bool> {
        if !self.on_table.wants(rib) {
            return Ok(false);
        }
        let mut any = false;
        for specification in engines::<A>(&self.engine)? {
            let mut config = Config::default();
            config.width = self.building.width;
            config.pages = self.building.pages();
            let fib = match Fib::build_from(registry::engines(), &specification, rib, config) {
                Ok(fib) => fib,
                Err(error) if error.limit().is_some() => {
                    tell(format_args!("{specification} does not hold this table: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            any = true;
            let (memory, figures) = (fib.memory(), fib.figures());
            let parts = memory.parts.iter().map(|part| {
                let kind = if part.on_chip { "bytes on chip" } else { "bytes" };
                (kind, part.name, part.bytes as f64)
            });
            let figures = figures.iter().map(|figure| ("figure", figure.name.as_ref(), figure.value));
            for (kind, name, value) in parts.chain(figures) {
                let family = A::FAMILY.to_string();
                printer.row(&Row { engine: fib.entry().about.name, family, kind, name, value })?;
            }
        }
        Ok(any)
    }
}
