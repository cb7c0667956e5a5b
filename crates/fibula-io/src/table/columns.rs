//! Rows of columns: which column is the prefix, which are values, and how a line is cut into them.

use super::ReadOptions;
use super::builder::Builder;
use super::fields::{Column, SEPARATOR};
use super::layouts::Lines;
use super::rows::{self, Row};
use crate::blocks::Block;
use crate::scan::{self, lines};
use crate::{Damage, Place, address};
use fibula::IpPrefix;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

/// The columns of a table, by their names or by their numbers from 1. What is not named is found
/// by the names that such columns usually have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The column of prefixes.
    pub prefix: Option<String>,
    /// The column of the first address of a range.
    pub start: Option<String>,
    /// The column of the last address of a range.
    pub end: Option<String>,
    /// The columns that a value is taken from. One is the value itself, several become the fields
    /// of an object.
    pub values: Vec<String>,
    /// What is between two fields; the most likely of `,`, tab, `;` and `|` if not given.
    pub delimiter: Option<u8>,
    /// Whether the first line is of routes, not of names.
    pub has_no_header: bool,
}

impl Columns {
    /// Returns whether content is to be read as columns, whatever it looks like.
    pub(super) fn are_named(&self) -> bool {
        *self != Self::default()
    }
}

/// The names of the column of prefixes.
#[rustfmt::skip]
const PREFIX_NAMES: [&str; 12] = [
    "prefix", "network", "cidr", "subnet", "route", "ip prefix", "ip_prefix", "ip_range", "netblock",
    "net", "nlri", "dst",
];

/// The names of the column of addresses, where there is one of netmasks, or lengths, beside it.
const ADDRESS_NAMES: [&str; 6] =
    ["address", "ip", "ip_address", "ip address", "network_address", "network address"];

/// The names of the column of netmasks or lengths.
#[rustfmt::skip]
const MASK_NAMES: [&str; 11] = [
    "netmask", "mask", "subnet_mask", "subnet mask", "subnetmask", "genmask", "prefix_length",
    "prefix length", "prefixlen", "mask_len", "masklen",
];

/// The names of the columns of the first and of the last address, in the same order.
#[rustfmt::skip]
const START_NAMES: [&str; 9] = [
    "start", "start_ip", "ip_start", "first", "first_ip", "ip_from", "range_start", "ip_range_start",
    "start_address",
];
const END_NAMES: [&str; 9] =
    ["end", "end_ip", "ip_end", "last", "last_ip", "ip_to", "range_end", "ip_range_end", "end_address"];

/// The names of a column that is the value, whatever other columns there are.
const VALUE_NAMES: [&str; 7] = ["value", "next_hop", "next-hop", "nexthop", "next hop", "gateway", "via"];

/// The delimiters that are tried.
pub(super) const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// What a list without values has for one.
pub(super) const LISTED: &str = "listed";

/// Where the addresses of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Net {
    Prefix(usize),
    Range(usize, usize),
    /// An address, and a netmask or a length. A prefix in place of the address stands for itself.
    Masked(usize, usize),
}

/// The addresses of a row.
pub(super) enum Addresses {
    Prefix(IpPrefix),
    Range(IpAddr, IpAddr),
}

impl Net {
    /// Returns its first column, and its second, if it has one.
    pub(super) fn columns(self) -> (usize, Option<usize>) {
        match self {
            Self::Prefix(prefix) => (prefix, None),
            Self::Range(first, second) | Self::Masked(first, second) => (first, Some(second)),
        }
    }

    /// Returns whether a column is one of its.
    fn has(self, column: usize) -> bool {
        let (first, second) = self.columns();
        column == first || Some(column) == second
    }

