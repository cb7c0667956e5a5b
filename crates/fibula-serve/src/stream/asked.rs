//! [`Asked`]: the addresses of some rows, and what is found for them.

use crate::served::Served;
use fibula::{Address, IpPrefix, NextHop, Prefix};
use fibula_io::address::{Found, Window, find};

/// What a row asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ipv4,
    Ipv6,
    Prefix,
    /// Nothing.
    Null,
}

/// A row: where its text is, in the block or, if it was written with escapes, aside.
#[derive(Clone, Copy, Debug)]
struct Row {
    kind: Kind,
    is_aside: bool,
    start: u32,
    len: u32,
}

/// The addresses of one family, in order, and their routes.
#[derive(Debug)]
struct Half<A: Address> {
    addresses: Vec<A>,
    routes: Vec<Option<(Prefix<A>, NextHop)>>,
}

impl<A: Address> Default for Half<A> {
    fn default() -> Self {
        Self { addresses: Vec::new(), routes: Vec::new() }
    }
}

/// The rows of a block, in order. The next block reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Asked {
    rows: Vec<Row>,
    aside: Vec<u8>,
    ipv4: Half<u32>,
    ipv6: Half<u128>,
    prefixes: Vec<IpPrefix>,
}

impl Asked {
    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.aside.clear();
        self.ipv4.addresses.clear();
        self.ipv6.addresses.clear();
        self.prefixes.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds the address or prefix of `len` bytes at `start` of a block, which has less than 4 GiB.
    /// Returns whether it is one.
    #[inline]
    pub(super) fn push(&mut self, block: &[u8], start: usize, len: usize) -> bool {
        self.add(block, start, len, false)
    }

    /// Adds an address or prefix that is not in the block as it is.
    pub(super) fn push_aside(&mut self, text: &str) -> bool {
        let start = self.aside.len();
        let mut aside = std::mem::take(&mut self.aside);
        aside.extend_from_slice(text.as_bytes());
        let is_one = self.add(&aside, start, text.len(), true);
        self.aside = aside;
        is_one
    }

    /// Adds a row that asks nothing.
    pub(super) fn push_null(&mut self) {
        self.rows.push(Row { kind: Kind::Null, is_aside: false, start: 0, len: 0 });
    }

    #[inline]
    fn add(&mut self, text: &[u8], start: usize, len: usize, is_aside: bool) -> bool {
        let kind = match find(Window::new(text, start, len)) {
            Found::Ipv4(address) => {
                self.ipv4.addresses.push(address);
                Kind::Ipv4
            }
            Found::Ipv6(address) => {
                self.ipv6.addresses.push(address);
                Kind::Ipv6
            }
            Found::Invalid => {
                let text = std::str::from_utf8(&text[start..start + len]);
                let Some(prefix) = text.ok().and_then(|text| text.parse().ok()) else { return false };
                self.prefixes.push(prefix);
                Kind::Prefix
            }
        };
        self.rows.push(Row { kind, is_aside, start: start as u32, len: len as u32 });
        true
    }

    /// Looks all rows up, and passes the text of each, if it asks something, and its route.
    pub(super) fn answer(
        &mut self,
        served: &Served,
        block: &[u8],
        mut each: impl FnMut(Option<&[u8]>, Option<(IpPrefix, NextHop)>),
    ) {
        let table = &served.table;
        let Self { ipv4, ipv6, .. } = self;
        ipv4.routes.clear();
        ipv6.routes.clear();
        table.lookup_each_ipv4(&ipv4.addresses, |_, found| ipv4.routes.push(found.route().map(own)));
        table.lookup_each_ipv6(&ipv6.addresses, |_, found| ipv6.routes.push(found.route().map(own)));
        let (mut found_ipv4, mut found_ipv6) = (ipv4.routes.iter(), ipv6.routes.iter());
        let mut prefixes = self.prefixes.iter();
        for row in &self.rows {
            let route = match row.kind {
                Kind::Ipv4 => {
                    found_ipv4.next().and_then(|&it| it.map(|(prefix, value)| (prefix.into(), value)))
                }
                Kind::Ipv6 => {
                    found_ipv6.next().and_then(|&it| it.map(|(prefix, value)| (prefix.into(), value)))
                }
                Kind::Prefix => prefixes.next().and_then(|&prefix| served.best(prefix)),
                Kind::Null => None,
            };
            let from = if row.is_aside { &self.aside } else { block };
            let text = &from[row.start as usize..][..row.len as usize];
            each((row.kind != Kind::Null).then_some(text), route);
        }
    }
}

/// A route that outlives the table's answer.
fn own<A: Address>((prefix, &value): (Prefix<A>, &NextHop)) -> (Prefix<A>, NextHop) {
    (prefix, value)
}
