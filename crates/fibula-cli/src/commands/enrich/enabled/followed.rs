//! Records that are answered one by one as they come, by tables that feeds change meanwhile.
//!
//! ```text
//!   feeds ──▶ tables as they are now
//!                   │
//!   IN ──row──▶ row + answers ──▶ standard output, written out before each wait for IN
//! ```
//!
//! A row of NDJSON is written as it was read, with its answers at the end. So no row decides of
//! which type the values of others are.

use super::super::{Arguments, Errors};
use super::added::told;
use super::input::{ROW_BYTES, Records};
use super::output::append_fields;
use crate::exit::{Verdict, tell};
use crate::following::Following;
use anyhow::{Context, Result, anyhow, bail, ensure};
use fibula::{IpPrefix, NextHopInfo};
use fibula_arrow::Counts;
use fibula_io::follow::Followed;
use fibula_io::table::{Format, json_of};
use fibula_io::{Source, address};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, BufWriter, Read, StdoutLock, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::MutexGuard;

/// Runs the command on records of a format, which is that of the output too.
pub(super) fn run(arguments: &Arguments, (input, output): (Format, Format)) -> Result<Verdict> {
    let is_text = input != Format::Parquet && output != Format::Parquet;
    ensure!(is_text, "--follow answers rows as they come, of CSV, TSV or NDJSON: those of Parquet do not");
    ensure!(input == output, "--follow writes rows in the format that they have, {input}, not {output}");
    ensure!(arguments.output.as_os_str() == "-", "--follow writes rows as they come: expected -o -");
    let following =
        Following::start(&arguments.follow, arguments.policy, &arguments.reading, &arguments.input)?;
    ensure!(
        !following.by_router() || arguments.exporter_column.is_some(),
        "each router has a table: expected the column of those who send the rows (--exporter-column)"
    );
    ensure!(
        following.by_router() || arguments.exporter_column.is_none(),
        "--exporter-column is for routers (--follow bmp:ADDRESS)"
    );
    let source = Source::from(&*arguments.input);
    let out = Out(Rc::new(RefCell::new(BufWriter::new(io::stdout().lock()))));
    let content = source.open(None)?.encoded(arguments.data_encoding);
    let lines = Prompt { input: content, out: out.clone() };
    let counts = vec![Counts::default(); arguments.columns.len()];
    let mut rows = Rows { arguments, source, out: out.clone(), counts, row: 0, unknown: 0, bad: 0 };
    match input {
        Format::Csv => rows.separated(&following, lines, arguments.data_delimiter),
        Format::Tsv => rows.separated(&following, lines, b'\t'),
        _ => rows.objects(&following, lines),
    }
    .or_else(|error| out.write_out().map_err(Into::into).and(Err(error)))?;
    out.write_out()?;
    rows.tell();
    Ok(if rows.bad == 0 { following.verdict() } else { Verdict::Bad })
}

/// Standard output, which the reading of the input writes out.
#[derive(Clone)]
struct Out(Rc<RefCell<BufWriter<StdoutLock<'static>>>>);

impl Out {
    fn write_out(&self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    /// Leaves that to [`Out::write_out`]: not every row is worth a call of the system.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An input whose rows so far are answered and written out before more is waited for.
struct Prompt<R> {
    input: R,
    out: Out,
}

impl<R: Read> Read for Prompt<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.out.write_out() {
            Ok(()) => self.input.read(buffer),
            // Nobody takes the answers, so there are no more rows. The end writes out, and fails.
            Err(_) => Ok(0),
        }
    }
}

/// The tables at one moment, and the router whose table answers; `None` if it is not known.
struct Now<'f> {
    followed: MutexGuard<'f, Followed>,
    router: Option<String>,
}

/// The best route for an address.
type Found<'n> = Option<(IpPrefix, &'n NextHopInfo)>;

impl Now<'_> {
    fn lookup(&self, address: IpAddr) -> Found<'_> {
        self.followed.lookup(self.router.as_deref()?, address)
    }
}

/// A value of a column of addresses.
enum Asked {
    Null,
    Address(IpAddr),
    /// No address, as it is shown.
    Other(String),
}

/// Rows that are answered.
struct Rows<'a> {
    arguments: &'a Arguments,
    source: Source,
    out: Out,
    /// What the values of each column were.
    counts: Vec<Counts>,
    /// The number of the row, from 1.
    row: u64,
    /// The rows whose exporter is not known.
    unknown: u64,
    /// The lines that hold no row.
    bad: u64,
}

