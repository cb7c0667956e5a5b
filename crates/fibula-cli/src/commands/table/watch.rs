//! `fibula table watch`: the changes of routes, as they happen.

use crate::exit::{Verdict, tell};
use crate::operand::{Operand, check_standard_input, sources};
use crate::output::{Format, Output, Printer};
use crate::reading::Reading;
use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use fibula::{IpPrefix, Rib};
use fibula_io::blocks::{Block, Blocks};
use fibula_io::follow::Followed;
use fibula_io::mrt::bmp::{Policy, Station, Told};
use fibula_io::mrt::{Event, Events, looks_like};
use fibula_io::{Damage, Kind, Source, ris_live};
use serde::Serialize;
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::IpAddr;

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
    /// Which routes of a router: those that its peers send, or what its policy leaves of them
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", requires = "bmp")]
    policy: PolicyName,
    /// Only prefixes that one of these covers: tables, files or `-`; or prefixes, addresses, ranges
    #[arg(long, value_name = "SET", num_args = 1..)]
    within: Vec<Operand>,
    #[command(flatten)]
    reading: Reading,
}

/// [`Policy`] on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PolicyName {
    /// Adj-RIB-In before policy
    #[default]
    Pre,
    /// Adj-RIB-In after policy
    Post,
}

/// A change.
#[derive(Debug, Serialize)]
struct Row<'r> {
    time: f64,
    /// The router that told it by BMP.
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
        let followed = followed.map_err(anyhow::Error::msg)?;
        let lines = Output::new(output.asked().or(Some(Format::JsonLine)));
        let watching = Watching { followed, within: self.within()?, printer: lines.printer() };
        match (&self.bmp, &self.input) {
            (Some(address), _) => self.station(address, watching),
            (None, Some(input)) => self.input(&Source::from(input.as_str()), watching),
            (None, None) => bail!("expected INPUT or --bmp"),
        }
    }

    fn within(&self) -> anyhow::Result<Option<(Rib<u32>, Rib<u128>)>> {
        let input = self.input.as_deref().map(Source::from);
        check_standard_input(sources(&self.within).chain(&input))?;
        let (mut ipv4, mut ipv6) = (Rib::new(), Rib::new());
        for set in &self.within {
            let (tables, _) = set.read(&self.reading)?;
            ipv4.extend(&tables.ipv4);
            ipv6.extend(&tables.ipv6);
        }
        Ok((!self.within.is_empty()).then_some((ipv4, ipv6)))
    }

    /// Follows a file or a pipe.
    fn input<W: Write>(&self, source: &Source, mut watching: Watching<W>) -> anyhow::Result<Verdict> {
        const HEAD_BYTES: u64 = 12;
        let mut content = source.open(None)?;
        let mut head = Vec::new();
        content.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        let is_json = head.trim_ascii_start().starts_with(b"{");
        let mut bad = 0;
        let mut take = |event: Result<Event, Damage>| match event {
            Ok(event) => match watching.play(None, &event)? {
                None => Ok(()),
                Some(what) => Err(anyhow!("{source}: {what}")),
            },
            Err(damage) if self.reading.keep_going => {
                bad += 1;
                tell(format_args!("{source}, {damage} (skipped)"));
                Ok(())
            }
            Err(damage) => Err(anyhow!("{source}, {damage}")),
        };
        if is_json {
            each_message(head.as_slice().chain(&mut content), &mut take)?;
        } else if head.is_empty() || looks_like(&head) {
            let events = Events::with(head.as_slice().chain(&mut content), self.reading.add_path.into());
            let is_detailed = self.reading.value == Some(fibula_io::table::Value::Route);
            events.detailed(is_detailed).try_for_each(&mut take)?;
        } else {
            bail!("{source}: expected MRT, or RIS Live messages as JSON");
        }
        if let Some(damage) = content.damage() {
            bail!("{source}, {damage}");
        }
        watching.printer.finish()?;
        Ok(Verdict::good_if(bad == 0))
    }

    /// Follows routers, until the process is ended.
    fn station<W: Write>(&self, address: &str, mut watching: Watching<W>) -> anyhow::Result<Verdict> {
        let policy = match self.policy {
            PolicyName::Pre => Policy::Pre,
            PolicyName::Post => Policy::Post,
        };
        let mut station =
            Station::listen(address, policy).with_context(|| format!("{address}: cannot listen"))?;
        tell(format_args!("listening at {}", station.address()));
        let mut refused: HashSet<IpAddr> = HashSet::new();
        while let Some((address, told)) = station.next() {
            let router = address.to_string();
            match told {
                Told::Began => {
                    watching.followed.forget(&router);
                    refused.remove(&address);
                    tell(format_args!("router {router} has connected"));
                }
                Told::Event(_) if refused.contains(&address) => {}
                Told::Event(event) => {
                    if let Some(what) = watching.play(Some(&router), &event)? {
                        watching.followed.forget(&router);
                        refused.insert(address);
                        station.close(address);
                        tell(format_args!("router {router} is sent away: {what}"));
                    }
                }
                Told::Damage(damage) => tell(format_args!("router {router}, {damage}")),
                Told::Ended(report, name) => {
                    report.of(Kind::LeftOut).for_each(|note| tell(format_args!("router {router}: {note}")));
                    let count = watching.followed.forget(&router);
                    let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                    tell(format_args!("router {router}{name} has gone, and {count} prefixes with it"));
                }
                Told::Refused => tell(format_args!("router {router} is refused: there are too many")),
            }
        }
        Ok(Verdict::Good)
    }
}

/// Calls `take` with the events of RIS Live messages, as their lines come.
fn each_message(
    input: impl Read,
    mut take: impl FnMut(Result<Event, Damage>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut blocks = Blocks::as_they_come(input);
    while let Some(block) = blocks.next() {
        let Block { first_line, text } = match block {
            Ok(block) => block,
            Err(damage) => {
                take(Err(damage))?;
                continue;
            }
        };
        for (number, line) in (first_line..).zip(text.split(|&byte| byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match ris_live::events(&String::from_utf8_lossy(line), number) {
                Ok(events) => events.into_iter().try_for_each(|event| take(Ok(event)))?,
                Err(what) => take(Err(Damage { place: fibula_io::Place::Line(number), what }))?,
            }
        }
    }
    match blocks.cut() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

impl<W: Write> Watching<W> {
    /// Prints what an event changes. Returns why no other may follow, if so.
    fn play(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<String>> {
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
}
