//! `fibula lookup`: the longest match of addresses.
//!
//! A few addresses are looked up in the plain table; a stream of them goes through an engine
//! ([`stream`]), or asks a table that changes ([`followed`]).

mod answer;
mod compiled;
mod followed;
mod lines;
mod stream;
mod table;
mod text;

use crate::addresses::Addresses;
use crate::exit::{Verdict, tell};
use crate::feed::{Feed, PolicyName};
use crate::output::Output;
use crate::reading::Reading;
use anyhow::{anyhow, ensure};
use clap::{ArgAction, Args};
use fibula::{Error, ErrorKind, IpPrefix, Prefix};
use fibula_io::Source;
use fibula_io::address::{Embedded, clean};
use lines::{Line, Lines, Owned};
use std::io::{self, Write};
use std::net::IpAddr;
use std::str::FromStr;
use table::Table;
use text::Style;

/// Find the longest match of addresses and prefixes: the route and its next hop or origin AS
///
/// Answers are sentences like those of `ip route get`, or with --format rows of address, prefix and
/// next_hop. Addresses of both families may be mixed; without --map-ipv4 a v4-mapped IPv6 address
/// is looked up in the IPv6 table. An address without a route is no error. The match of a prefix is
/// the longest route that covers all of it.
///
/// With `-` the first field of each line of standard input is looked up; blank lines and comments
/// (#) are skipped. There is one answer for each address, in order: `prefix<TAB>next hop`, `-` for
/// both where there is no route. A line that is no address ends the run with status 2. With
/// --keep-going it is reported on standard error and answered `?<TAB>?` (left out with --format),
/// and the status is 1 at the end.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table or a snapshot of one (`fibula build`), a file or `-`. If not given, the made table
    /// `internet` answers the addresses of the command line, but no stream
    #[arg(short, long)]
    table: Option<String>,
    /// Every route that covers the address, longest first
    #[arg(short, long)]
    all: bool,
    /// Answer a stream by a table that changes meanwhile: a file or a pipe of MRT or RIS Live
    /// messages, several in order, or `bmp:ADDRESS`, where routers connect. Then a line has the
    /// router after the address, and its answer is what that router believes
    #[arg(long, value_name = "FEED", conflicts_with_all = ["table", "all"])]
    follow: Vec<Feed>,
    /// Which routes of a router (--follow bmp:ADDRESS): those that it has chosen, that its peers
    /// send, what its policy leaves of them, or what it sends
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", requires = "follow")]
    policy: PolicyName,
    /// The addresses and prefixes, or `-` for a stream of them from standard input
    #[arg(required = true, value_name = "ADDR", action = ArgAction::Append)]
    addresses: Vec<Query>,
    #[command(flatten)]
    reading_addresses: Addresses,
    #[command(flatten)]
    reading: Reading,
}

/// What is to be looked up: an address or a prefix, or a stream of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Query {
    /// A prefix, or the host prefix of an address.
    Prefix(IpPrefix),
    /// An address with something around it, which is one if that is left out.
    Unclean(IpAddr),
    Stream,
}

