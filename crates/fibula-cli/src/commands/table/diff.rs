//! `fibula table diff`: how two tables differ.

use crate::exit::Verdict;
use crate::output::{Output, Printer};
use crate::reading::Reading;
use clap::Args;
use fibula::{Address, NextHop, NextHops, Rib, Route};
use fibula_io::Source;
use serde::Serialize;
use std::io::Write;

/// Show the routes in which two tables differ
///
/// Next hops are compared by what they stand for. The exit status is 0 if the tables are equal, 1 if they differ.
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
        let before = self.reading.read(&Source::from(self.before.as_str()))?;
        let after = self.reading.read(&Source::from(self.after.as_str()))?;
        let whole = before.damage.is_empty() && after.damage.is_empty();
        let (before, after) = (before.tables, after.tables);
        let next_hops = [&before.next_hops, &after.next_hops];
        let mut printer = output.batch_printer();
        let ipv4 = compare([&before.ipv4, &after.ipv4], next_hops, &mut printer)?;
        let ipv6 = compare([&before.ipv6, &after.ipv6], next_hops, &mut printer)?;
        printer.finish()?;
        Ok(Verdict::good_if(whole && ipv4 && ipv6))
    }
}

/// Prints the differences of one family, in order of prefix; whether there are none.
fn compare<A: Address>(
    tables: [&Rib<A>; 2],
    next_hops: [&NextHops; 2],
    printer: &mut Printer<impl Write>,
) -> anyhow::Result<bool> {
    let mut equal = true;
    let [mut before, mut after] = tables.map(|rib| rib.iter().peekable());
    loop {
        let first = [before.peek(), after.peek()].into_iter().flatten().map(|route| route.prefix).min();
        let Some(prefix) = first else { return Ok(equal) };
        let here = |route: &Route<A>| route.prefix == prefix;
        let of = |route: Option<Route<A>>| route.map_or(NextHop::NONE, |route| route.next_hop);
        let was = next_hops[0].get(of(before.next_if(here)));
        let is = next_hops[1].get(of(after.next_if(here)));
        if was == is {
            continue;
        }
        equal = false;
        let change = match (was, is) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        let text = ToString::to_string;
        printer.row(&Row { change, prefix: prefix.to_string(), before: was.map(text), after: is.map(text) })?;
    }
}