    /// Reads the texts of its columns.
    pub(super) fn addresses(
        self,
        first: &[u8],
        second: &[u8],
        mask_host_bits: bool,
    ) -> Result<Addresses, String> {
        let (first, second) = (first.trim_ascii(), second.trim_ascii());
        Ok(match self {
            Self::Range(..) => {
                let (first, last) = bounds(first, second)?;
                Addresses::Range(first, last)
            }
            Self::Masked(..) if !second.is_empty() && !first.contains(&b'/') => {
                let len = second.strip_prefix(b"/").unwrap_or(second);
                Addresses::Prefix(scan::prefix(&[first, b"/", len].concat(), mask_host_bits)?)
            }
            Self::Prefix(_) | Self::Masked(..) => match range_of(first) {
                Some((first, last)) => Addresses::Range(first, last),
                None => Addresses::Prefix(scan::prefix(first, mask_host_bits)?),
            },
        })
    }
}

/// The chosen columns of a file.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) delimiter: u8,
    pub(super) net: Net,
    /// The columns of values; none in a list without them.
    pub(super) values: Vec<usize>,
    /// The names of all columns.
    pub(super) names: Vec<String>,
    /// Whether columns may be missing at the end of a line.
    pub(super) is_ragged: bool,
    /// Whether a value is an object, also of one field.
    pub(super) is_object: bool,
    /// The columns that nobody asked for.
    pub(super) left_out: Vec<String>,
}

/// Returns the columns of a line without quotes around names, if it names some.
pub(super) fn header(line: &[u8], wanted: &Columns) -> Result<Chosen, String> {
    let mut reason = None;
    for delimiter in wanted.delimiter.map_or(DELIMITERS.to_vec(), |one| vec![one]) {
        let Ok(fields) = fields(line, delimiter) else { continue };
        let named = fields.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect();
        match choose(named, wanted) {
            Ok(chosen) => return Ok(Chosen { delimiter, ..chosen }),
            // The delimiter that makes the most fields of a line is the likeliest.
            Err(what) => reason = reason.max(Some((fields.len(), what))),
        }
    }
    Err(reason.map_or_else(|| "a quote is not closed on its line".to_owned(), |(_, what)| what))
}

/// Chooses among columns with these names.
pub(super) fn choose(names: Vec<String>, wanted: &Columns) -> Result<Chosen, String> {
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let find = |known: &[&str]| known.iter().find_map(|known| lower.iter().position(|name| name == known));
    let named = |name: &String| {
        let exact = names.iter().position(|known| known == name);
        let number =
            || name.parse().ok().filter(|number| (1..=names.len()).contains(number)).map(|n: usize| n - 1);
        let found = exact.or_else(|| lower.iter().position(|known| *known == name.to_lowercase()));
        found
            .or_else(number)
            .ok_or_else(|| format!("no column {name:?}, expected one of {}", names.join(", ")))
    };
    let known_range = || {
        let starts = START_NAMES.iter().zip(&END_NAMES);
        starts.into_iter().find_map(|(start, end)| Some(Net::Range(find(&[start])?, find(&[end])?)))
    };
    let masked =
        |address: usize| find(&MASK_NAMES).map_or(Net::Prefix(address), |mask| Net::Masked(address, mask));
    let known_prefix = || {
        let address = || find(&ADDRESS_NAMES).filter(|_| find(&MASK_NAMES).is_some());
        find(&PREFIX_NAMES).or_else(address).map(masked)
    };
    let net = match (&wanted.prefix, &wanted.start, &wanted.end) {
        (Some(prefix), None, None) => masked(named(prefix)?),
        (None, Some(start), Some(end)) => Net::Range(named(start)?, named(end)?),
        (None, None, None) => known_prefix().or_else(known_range).ok_or_else(|| {
            let found = scan::quoted(&names.join(","));
            format!("expected a header with a column of prefixes (such as prefix or network), found {found}")
        })?,
        _ => return Err("a prefix column, or a start and an end column, not other combinations".into()),
    };
    let others = || (0..names.len()).filter(|&column| !net.has(column));
    let values = match find(&VALUE_NAMES) {
        _ if !wanted.values.is_empty() => wanted.values.iter().map(named).collect::<Result<_, _>>()?,
        Some(value) => vec![value],
        None => others().collect(),
    };
    let unwanted = |column: &usize| wanted.values.is_empty() && !values.contains(column);
    let left_out = others().filter(unwanted).map(|column| names[column].clone()).collect();
    Ok(Chosen { delimiter: b',', net, values, names, is_ragged: false, is_object: false, left_out })
}

