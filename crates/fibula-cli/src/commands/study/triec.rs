//! `fibula study triec`: the TrieC paper's tables.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::registry;
use clap::Args;
use fibula::Rib;
use fibula_io::Source;
use fibula_io::generate::{NextHopModel, TriecGroup, triec};
use fibula_io::trace::{self, TraceKind};
use fibula_lab::study::study_triec;

/// The prefixes of the paper's tables, in thousands.
const THOUSANDS: [usize; 3] = [200, 300, 400];

/// TrieC's memory, its share of ExtraNHIA nodes and its accesses per lookup, on the tables of the
/// paper: groups A, B and C of 200,000, 300,000 and 400,000 prefixes (section 5.2, Figures 7 and 8)
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Tables to count on besides those of the paper
    #[arg(short, long, value_name = "TABLE")]
    table: Vec<String>,
    /// The next hops of the paper's tables
    #[arg(long, default_value = "near=40", value_name = "MODEL")]
    next_hops: NextHopModel,
    /// How many lookups are counted on each table
    #[arg(long, default_value_t = 1 << 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut printer = output.printer();
        let mut whole = Verdict::Good;
        for group in [TriecGroup::A, TriecGroup::B, TriecGroup::C] {
            for thousands in THOUSANDS {
                let tables = triec(group, thousands * 1000, self.next_hops, 1)?;
                printer.row(&self.count(&format!("{group}-{thousands}K"), &tables.ipv6)?)?;
            }
        }
        for name in &self.table {
            let loaded = self.reading.read(&Source::from(name.as_str()))?;
            if verdict(&loaded) == Verdict::Bad {
                whole = Verdict::Bad;
            }
            printer.row(&self.count(name, &loaded.tables.ipv6)?)?;
        }
        printer.finish()?;
        Ok(whole)
    }

    fn count(&self, table: &str, rib: &Rib<u128>) -> anyhow::Result<fibula_lab::study::TriecRow> {
        let addresses = trace::generate(&TraceKind::Prefix, rib, self.addresses as usize, 1)?;
        Ok(study_triec(registry::engines(), table, rib, &addresses)?)
    }
}
