//! `fibula lookup`: the longest match of addresses.
//!
//! A few addresses are looked up in the plain table; a stream of them goes through an engine
//! ([`stream`]).

mod answer;
mod compiled;
mod lines;
mod stream;
mod table;
mod text;

use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::reading::Reading;
use clap::{ArgAction, Args};
use fibula::{Error, ErrorKind};
use fibula_io::Source;
use lines::{Blocks, Content, Lines};
use std::io::{self, Write};
use std::net::IpAddr;
use std::str::FromStr;
use table::Table;
use text::Style;

/// Find the longest match of addresses: the prefix and its next hop or origin AS
///
/// Answers are sentences like those of `ip route get`, or with --format rows of address, prefix and
/// next_hop. Addresses of both families may be mixed; a v4-mapped IPv6 address is looked up in the
/// IPv6 table. An address without a route is no error.
///
/// With `-` the first field of each line of standard input is looked up; blank lines and comments
/// (#) are skipped. There is one answer for each address, in order: `prefix<TAB>next hop`, `-` for
/// both where there is no route. A line that is no address ends the run with status 2. With
/// --keep-going it is reported on standard error and answered `?<TAB>?` (left out with --format),
/// and the status is 1 at the end.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table or a snapshot of one (`fibula build`), a file or `-`; the made table `internet` if
    /// not given
    #[arg(short, long)]
    table: Option<String>,
    /// Every route that covers the address, longest first
    #[arg(short, long)]
    all: bool,
    /// The addresses, or `-` for a stream of them from standard input
    #[arg(required = true, value_name = "ADDR", action = ArgAction::Append)]
    addresses: Vec<Query>,
    #[command(flatten)]
    reading: Reading,
}

/// What is to be looked up: an address, or a stream of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Query {
    Address(IpAddr),
    Stream,
}

impl FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if text == "-" => Ok(Self::Stream),
            Err(_) => Err(Error::new(ErrorKind::Name, "expected an IPv4 or IPv6 address, or -")),
        }
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let streams = self.addresses.contains(&Query::Stream);
        anyhow::ensure!(!streams || self.addresses.len() == 1, "`-` must be the only address");
        anyhow::ensure!(
            !streams || self.table.as_deref() != Some("-"),
            "table and addresses cannot both come from standard input"
        );
        let (table, whole) = Table::named(self.table.as_deref(), &self.reading)?;
        let addresses = self.addresses.iter().filter_map(|query| match query {
            Query::Address(address) => Some(Ok(*address)),
            Query::Stream => None,
        });
        if !streams {
            say(&table, self.all, output, addresses)?;
            return Ok(whole);
        }
        let blocks = Blocks::new(Box::new(Source::StandardInput.open(None)?));
        let bad = match Style::of(output.asked()).filter(|_| !self.all) {
            Some(style) => {
                stream::run(table, blocks, style, self.reading.keep_going, &mut io::stdout().lock())?
            }
            None => self.read_and_say(&table, blocks, output)?,
        };
        Ok(if bad == 0 { whole } else { Verdict::Bad })
    }

    /// Answers a stream in a form that [`stream`] does not do. Returns the number of lines that are
    /// no addresses.
    fn read_and_say(&self, table: &Table, blocks: Blocks, output: &Output) -> anyhow::Result<usize> {
        let (mut line, mut bad) = (0, 0);
        let addresses = blocks.flat_map(|block| match block {
            Ok(block) => Lines::new(&block)
                .filter_map(|found| {
                    line += 1;
                    match found.content {
                        Content::Ipv4(address) => Some(Ok(IpAddr::V4(address.into()))),
                        Content::Ipv6(address) => Some(Ok(IpAddr::V6(address.into()))),
                        Content::Blank => None,
                        Content::Bad => {
                            let what = no_address(line - 1, &String::from_utf8_lossy(found.field));
                            if self.reading.keep_going {
                                tell(what);
                                bad += 1;
                                return None;
                            }
                            Some(Err(what))
                        }
                    }
                })
                .collect::<Vec<_>>(),
            Err(error) => vec![Err(anyhow::anyhow!("standard input: {error}"))],
        });
        say(table, self.all, output, addresses)?;
        Ok(bad)
    }
}

/// Prints the routes of addresses, as sentences or, if a format is asked for, as rows.
fn say(
    table: &Table,
    all: bool,
    output: &Output,
    addresses: impl Iterator<Item = anyhow::Result<IpAddr>>,
) -> anyhow::Result<()> {
    if output.asked().is_none() {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for address in addresses {
            for answer in table.answers(address?, all) {
                writeln!(out, "{answer}")?;
            }
        }
        return Ok(out.flush()?);
    }
    let mut printer = output.batch_printer();
    for address in addresses {
        for answer in table.answers(address?, all) {
            printer.row(&answer)?;
        }
    }
    printer.finish()
}

/// Returns the error of a line (counted from 0) that is no address.
fn no_address(line: usize, field: &str) -> anyhow::Error {
    let field: String = field.chars().take(80).collect();
    anyhow::anyhow!("standard input, line {}: {field:?} is not an IPv4 or IPv6 address", line + 1)
}