impl Chosen {
    /// Columns without a header: the addresses, then values with these names.
    pub(super) fn of(delimiter: u8, net: Net, names: &[impl AsRef<str>]) -> Self {
        let first = if net == Net::Prefix(0) { 1 } else { 2 };
        let names_of = names.iter().map(AsRef::as_ref);
        let all = ["start", "end"].into_iter().take(first).chain(names_of).map(str::to_owned).collect();
        let values = (first..first + names.len()).collect();
        Self { delimiter, net, values, names: all, is_ragged: false, is_object: false, left_out: Vec::new() }
    }

    /// Tells the builder which columns there are.
    pub(super) fn begin(&self, place: Place, builder: &mut Builder) -> Result<(), Damage> {
        if self.values.len() > 1 || self.is_object {
            builder.columns = self.values.iter().map(|&value| Column::new(&self.names[value])).collect();
        }
        self.left_out.iter().try_for_each(|name| builder.left_out(place, format!("column {name:?}")))
    }

    /// Reads a line.
    pub(super) fn row<'a>(&self, line: &'a [u8], mask_host_bits: bool) -> Result<Row<'a>, String> {
        if is_skipped(line) {
            return Ok(Row::Blank);
        }
        let mut fields = fields(line, self.delimiter)?;
        let (count, expected) = (fields.len(), self.names.len());
        let has_more =
            count > expected && !(self.is_ragged && fields[expected..].iter().all(|it| it.is_empty()));
        if has_more {
            return Err(format!("{count} columns, expected {expected}"));
        }
        if self.is_ragged {
            fields.resize(expected, Cow::Borrowed(&[]));
        }
        let (first, second) = self.net.columns();
        let second = second.unwrap_or(first);
        let needed = 1 + self.values.iter().fold(first.max(second), |needed, &value| needed.max(value));
        if fields.len() < needed {
            return Err(format!("{count} columns, expected at least {needed}"));
        }
        let value = match self.values[..] {
            [] => Cow::Borrowed(LISTED.as_bytes()),
            [value] if !self.is_object && fields[value].trim_ascii().is_empty() => {
                return Err("the value is empty, expected a next hop or AS".into());
            }
            [value] => match &fields[value] {
                Cow::Borrowed(value) => Cow::Borrowed(value.trim_ascii()),
                Cow::Owned(value) => Cow::Owned(value.clone()),
            },
            _ => Cow::Owned(joined(self.values.iter().map(|&value| &fields[value]))?),
        };
        Ok(match self.net.addresses(&fields[first], &fields[second], mask_host_bits)? {
            Addresses::Prefix(prefix) => Row::Prefix(prefix, value),
            Addresses::Range(first, last) => Row::Range(first, last, value),
        })
    }
}

/// Returns the texts of fields as one.
pub(super) fn joined<'f, 't: 'f>(
    fields: impl IntoIterator<Item = &'f Cow<'t, [u8]>>,
) -> Result<Vec<u8>, String> {
    let mut joined = Vec::new();
    for (at, field) in fields.into_iter().enumerate() {
        let text = field.trim_ascii();
        if text.contains(&(SEPARATOR as u8)) {
            return Err("a field holds a control character".into());
        }
        if at > 0 {
            joined.push(SEPARATOR as u8);
        }
        joined.extend_from_slice(text);
    }
    Ok(joined)
}