impl Rows<'_> {
    /// Answers CSV.
    fn separated(&mut self, following: &Following, lines: impl Read, delimiter: u8) -> Result<()> {
        let (arguments, name) = (self.arguments, self.source.to_string());
        let mut records = Records::new(&name, delimiter, arguments.errors, lines);
        let first = records.kept().context(name.clone())?;
        let header = records.header().context(name.clone())?.clone();
        let place = |column: &String| {
            let names: Vec<&str> = header.iter().collect();
            let found = names.iter().position(|name| name == column);
            found.with_context(|| {
                format!("{name}: no column {column:?}, expected one of {}", names.join(", "))
            })
        };
        let columns = arguments.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        let exporter = arguments.exporter_column.as_ref().map(place).transpose()?;
        let added: Vec<String> = arguments.columns.iter().flat_map(|column| self.names(column)).collect();
        self.check_new(&added, |name| header.iter().any(|field| field == name))?;
        let mut out = self.out.clone();
        let mut write = |row: &[u8], added: &[String]| -> Result<()> {
            let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
            writer.write_record(std::iter::once("").chain(added.iter().map(String::as_str)))?;
            let mut line = Vec::new();
            append_fields(row, &writer.into_inner()?, &mut line);
            Ok(out.write_all(&line)?)
        };
        write(&first, &added)?;
        let mut row = Vec::new();
        while let Some(record) = records.next(header.len()).context(name.clone())? {
            self.row += 1;
            let field = |at: usize| record.get(at).unwrap_or_default();
            let now = self.now(following, exporter.map(|at| self.read(field(at))).as_ref());
            let mut answers = Vec::with_capacity(added.len());
            for (at, &column) in columns.iter().enumerate() {
                let found = self.ask(at, self.read(field(column)), &now)?;
                answers.push(found.map_or_else(String::new, |(_, value)| value.to_string()));
                if arguments.prefix {
                    answers.push(found.map_or_else(String::new, |(prefix, _)| prefix.to_string()));
                }
            }
            drop(now); // the feed does not wait for whoever reads the answers
            row.clear();
            records.append(header.len(), &mut row);
            write(&row, &answers)?;
        }
        Ok(())
    }

    /// Answers NDJSON.
    fn objects(&mut self, following: &Following, lines: impl Read) -> Result<()> {
        let arguments = self.arguments;
        let mut lines = BufReader::with_capacity(1 << 16, lines);
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let read = lines.by_ref().take(ROW_BYTES).read_until(b'\n', &mut line);
            if read.with_context(|| self.source.to_string())? == 0 {
                break;
            }
            let place = || format!("{}, line {number}", self.source);
            ensure!(line.len() as u64 != ROW_BYTES, "{}: more than {ROW_BYTES} bytes, the limit", place());
            let text = line.trim_ascii();
            let row = match serde_json::from_slice::<Map<String, Value>>(text) {
                _ if text.is_empty() => continue,
                Ok(row) => Value::Object(row),
                Err(error) if arguments.reading.keep_going => {
                    tell(format_args!("{}: expected a JSON object: {error} (left out)", place()));
                    self.bad += 1;
                    continue;
                }
                Err(error) => bail!("{}: expected a JSON object: {error}", place()),
            };
            self.row += 1;
            let mut exporter = None;
            if let Some(column) = &arguments.exporter_column {
                within(&row, column, &mut |value| {
                    exporter = Some(self.read_value(value));
                    Ok(Value::Null)
                })?;
            }
            let exporter = arguments.exporter_column.as_ref().map(|_| exporter.unwrap_or(Asked::Null));
            let now = self.now(following, exporter.as_ref());
            let fields = row.as_object();
            let mut comma = if fields.is_some_and(Map::is_empty) { "" } else { "," };
            let mut answers = String::new();
            for (at, column) in arguments.columns.iter().enumerate() {
                // Both are found by one lookup: the second walk takes what the first has left.
                let mut prefixes = Vec::new();
                let values = within(&row, column, &mut |value| {
                    let found = self.ask(at, self.read_value(value), &now)?;
                    prefixes.push(found.map_or(Value::Null, |(prefix, _)| prefix.to_string().into()));
                    Ok(found.map_or(Value::Null, |(_, value)| of_next_hop(value)))
                })?;
                let mut prefixes = prefixes.into_iter();
                let prefixes = within(&row, column, &mut |_| Ok(prefixes.next().unwrap_or_default()))?;
                let names = self.names(column);
                self.check_new(&names, |name| fields.is_some_and(|fields| fields.contains_key(name)))?;
                for (name, answer) in names.into_iter().zip([values, prefixes]) {
                    // Writing into memory cannot fail.
                    let _ = write!(answers, "{comma}{}:{answer}", Value::from(name));
                    comma = ",";
                }
            }
            drop(now); // as above
            let mut out = self.out.clone();
            out.write_all(&text[..text.len() - 1])?;
            out.write_all(answers.as_bytes())?;
            out.write_all(b"}\n")?;
        }
        Ok(())
    }

    /// Returns the names of what is added for a column.
    fn names(&self, column: &str) -> Vec<String> {
        let name = self.arguments.unnamed();
        let prefix = self.arguments.prefix.then(|| format!("{column}_{name}_prefix"));
        [format!("{column}_{name}")].into_iter().chain(prefix).collect()
    }

    /// Fails if one of the names is there already.
    fn check_new(&self, added: &[String], is_there: impl Fn(&str) -> bool) -> Result<()> {
        match added.iter().find(|name| is_there(name)) {
            Some(name) => bail!("{}: there is a column {name:?} already", self.source),
            None => Ok(()),
        }
    }

    /// Holds the tables for a row.
    fn now<'f>(&mut self, following: &'f Following, exporter: Option<&Asked>) -> Now<'f> {
        let followed = following.lock();
        let router = match exporter {
            None => Some(String::new()),
            Some(Asked::Address(exporter)) => Some(exporter.to_canonical().to_string()),
            Some(_) => None,
        };
        let router = router.filter(|router| !following.by_router() || followed.knows(router));
        self.unknown += u64::from(router.is_none());
        Now { followed, router }
    }

    fn read(&self, text: &str) -> Asked {
        match self.arguments.addresses.read(text.as_bytes()) {
            _ if text.is_empty() => Asked::Null,
            Some(address) => Asked::Address(address),
            None => Asked::Other(text.to_owned()),
        }
    }

    fn read_value(&self, value: &Value) -> Asked {
        match (value, value.as_u64().map(u32::try_from)) {
            (Value::Null, _) => Asked::Null,
            (Value::String(text), _) => self.read(text),
            (_, Some(Ok(bits))) => Asked::Address(Ipv4Addr::from_bits(bits).into()),
            _ => Asked::Other(value.to_string()),
        }
    }

    /// Returns the answer for a value of a column, and counts it.
    fn ask<'n>(&mut self, column: usize, asked: Asked, now: &'n Now<'_>) -> Result<Found<'n>> {
        let counts = &mut self.counts[column];
        counts.rows += 1;
        match asked {
            Asked::Null => counts.nulls += 1,
            Asked::Address(address) => {
                let found = now.lookup(address);
                counts.answered += u64::from(found.is_some());
                return Ok(found);
            }
            Asked::Other(text) if self.arguments.errors == Errors::Raise => {
                let (row, name) = (self.row, &self.arguments.columns[column]);
                return Err(anyhow!("row {row}, column {name}: {text:?} is not an IPv4 or IPv6 address")
                    .context(self.source.to_string()));
            }
            Asked::Other(text) => {
                counts.invalid += 1;
                counts.unclean += u64::from(address::clean(text.as_bytes()).ip().is_some());
            }
        }
        Ok(None)
    }

    /// Tells what was not answered.
    fn tell(&self) {
        let Self { arguments, source, row, unknown, .. } = self;
        for (column, counts) in arguments.columns.iter().zip(&self.counts) {
            if let Some(line) = told(column, counts, arguments.addresses.clean) {
                tell(format_args!("{source}: {line}"));
            }
            if *row > 0 && counts.rows == 0 {
                tell(format_args!("{source}: no row has {column:?}"));
            }
        }
        if let Some(column) = arguments.exporter_column.as_ref().filter(|_| *unknown > 0) {
            let what = "rows name no router that is known, and have no answer";
            tell(format_args!("{source}: column {column}: {unknown} of {row} {what}"));
        }
    }
}

/// Returns a value as JSON has it.
fn of_next_hop(value: &NextHopInfo) -> Value {
    match (value, json_of(value).and_then(|json| serde_json::from_str(json).ok())) {
        (NextHopInfo::AutonomousSystem(number), _) => (*number).into(),
        (_, Some(fields)) => fields,
        _ => value.to_string().into(),
    }
}

/// Returns what `answer` makes of the values at a path (`flow.src`), within lists lists of answers.
fn within(value: &Value, path: &str, answer: &mut impl FnMut(&Value) -> Result<Value>) -> Result<Value> {
    match value {
        Value::Array(list) => list.iter().map(|value| within(value, path, answer)).collect(),
        Value::Object(fields) if !path.is_empty() => {
            let whole = fields.get(path).map(|value| (value, ""));
            let part = |(dot, _)| Some((fields.get(&path[..dot])?, &path[dot + 1..]));
            let found = whole.or_else(|| path.match_indices('.').find_map(part));
            found.map_or(Ok(Value::Null), |(value, path)| within(value, path, answer))
        }
        leaf if path.is_empty() => answer(leaf),
        _ => Ok(Value::Null),
    }
}
