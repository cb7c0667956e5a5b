//! Writes tables.

use super::csv::quote;
use super::layouts::{self, Writer};
use super::{Format, Tables};
use crate::Error;
use crate::beside::write_beside;
use fibula::{Address, IpPrefix, NextHops, Route};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes tables in a text format or as Parquet, IPv4 first, each family in order. Equal tables
/// give equal bytes.
///
/// # Errors
/// If the format [is not written](Format::is_written); if a next hop's name cannot be written in it
/// (empty, with a line break, or beginning with the comment mark); or if `out` fails.
pub fn write(tables: &Tables, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(256 << 10, out);
    let writer = layouts::of(format).writer.as_ref().ok_or_else(|| {
        invalid(format!("tables are not written as {format}, expected one of {}", layouts::written()))
    })?;
    let names = names(&tables.next_hops, format, writer)?;
    match *writer {
        Writer::Whole(write) => write(tables, &names, &mut out)?,
        Writer::Lines { header, line, .. } => {
            out.write_all(header.as_bytes())?;
            each(tables, &names, |prefix, name| line(prefix, name, &mut out))?;
        }
    }
    out.flush()
}

/// Writes tables as [`Format::Csv`], with another character between the columns.
///
/// # Errors
/// As [`write()`].
///
/// ```
/// use fibula_io::table;
/// let tables = table::parse(b"10.0.0.0/8 a;b\n", &Default::default())?.tables;
/// let mut out = Vec::new();
/// table::write_separated(&tables, b';', &mut out).unwrap();
/// assert_eq!(out, b"prefix;value\n10.0.0.0/8;\"a;b\"\n");
/// # Ok::<(), fibula_io::Error>(())
/// ```
pub fn write_separated(tables: &Tables, delimiter: u8, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(256 << 10, out);
    let plain = Writer::Whole(|_, _, _| Ok(()));
    let names = names(&tables.next_hops, Format::Csv, &plain)?;
    let delimiter = char::from(delimiter);
    writeln!(out, "prefix{delimiter}value")?;
    each(tables, &names, |prefix, name| writeln!(out, "{prefix}{delimiter}{}", quote(name, delimiter)))?;
    out.flush()
}

/// Calls `line` for each route with the name of its next hop, IPv4 first.
fn each(
    tables: &Tables,
    names: &[String],
    mut line: impl FnMut(IpPrefix, &str) -> io::Result<()>,
) -> io::Result<()> {
    for route in &tables.ipv4 {
        line(route.prefix.into(), name_of(names, &route)?)?;
    }
    for route in &tables.ipv6 {
        line(route.prefix.into(), name_of(names, &route)?)?;
    }
    Ok(())
}

/// Writes tables into a file, as [`write()`].
///
/// They are written to a temporary file beside it, synced and renamed, so that the file is always
/// the whole old one or the whole new one.
///
/// # Errors
/// As [`write()`]. The text is one line with the file's name and the reason.
pub fn write_file(tables: &Tables, format: Format, path: &Path) -> Result<(), Error> {
    write_beside(path, |out| write(tables, format, out)).map_err(|error| Error::writing(path, &error))
}

/// Returns the text of a route's next hop.
pub(super) fn name_of<'a, A: Address>(names: &'a [String], route: &Route<A>) -> io::Result<&'a str> {
    names.get(route.next_hop.0 as usize).map(String::as_str).ok_or_else(|| {
        let Route { prefix, next_hop } = route;
        invalid(format!("the next hop {} of {prefix} is not in the table of next hops", next_hop.0))
    })
}

/// The text of each next hop's index in the file.
fn names(next_hops: &NextHops, format: Format, writer: &Writer) -> io::Result<Vec<String>> {
    let name = |info: &fibula::NextHopInfo| {
        let name = info.to_string();
        let is_comment = (name.starts_with('#') || name.contains(" #"))
            && matches!(writer, Writer::Lines { has_comments: true, .. });
        if name.trim().is_empty() || name.chars().any(char::is_control) || is_comment {
            return Err(invalid(format!("the next hop {name:?} cannot be written as {format}")));
        }
        Ok(if let Writer::Lines { name: written, .. } = writer { written(&name) } else { name })
    };
    // Index 0 is "no route" and no table has it.
    std::iter::once(Ok(String::new())).chain(next_hops.iter().map(|(_, info)| name(info))).collect()
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
