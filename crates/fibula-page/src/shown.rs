//! [`Shown`]: one generation of a table, as a page asks it.

use crate::{figures, routes::Which};
use fibula::{Address, InternedTable, IpPrefix, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use fibula_io::table::{Loaded, json_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a number that no other call has returned.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A route that is another one, or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its prefix.
    pub prefix: IpPrefix,
    /// Its value; `None` if there is no route any more.
    pub value: Option<NextHopInfo>,
}

/// A table as it was read once.
#[derive(Debug)]
pub struct Shown {
    /// How it is called: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// 1 for the table that was there at the start, 0 for one that begins empty; one more with each
    /// that replaced it, and with each change.
    pub generation: u64,
    /// Another number for every state of every table.
    pub(crate) id: u64,
    /// Whether it changes.
    pub(crate) is_live: bool,
    /// The routes, each with the number of its value.
    pub table: InternedTable<NextHop>,
    /// What these numbers stand for.
    pub next_hops: NextHops,
    /// The name of the format that it was read from.
    pub format: &'static str,
    /// What the reader left out, guessed or passed over.
    pub notes: Vec<String>,
    /// The values as JSON, by their numbers; `null` is that of no route.
    json: Vec<Box<str>>,
    /// Its figures, from the first time that they are asked for.
    figures: OnceLock<Value>,
}

impl Shown {
    /// Compiles a table. O(n).
    #[must_use]
    pub fn new(name: &str, generation: u64, loaded: Loaded) -> Self {
        let notes = loaded.damage.iter().map(|damage| format!("passed over: {damage}"));
        let notes = notes.chain(loaded.report.notes.iter().map(ToString::to_string)).collect();
        let tables = loaded.tables;
        let json = tables.next_hops.iter().map(|(_, info)| json_text(info));
        let json = std::iter::once("null".into()).chain(json).collect();
        let ipv4 = tables.ipv4.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        let ipv6 = tables.ipv6.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        Self {
            name: name.to_owned(),
            generation,
            table: ipv4.chain(ipv6).collect(),
            next_hops: tables.next_hops,
            format: loaded.format.name(),
            notes,
            json,
            id: next_id(),
            is_live: false,
            figures: OnceLock::new(),
        }
    }

    /// Returns a table without routes, which will change.
    #[must_use]
    pub fn empty(name: &str, format: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            generation: 0,
            table: InternedTable::default(),
            next_hops: NextHops::new(),
            format,
            notes: Vec::new(),
            json: vec!["null".into()],
            id: next_id(),
            is_live: true,
            figures: OnceLock::new(),
        }
    }

    /// Returns the same table, without what it keeps for pages. O(n).
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            generation: self.generation,
            table: self.table.clone(),
            next_hops: self.next_hops.clone(),
            notes: self.notes.clone(),
            json: self.json.clone(),
            ..Self::empty(&self.name, self.format)
        }
    }

    /// Makes changes, in order, which are one more generation. O(changes).
    pub fn change(&mut self, changes: &[Change]) {
        self.generation += 1;
        let mut numbered: Vec<(IpPrefix, Option<NextHop>)> = Vec::with_capacity(changes.len());
        for Change { prefix, value } in changes {
            match value.as_ref().map(|info| self.number(info)) {
                // More values than numbers: the route is left as it is.
                Some(None) => {}
                next_hop => numbered.push((*prefix, next_hop.flatten())),
            }
        }
        // Together, since neighbouring routes are compiled at once.
        if self.table.try_apply(numbered.iter().copied()).is_err() {
            for (prefix, next_hop) in numbered {
                match next_hop {
                    Some(next_hop) => drop(self.table.insert(prefix, next_hop)),
                    None => drop(self.table.remove(prefix)),
                }
            }
        }
        // As many that no route has any more as a table of AS paths would gather in days.
        if self.next_hops.len() > 2 * self.table.len() + 1_000 {
            self.forget_values();
        }
        (self.id, self.figures) = (next_id(), OnceLock::new());
    }

    /// Numbers the values of routes from 1 on, without those that no route has, and compiles the
    /// table again. O(n).
    fn forget_values(&mut self) {
        let before = std::mem::take(&mut self.next_hops);
        self.json.truncate(1);
        let mut numbers: HashMap<NextHop, NextHop> = HashMap::new();
        let Self { table, next_hops, json, .. } = self;
        let numbered = table.iter().map(|(prefix, &next_hop)| {
            let number = *numbers.entry(next_hop).or_insert_with(|| {
                // Fewer than before have a number each, too.
                let number = before.get(next_hop).and_then(|info| next_hops.intern(info.clone()).ok());
                json.extend(before.get(next_hop).map(json_text));
                number.unwrap_or(NextHop::NONE)
            });
            (prefix, number)
        });
        *table = numbered.collect();
    }

    /// Returns the number of a value, a new one if need be. `None` if there are too many values.
    fn number(&mut self, info: &NextHopInfo) -> Option<NextHop> {
        let next_hop = self.next_hops.find(info).or_else(|| self.next_hops.intern(info.clone()).ok())?;
        if next_hop.0 as usize == self.json.len() {
            self.json.push(json_text(info));
        }
        Some(next_hop)
    }

    /// Returns another number for every state of every table of this process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns what a list of tables says of it.
    #[must_use]
    pub fn about(&self) -> Value {
        let (ipv4, ipv6) = self.table.engines();
        json!({
            "table": self.name,
            "format": self.format,
            "generation": self.generation,
            "routes": { "ipv4": self.table.len_ipv4(), "ipv6": self.table.len_ipv6() },
            "values": self.next_hops.len(),
            "engine": { "ipv4": ipv4, "ipv6": ipv6 },
            "bytes": self.table.memory().total(),
            "report": self.notes,
        })
    }

    /// Returns the value of a number as JSON.
    #[inline]
    #[must_use]
    pub fn json(&self, next_hop: NextHop) -> &str {
        self.json.get(next_hop.0 as usize).map_or("null", AsRef::as_ref)
    }

    /// Returns the value of a number as text; `-` for no route.
    #[must_use]
    pub fn text(&self, next_hop: NextHop) -> String {
        self.next_hops.get(next_hop).map_or_else(|| "-".into(), ToString::to_string)
    }

    /// Returns the longest match of an address, or the longest route that covers a prefix.
    #[must_use]
    pub fn best(&self, asked: IpPrefix) -> Option<(IpPrefix, NextHop)> {
        let found = match host(asked) {
            Some(address) => self.table.lookup(address),
            None => self.table.get_lpm(asked),
        };
        found.map(|(prefix, &next_hop)| (prefix, next_hop))
    }

    /// Returns the routes that are asked for, in order.
    pub fn routes<'s>(&'s self, which: &Which) -> Box<dyn Iterator<Item = (IpPrefix, NextHop)> + Send + 's> {
        which.of(self)
    }

    /// Returns the figures of both families as JSON. O(n) for the first time.
    pub fn figures(&self) -> &Value {
        self.figures.get_or_init(|| figures::of(self))
    }

    /// Returns the routes of IPv4, with numbers of values that `number` makes of its own; those for
    /// which there is none are left out. O(n).
    pub fn ipv4(&self, number: impl Fn(NextHop) -> Option<NextHop>) -> Rib<u32> {
        numbered(self.table.iter_ipv4(), number)
    }

    /// Returns the routes of IPv6, as [`ipv4`](Self::ipv4) does. O(n).
    pub fn ipv6(&self, number: impl Fn(NextHop) -> Option<NextHop>) -> Rib<u128> {
        numbered(self.table.iter_ipv6(), number)
    }

    /// Writes `"prefix":...,"next_hop":...` of a route, or of none.
    #[inline]
    pub fn write_route(&self, out: &mut Vec<u8>, route: Option<(IpPrefix, NextHop)>) {
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

/// Returns a value as JSON.
fn json_text(info: &NextHopInfo) -> Box<str> {
    match info {
        // A number, as columns of Arrow have it.
        NextHopInfo::AutonomousSystem(asn) => asn.to_string().into(),
        _ => json_of(info).map_or_else(|| Value::from(info.to_string()).to_string(), str::to_owned).into(),
    }
}

fn numbered<'t, A: Address>(
    routes: impl Iterator<Item = (Prefix<A>, &'t NextHop)>,
    number: impl Fn(NextHop) -> Option<NextHop>,
) -> Rib<A> {
    routes.filter_map(|(prefix, &next_hop)| Some(Route { prefix, next_hop: number(next_hop)? })).collect()
}

/// Returns a name that a table may have: what it may not have is a dash.
#[must_use]
pub fn plain_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect()
}

