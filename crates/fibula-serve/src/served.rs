//! [`Served`]: one generation of a table, which answers as long as anybody holds it.

use fibula::{IpPrefix, NextHop, NextHops, Prefix, Table, Views};
use fibula_arrow::Values;
use fibula_io::table::{Loaded, json_of};
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::SystemTime;

/// A table as it was read once.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    /// 1 for the table that was there at the start; one more with each that replaced it.
    pub(crate) generation: u64,
    pub(crate) loaded: SystemTime,
    /// The routes, each with the number of its value.
    pub(crate) table: Table<NextHop>,
    /// The numbers of the values alone, for who does not ask for prefixes: a smaller table.
    pub(crate) views: Views,
    pub(crate) next_hops: NextHops,
    pub(crate) format: &'static str,
    /// What the reader left out, guessed or passed over.
    pub(crate) notes: Vec<String>,
    /// The values as JSON, by their numbers; `null` is that of no route.
    json: Vec<Box<str>>,
    /// The values as columns of Arrow, from the first time that one is asked for.
    values: OnceLock<Vec<(String, Values)>>,
}

impl Served {
    /// Compiles a table.
    ///
    /// # Errors
    /// If no engine holds it.
    pub(crate) fn new(name: &str, generation: u64, loaded: Loaded) -> Result<Self, fibula::Error> {
        let notes = loaded.damage.iter().map(|damage| format!("passed over: {damage}"));
        let notes = notes.chain(loaded.report.notes.iter().map(ToString::to_string)).collect();
        let tables = loaded.tables;
        let json = tables.next_hops.iter().map(|(_, info)| match json_of(info) {
            Some(json) => json.into(),
            None => serde_json::Value::from(info.to_string()).to_string().into(),
        });
        let json = std::iter::once("null".into()).chain(json).collect();
        let ipv4 = tables.ipv4.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        let ipv6 = tables.ipv6.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        let table = ipv4.chain(ipv6).collect();
        let views = Views::of(&tables.ipv4, &tables.ipv6)?;
        Ok(Self {
            name: name.to_owned(),
            generation,
            loaded: SystemTime::now(),
            table,
            views,
            next_hops: tables.next_hops,
            format: loaded.format.name(),
            notes,
            json,
            values: OnceLock::new(),
        })
    }

    /// Returns the value of a number as JSON.
    #[inline]
    pub(crate) fn json(&self, next_hop: NextHop) -> &str {
        self.json.get(next_hop.0 as usize).map_or("null", AsRef::as_ref)
    }

    /// Returns the values by their numbers as columns of Arrow: one, or one for each field.
    pub(crate) fn values(&self) -> &[(String, Values)] {
        self.values.get_or_init(|| {
            let fields = Values::fields(&self.next_hops, true);
            if fields.is_empty() {
                return vec![("next_hop".into(), Values::of(&self.next_hops))];
            }
            fields.into_iter().map(|(name, values)| (format!("next_hop_{name}"), values)).collect()
        })
    }

    /// Returns the value of a number as text; `-` for no route.
    pub(crate) fn text(&self, next_hop: NextHop) -> String {
        self.next_hops.get(next_hop).map_or_else(|| "-".into(), ToString::to_string)
    }

    /// Returns the longest match of an address, or the longest route that covers a prefix.
    pub(crate) fn best(&self, asked: IpPrefix) -> Option<(IpPrefix, NextHop)> {
        let found = match host(asked) {
            Some(address) => self.table.lookup(address),
            None => self.table.get_lpm(asked),
        };
        found.map(|(prefix, &next_hop)| (prefix, next_hop))
    }

    /// Writes `"prefix":...,"next_hop":...` of a route, or of none.
    #[inline]
    pub(crate) fn write_route(&self, out: &mut Vec<u8>, route: Option<(IpPrefix, NextHop)>) {
        out.extend_from_slice(b"\"prefix\":");
        match route {
            Some((prefix, _)) => {
                out.push(b'"');
                write_prefix(out, prefix);
                out.push(b'"');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"next_hop\":");
        let next_hop = route.map_or(NextHop::NONE, |(_, next_hop)| next_hop);
        out.extend_from_slice(self.json(next_hop).as_bytes());
    }
}

/// Returns the address of a prefix of full length.
pub(crate) fn host(prefix: IpPrefix) -> Option<IpAddr> {
    match prefix {
        IpPrefix::V4(prefix) if prefix.len() == 32 => Some(IpAddr::V4(prefix.first().into())),
        IpPrefix::V6(prefix) if prefix.len() == 128 => Some(IpAddr::V6(prefix.first().into())),
        IpPrefix::V4(_) | IpPrefix::V6(_) => None,
    }
}

/// Returns what was asked, as `fibula lookup` repeats it: an address without its length.
pub(crate) fn asked(prefix: IpPrefix) -> String {
    host(prefix).map_or_else(|| prefix.to_string(), |address| address.to_string())
}

/// Writes a prefix. Those of IPv4 do not go through the standard library's formatting, which takes
/// several times as long as the lookup.
#[inline]
pub(crate) fn write_prefix(out: &mut Vec<u8>, prefix: IpPrefix) {
    match prefix {
        IpPrefix::V4(prefix) => write_ipv4(out, prefix),
        // Memory can always be written.
        IpPrefix::V6(prefix) => drop(write!(out, "{prefix}")),
    }
}

#[inline]
fn write_ipv4(out: &mut Vec<u8>, prefix: Prefix<u32>) {
    const LONGEST: usize = "255.255.255.255/32".len();
    let mut text = [0; LONGEST];
    let mut end = 0;
    let octets = prefix.first().to_be_bytes();
    let numbers = octets.into_iter().zip(*b".../").chain([(prefix.len(), 0)]);
    for (number, after) in numbers {
        if number >= 100 {
            text[end] = b'0' + number / 100;
            end += 1;
        }
        if number >= 10 {
            text[end] = b'0' + number / 10 % 10;
            end += 1;
        }
        text[end] = b'0' + number % 10;
        end += 1;
        if after != 0 {
            text[end] = after;
            end += 1;
        }
    }
    out.extend_from_slice(&text[..end]);
}
