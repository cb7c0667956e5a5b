//! `fibula table diff`: the differences of two tables.

use crate::exit::Verdict;
use crate::output::{Output, Printer};
use crate::reading::Reading;
use clap::Args;
use fibula::{Address, Delta, NextHop, NextHops, Rib, Route};
use fibula_io::Source;
use fibula_io::table::Tables;
use serde::Serialize;
use std::io::Write;

/// Show the routes in which two tables differ
///
/// Next hops are compared by their text. The exit status is 0 if the tables are equal, 1 if they
/// differ.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table before, a file or `-`
    before: String,
    /// The table after, a file or `-`
    after: String,
    #[command(flatten)]
    reading: Reading,
}

/// One route that is not the same in both.
#[derive(Debug, Serialize)]
struct Row {
    change: &'static str,
    prefix: String,
    before: Option<String>,
    after: Option<String>,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        anyhow::ensure!(
            self.before != "-" || self.after != "-",
            "both tables cannot come from standard input"
        );
        self.reading.of_tables(2)?;
        let before = self.reading.read(&Source::from(self.before.as_str()))?;
        let after = self.reading.read(&Source::from(self.after.as_str()))?;
        let whole = before.damage.is_empty() && after.damage.is_empty();
        let (before, mut after) = (before.tables, after.tables);
        let next_hops = share_next_hops(before.next_hops, &mut after)?;
        let mut printer = output.batch_printer();
        let ipv4 = print(before.ipv4.diff(&after.ipv4), &next_hops, &mut printer)?;
        let ipv6 = print(before.ipv6.diff(&after.ipv6), &next_hops, &mut printer)?;
        printer.finish()?;
        Ok(Verdict::good_if(whole && ipv4 + ipv6 == 0))
    }
}

/// Numbers the next hops of a table by those of another, and adds the missing ones to it.
pub(super) fn share_next_hops(mut next_hops: NextHops, tables: &mut Tables) -> anyhow::Result<NextHops> {
    let shared = tables.next_hops.iter().map(|(_, info)| next_hops.intern(info.clone()));
    let shared: Vec<NextHop> = std::iter::once(Ok(NextHop::NONE)).chain(shared).collect::<Result<_, _>>()?;
    renumber(&mut tables.ipv4, &shared);
    renumber(&mut tables.ipv6, &shared);
    Ok(next_hops)
}

fn renumber<A: Address>(rib: &mut Rib<A>, shared: &[NextHop]) {
    let renumbered = |route: Route<A>| Route { next_hop: shared[route.next_hop.0 as usize], ..route };
    *rib = rib.iter().map(renumbered).collect();
}

/// Prints the differences of one family. Returns their number.
fn print<A: Address>(
    deltas: impl Iterator<Item = Delta<A>>,
    next_hops: &NextHops,
    printer: &mut Printer<impl Write>,
) -> anyhow::Result<usize> {
    let mut count = 0;
    for delta in deltas {
        count += 1;
        let change = match delta {
            Delta { before: NextHop::NONE, .. } => "added",
            Delta { after: NextHop::NONE, .. } => "removed",
            _ => "changed",
        };
        let [before, after] =
            [delta.before, delta.after].map(|next_hop| next_hops.get(next_hop).map(ToString::to_string));
        printer.row(&Row { change, prefix: delta.prefix.to_string(), before, after })?;
    }
    Ok(count)
}