/// Reads all lines, the first of which tells `begin` the columns. `begin` also says whether that
/// line is a row itself.
pub(super) fn read(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
    begin: impl Fn(&[u8]) -> Result<(Chosen, bool), String>,
) -> Result<(), Damage> {
    while let Some(block) = blocks.next() {
        let Block { first_line, text } = match block {
            Ok(block) => block,
            Err(damage) => {
                builder.damaged(damage)?;
                continue;
            }
        };
        let Some((offset, line)) = lines(text).find(|(_, line)| !is_skipped(line)) else { continue };
        let number = first_line + offset - 1;
        let (chosen, is_row) = begin(line).map_err(|what| Damage::line(number, what))?;
        chosen.begin(Place::Line(number), builder)?;
        let before = offset as usize - usize::from(is_row);
        let end = before.checked_sub(1).and_then(|last| memchr::memchr_iter(b'\n', text).nth(last));
        let start = if before == 0 { 0 } else { end.map_or(text.len(), |end| end + 1) };
        let rest = Block { first_line: first_line + before as u64, text: &text[start..] };
        rows::read_block(rest, options, builder, &|line, mask| chosen.row(line, mask))?;
        return rows::read(blocks, options, builder, |line, mask| chosen.row(line, mask));
    }
    Ok(())
}

/// Returns whether a line has no fields.
pub(super) fn is_skipped(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#')) || line.first() == Some(&b';')
}

/// Reads the two ends of a range: addresses, or integers as IP2Location writes them, in whose lists
/// for IPv6 the integers of `::ffff:0:0/96` are IPv4 addresses.
pub(super) fn bounds(first: &[u8], last: &[u8]) -> Result<(IpAddr, IpAddr), String> {
    if let (Some(first), Some(last)) = (address::parse(first), address::parse(last)) {
        return Ok((first, last));
    }
    let integer = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u128>().ok();
    let (Some(start), Some(end)) = (integer(first), integer(last)) else {
        let shown = |text| scan::quoted(&String::from_utf8_lossy(text));
        return Err(format!("{} to {} is no range of addresses", shown(first), shown(last)));
    };
    if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) {
        return Ok((IpAddr::V4(start.into()), IpAddr::V4(end.into())));
    }
    let (start, end) = (Ipv6Addr::from(start), Ipv6Addr::from(end));
    Ok(match (start.to_ipv4_mapped(), end.to_ipv4_mapped()) {
        (Some(start), Some(end)) => (start.into(), end.into()),
        _ => (start.into(), end.into()),
    })
}

/// Reads `ADDRESS-ADDRESS`.
pub(super) fn range_of(text: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let dash = memchr::memchr(b'-', text)?;
    Some((address::parse(text[..dash].trim_ascii())?, address::parse(text[dash + 1..].trim_ascii())?))
}

/// Returns the fields of a line, unquoted. Fields between tabs have no quotes.
pub(crate) fn fields(line: &[u8], delimiter: u8) -> Result<Vec<Cow<'_, [u8]>>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(inside) if delimiter != b'\t' => unquote(inside)?,
            _ => {
                let end = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        fields.push(field);
        match after.split_first() {
            None => return Ok(fields),
            Some((&found, next)) if found == delimiter => rest = next,
            Some(_) if delimiter == b',' => return Err("expected a comma after the closing quote".into()),
            Some(_) => return Err(format!("expected {:?} after the closing quote", delimiter as char)),
        }
    }
}

/// Reads a quoted field from after its opening quote. Also returns the bytes after its closing one.
fn unquote(text: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8]), String> {
    let mut field = Vec::new();
    let mut rest = text;
    loop {
        let end = rest
            .iter()
            .position(|&b| b == b'"')
            .ok_or_else(|| "a quote is not closed on its line".to_owned())?;
        field.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(b"\"") {
            Some(after) => {
                field.push(b'"');
                rest = after;
            }
            None => return Ok((Cow::Owned(field), rest)),
        }
    }
}