/// Returns the address of a prefix of full length.
#[must_use]
pub fn host(prefix: IpPrefix) -> Option<IpAddr> {
    match prefix {
        IpPrefix::V4(prefix) if prefix.len() == 32 => Some(IpAddr::V4(prefix.first().into())),
        IpPrefix::V6(prefix) if prefix.len() == 128 => Some(IpAddr::V6(prefix.first().into())),
        IpPrefix::V4(_) | IpPrefix::V6(_) => None,
    }
}

/// Returns what was asked, as `fibula lookup` repeats it: an address without its length.
#[must_use]
pub fn asked(prefix: IpPrefix) -> String {
    host(prefix).map_or_else(|| prefix.to_string(), |address| address.to_string())
}

/// Writes a prefix. Those of IPv4 do not go through the standard library's formatting, which takes
/// several times as long as the lookup.
#[inline]
pub fn write_prefix(out: &mut Vec<u8>, prefix: IpPrefix) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_changes_keeps_the_values_that_routes_have() {
        let mut shown = Shown::empty("fed", "feed");
        let prefix = |at: u32| IpPrefix::from(Prefix::masked(10 << 24 | (at % 50) << 8, 24).unwrap());
        let value = |at: u32| NextHopInfo::Label(format!("path {at}").into());
        for at in 0..5_000 {
            let change = |prefix, value| Change { prefix, value };
            shown.change(&[change(prefix(at), Some(value(at))), change(prefix(at + 25), None)]);
            assert!(shown.next_hops.len() <= 2 * shown.table.len() + 1_001);
            let (_, next_hop) = shown.best(prefix(at)).unwrap();
            assert_eq!(shown.text(next_hop), format!("path {at}"));
            assert_eq!(shown.json(next_hop), format!("\"path {at}\""));
        }
        assert_eq!((shown.table.len(), shown.generation), (25, 5_000));
        let copy = shown.copy();
        for (prefix, &next_hop) in &shown.table {
            assert_eq!(
                copy.best(prefix).map(|(_, next_hop)| copy.text(next_hop)),
                Some(shown.text(next_hop))
            );
        }
    }
}
