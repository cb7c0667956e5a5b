//! `fibula table watch`: the changes of routes, as they happen.

use crate::exit::Verdict;
use crate::feed::{self, Listener, PolicyName, Routers};
use crate::operand::{Operand, check_standard_input, sources};
use crate::output::{Format, Output, Printer};
use crate::reading::Reading;
use anyhow::bail;
use clap::Args;
use fibula::{IpPrefix, Rib};
use fibula_io::Source;
use fibula_io::follow::{Excess, Followed};
use fibula_io::mrt::Event;
use serde::Serialize;
use std::io::Write;

/// Print the changes of routes, one a line: of a file or a pipe of MRT or RIS Live messages, or of
/// routers that speak BMP
///
/// A row is a prefix whose best path has changed, with the value of the path that is best now, or
/// `withdrawn`. Routes that a router has when it connects are changes too. RIS Live messages are
/// read as `curl -sN https://ris-live.ripe.net/v1/stream/?format=json` prints them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What is followed: a file or `-`
    #[arg(required_unless_present = "bmp", conflicts_with = "bmp", value_name = "INPUT")]
    input: Option<String>,
    /// Listen for routers that speak BMP (RFC 7854), as in 192.0.2.1:11019
    #[arg(long, value_name = "ADDRESS")]
    bmp: Option<String>,
    /// Which routes of a router: those that it has chosen, that its peers send, what its policy
    /// leaves of them, or what it sends; several with commas between them, with rows of their
    /// own
    #[arg(
        long,
        value_enum,
        default_value = "own",
        value_delimiter = ',',
        value_name = "POLICIES",
        requires = "bmp"
    )]
    policy: Vec<PolicyName>,
    /// Only prefixes that one of these covers: tables, files or `-`; or prefixes, addresses, ranges
    #[arg(long, value_name = "SET", num_args = 1..)]
    within: Vec<Operand>,
    #[command(flatten)]
    routers: Routers,
    #[command(flatten)]
    reading: Reading,
}

/// A change.
#[derive(Debug, Serialize)]
struct Row<'r> {
    time: f64,
    /// The router that told it by BMP, with the view where several are followed.
    router: Option<&'r str>,
    /// The peer that the message came from.
    peer: String,
    change: &'static str,
    prefix: String,
    value: Option<String>,
}

/// What was followed so far, and where changes are printed.
struct Watching<W: Write> {
    followed: Followed,
    /// The prefixes that are asked for, if not all are.
    within: Option<(Rib<u32>, Rib<u128>)>,
    printer: Printer<W>,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let budget = self.reading.budget()?;
        let value = self.reading.value.unwrap_or_default();
        let followed = Followed::new(self.reading.peer.as_deref(), value, budget);
        let followed = followed.map_err(anyhow::Error::msg)?.sharing(self.routers.bmp_share);
        let lines = Output::new(output.asked().or(Some(Format::JsonLine)));
        let mut watching = Watching { followed, within: self.within()?, printer: lines.printer() };
        let verdict = match (&self.bmp, &self.input) {
            (Some(address), _) => {
                let views = feed::views(&self.policy, &self.reading)?;
                feed::station(address, views, &self.routers, &mut watching)?
            }
            (None, Some(input)) => feed::input(&input.as_str().into(), &self.reading, &mut watching)?,
            (None, None) => bail!("expected INPUT or --bmp"),
        };
        watching.printer.finish()?;
        Ok(verdict)
    }

    fn within(&self) -> anyhow::Result<Option<(Rib<u32>, Rib<u128>)>> {
        let input = self.input.as_deref().map(Source::from);
        check_standard_input(sources(&self.within).chain(&input))?;
        self.reading.beside_feed();
        self.reading.of_tables(sources(&self.within).count())?;
        let (mut ipv4, mut ipv6) = (Rib::new(), Rib::new());
        for set in &self.within {
            let (tables, _) = set.read(&self.reading)?;
            ipv4.extend(&tables.ipv4);
            ipv6.extend(&tables.ipv6);
        }
        Ok((!self.within.is_empty()).then_some((ipv4, ipv6)))
    }
}

impl<W: Write> Listener for Watching<W> {
    fn charge(&mut self, table: &str, router: &str) {
        self.followed.charge(table, router);
    }

    /// Prints what an event changes.
    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>> {
        let mut result = Ok(());
        let played = self.followed.play(router.unwrap_or_default(), event, |prefix, value| {
            let is_wanted = self.within.as_ref().is_none_or(|(ipv4, ipv6)| match prefix {
                IpPrefix::V4(prefix) => ipv4.longest_cover(prefix).is_some(),
                IpPrefix::V6(prefix) => ipv6.longest_cover(prefix).is_some(),
            });
            if is_wanted && result.is_ok() {
                result = self.printer.row(&Row {
                    time: event.time.as_secs_f64(),
                    router,
                    peer: event.peer.to_string(),
                    change: if value.is_some() { "announced" } else { "withdrawn" },
                    prefix: prefix.to_string(),
                    value: value.map(ToString::to_string),
                });
            }
        });
        result?;
        Ok(played.err())
    }

    fn lose(&mut self, router: &str) -> usize {
        self.followed.lose(router)
    }

    fn forget(&mut self, router: &str) -> usize {
        self.followed.forget(router)
    }
}