impl FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(prefix) => Ok(Self::Prefix(prefix)),
            Err(_) if text == "-" => Ok(Self::Stream),
            Err(error) => {
                let what = "expected an IPv4 or IPv6 address, a prefix, or -";
                let clean = clean(text.as_bytes()).ip().map(Self::Unclean);
                let is_prefix = text.split_once('/').is_some_and(|(ip, _)| ip.parse::<IpAddr>().is_ok());
                clean.ok_or_else(|| if is_prefix { error } else { Error::new(ErrorKind::Name, what) })
            }
        }
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let streams = self.addresses.contains(&Query::Stream);
        ensure!(!streams || self.addresses.len() == 1, "`-` must be the only address");
        ensure!(
            !streams || self.table.as_deref() != Some("-"),
            "table and addresses cannot both come from standard input"
        );
        if !self.follow.is_empty() {
            ensure!(streams, "--follow answers a stream of addresses: give `-` for ADDR");
            return followed::run(&self.follow, self.policy, &self.reading, &self.reading_addresses, output);
        }
        let is_made = streams && self.table.is_none();
        ensure!(!is_made, "no table given (-t): a stream of addresses is not answered from a made one");
        let (table, whole) = Table::named(self.table.as_deref(), &self.reading)?;
        ensure!(
            !self.all || table.knows_all(),
            "{}: a snapshot without its routes knows only the longest match, not all (--all)",
            self.table.as_deref().unwrap_or_default()
        );
        let embedded = self.reading_addresses.asked().unwrap_or_default();
        let addresses = self.addresses.iter().filter_map(|query| match query {
            Query::Unclean(address) if !self.reading_addresses.clean => Some(Err(anyhow!(
                "{address} has something around it: give it alone, or --clean to leave that out"
            ))),
            Query::Unclean(address) => Some(Ok(mapped(IpPrefix::host(*address), &embedded))),
            Query::Prefix(prefix) => Some(Ok(mapped(*prefix, &embedded))),
            Query::Stream => None,
        });
        if !streams {
            say(&table, self.all, output, addresses)?;
            return Ok(whole);
        }
        let blocks = lines::blocks(Source::StandardInput.open(None)?);
        let bad = match Style::of(output.asked()).filter(|_| !self.all) {
            Some(style) => {
                let (keep_going, addresses) = (self.reading.keep_going, self.reading_addresses.clone());
                let how = stream::How { style, keep_going, addresses, embedded };
                stream::run(table, blocks, &how, &mut io::stdout().lock())?
            }
            None => self.read_and_say(&table, blocks, &embedded, output)?,
        };
        Ok(if bad == 0 { whole } else { Verdict::Bad })
    }

    /// Answers a stream in a form that [`stream`] does not do. Returns the number of lines that are
    /// no addresses.
    fn read_and_say(
        &self,
        table: &Table,
        blocks: impl Iterator<Item = anyhow::Result<Owned>>,
        embedded: &Embedded,
        output: &Output,
    ) -> anyhow::Result<usize> {
        let mut bad = 0;
        let mut wrong = |what| {
            if !self.reading.keep_going {
                return Some(Err(what));
            }
            tell(what);
            bad += 1;
            None
        };
        let addresses = blocks.flat_map(|block| match block {
            Err(error) => vec![Err(error)],
            Ok(Err(damage)) => Vec::from_iter(wrong(anyhow!("standard input, {damage}"))),
            Ok(Ok((first_line, text))) => {
                let lines = (first_line..).zip(Lines::new(&text));
                let address = |(number, line): (u64, Line<'_>)| {
                    let found = line.found?.ip();
                    let found = found.or_else(|| self.reading_addresses.cleaned(line.field).ip());
                    match found.map(IpPrefix::host).or_else(|| prefix_of(line.field)) {
                        Some(prefix) => Some(Ok(mapped(prefix, embedded))),
                        None => wrong(no_address(number, line.field)),
                    }
                };
                lines.filter_map(address).collect()
            }
        });
        say(table, self.all, output, addresses)?;
        Ok(bad)
    }
}

/// Returns the address or prefix that is looked up.
fn mapped(prefix: IpPrefix, embedded: &Embedded) -> IpPrefix {
    match prefix {
        IpPrefix::V6(host) if host.len() == u128::BITS as u8 => {
            embedded.ipv4(host.first()).map_or(prefix, |ipv4| Prefix::host(ipv4).into())
        }
        IpPrefix::V4(_) | IpPrefix::V6(_) => prefix,
    }
}

/// Returns the prefix that a field is, if it is one.
fn prefix_of(field: &[u8]) -> Option<IpPrefix> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Prints the routes of addresses and prefixes, as sentences or, if a format is asked for, as rows.
fn say(
    table: &Table,
    all: bool,
    output: &Output,
    asked: impl Iterator<Item = anyhow::Result<IpPrefix>>,
) -> anyhow::Result<()> {
    if output.asked().is_none() {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for asked in asked {
            for answer in table.answers(asked?, all)? {
                writeln!(out, "{answer}")?;
            }
        }
        return Ok(out.flush()?);
    }
    let mut printer = output.batch_printer();
    for asked in asked {
        for answer in table.answers(asked?, all)? {
            printer.row(&answer)?;
        }
    }
    printer.finish()
}

/// Returns the error of a line that is no address.
fn no_address(line: u64, field: &[u8]) -> anyhow::Error {
    let field: String = String::from_utf8_lossy(field).chars().take(80).collect();
    anyhow!("standard input, line {line}: {field:?} is not an IPv4 or IPv6 address or prefix")
}
