//! The output of iproute2's `ip route` and `ip -6 route`.
//!
//! ```text
//! default via 192.0.2.1 dev eth0 proto dhcp metric 100
//! 198.51.100.0/24 dev eth0 proto kernel scope link src 198.51.100.2
//! unreachable 203.0.113.0/24 metric 20
//! 10.0.0.0/8 proto bgp metric 20
//!         nexthop via 192.0.2.1 dev eth0 weight 1
//!         nexthop via 192.0.2.2 dev eth1 weight 1
//! ```
//!
//! Of several routes to one prefix the kernel uses the one with the lowest metric, the first of
//! equals; so does this reader. Routes that do not forward (`blackhole`, `unreachable`,
//! `prohibit`, `throw`) keep their type as label. `default` is of its gateway's family; without a
//! gateway, of the family of the other lines.
//!
//! Left out and counted: routes of other routing tables than `main`, or than the table asked for
//! (`ip route show table all`); routes that hold only for some packets (`from`, `tos`); next hops
//! that are `dead`.

use super::ReadOptions;
use super::builder::{Best, Builder, Trouble};
use super::hops::{self, Hop};
use super::layouts::{Layout, Lines, Looks, Reader};
use crate::scan::{self, lines, quoted};
use crate::{Damage, Place};
use fibula::{IpPrefix, Prefix};
use std::collections::BTreeSet;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| is_line(&String::from_utf8_lossy(line))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Route types that do not forward.
const LABELS: [&str; 4] = ["blackhole", "unreachable", "prohibit", "throw"];
/// Route types that do.
const FORWARDING: [&str; 5] = ["unicast", "local", "broadcast", "multicast", "anycast"];

/// A route whose hops may still follow on the next lines.
struct Open {
    place: Place,
    prefix: IpPrefix,
    metric: u32,
    hops: Vec<Hop>,
    dead: usize,
}

/// What is read of a text.
pub(super) struct Reading<'o> {
    options: &'o ReadOptions,
    /// What `default` without a gateway means.
    default: IpPrefix,
    best: Best<u32>,
    open: Option<Open>,
    /// Whether continuation lines belong to a route that was left out.
    skipping: bool,
    /// The tables that routes were left out of.
    tables: BTreeSet<String>,
    any: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let default = default_prefix(blocks.peek());
    let mut reading = Reading::new(options, default);
    builder.each_line(blocks, |number, line, builder| reading.line(number, line, builder))?;
    reading.close(builder)?;
    reading.finish(builder)
}

impl<'o> Reading<'o> {
    pub(super) fn new(options: &'o ReadOptions, default: IpPrefix) -> Self {
        let (best, tables) = (Best::new(), BTreeSet::new());
        Self { options, default, best, open: None, skipping: false, tables, any: false }
    }

    fn line(&mut self, number: u64, line: &str, builder: &mut Builder) -> Result<(), Trouble> {
        let text = line.trim();
        if text.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with([' ', '\t']) {
            return match &mut self.open {
                Some(route) if text.starts_with("nexthop") => {
                    let words = words(line)?;
                    route.dead += words.dead;
                    route.hops.extend(words.hops);
                    Ok(())
                }
                None if self.skipping => Ok(()),
                _ => Err(format!("expected a route or its nexthop, found {}", quoted(text)).into()),
            };
        }
        self.close(builder)?;
        self.skipping = true;
        let (word, words) = route(line)?;
        let prefix = self.prefix(word, words.family)?;
        Ok(self.take(Place::Line(number), prefix, words, builder)?)
    }

    /// Reads a destination, with a gateway of its own family.
    pub(super) fn prefix(&self, text: &str, gateway: Option<IpAddr>) -> Result<IpPrefix, String> {
        match (text, gateway) {
            ("default", Some(IpAddr::V4(_))) => Ok(IpPrefix::V4(Prefix::ALL)),
            ("default", Some(IpAddr::V6(_))) => Ok(IpPrefix::V6(Prefix::ALL)),
            ("default", None) => Ok(self.default),
            _ => scan::prefix(text.as_bytes(), self.options.mask_host_bits),
        }
    }

    /// Takes a route whose hops may still follow.
    pub(super) fn take(
        &mut self,
        place: Place,
        prefix: IpPrefix,
        words: Words<'_>,
        builder: &mut Builder,
    ) -> Result<(), Damage> {
        if !self.wants(words.table) {
            let table = words.table.unwrap_or("main");
            self.tables.insert(table.to_owned());
            return builder.left_out(place, format!("route of table {table}"));
        }
        self.any = true;
        if words.is_conditional {
            return builder.left_out(place, "conditional route");
        }
        self.skipping = false;
        let Words { metric, hops, dead, .. } = words;
        self.open = Some(Open { place, prefix, metric, hops, dead });
        Ok(())
    }

    /// Adds the best routes to the tables.
    pub(super) fn finish(self, builder: &mut Builder) -> Result<(), Damage> {
        if let Some(table) = self.options.table.as_ref().filter(|_| !self.any) {
            let found: Vec<&str> = self.tables.iter().map(String::as_str).collect();
            let what = format!("no route of table {table} (there are {})", found.join(", "));
            builder.damaged(Damage::line(1, what))?;
        }
        self.best.finish(builder)
    }

    fn wants(&self, table: Option<&str>) -> bool {
        let number = |name: &str| match name {
            "default" => "253".to_owned(),
            "main" => "254".to_owned(),
            "local" => "255".to_owned(),
            other => other.to_owned(),
        };
        match (&self.options.table, table) {
            (None, None) => true,
            (None, Some(table)) => ["253", "254"].contains(&number(table).as_str()),
            (Some(wanted), table) => number(wanted) == number(table.unwrap_or("main")),
        }
    }

    /// Ends the route that is open.
    pub(super) fn close(&mut self, builder: &mut Builder) -> Result<(), Damage> {
        let Some(route) = self.open.take() else { return Ok(()) };
        for _ in 0..route.dead {
            builder.left_out(route.place, hops::DEAD)?;
        }
        match hops::offer(&route.hops, self.options.value) {
            Some(offer) => {
                self.best.offer(route.place, route.prefix, route.metric, offer);
                builder.beside(route.place, self.best.bytes())?;
            }
            None if route.dead > 0 => {}
            None => {
                let what = format!("{} has no hop (expected via, dev, or nexthop lines)", route.prefix);
                builder.damaged(Damage { place: route.place, what })?;
            }
        }
        Ok(())
    }
}

/// Returns what `default` without a gateway means in a text that begins so.
fn default_prefix(text: &[u8]) -> IpPrefix {
    let of_line = |line: &[u8]| {
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(2);
        words.into_iter().find_map(|word| scan::prefix(word, true).ok())
    };
    match lines(text).find_map(|(_, line)| of_line(line)) {
        Some(IpPrefix::V6(_)) => IpPrefix::V6(Prefix::ALL),
        _ => IpPrefix::V4(Prefix::ALL),
    }
}

/// Returns the name of a route type that does not forward.
pub(super) fn nowhere(kind: &str) -> Option<&'static str> {
    LABELS.into_iter().find(|&label| label == kind)
}

/// Reads a route line. Returns its destination too.
fn route(text: &str) -> Result<(&str, Words<'_>), String> {
    let mut rest = text.split_ascii_whitespace();
    let mut word = rest.next().unwrap_or_default();
    let mut kind = None;
    if LABELS.contains(&word) || FORWARDING.contains(&word) {
        kind = nowhere(word);
        word = rest.next().ok_or_else(|| format!("expected a prefix after {}", quoted(word)))?;
    }
    let mut words = words(text)?;
    if let Some(kind) = kind {
        (words.hops, words.dead) = (vec![Hop::nowhere(kind)], 0);
    }
    Ok((word, words))
}

/// The fields of a line that matter here.
#[derive(Default)]
pub(super) struct Words<'a> {
    pub(super) hops: Vec<Hop>,
    /// The number of dead hops, which are not among the others.
    pub(super) dead: usize,
    /// A gateway of the route's own family.
    pub(super) family: Option<IpAddr>,
    pub(super) metric: u32,
    pub(super) table: Option<&'a str>,
    pub(super) is_conditional: bool,
}

/// A hop whose words are being read.
#[derive(Default)]
struct Found<'a> {
    via: Option<IpAddr>,
    dev: Option<&'a str>,
    weight: Option<u32>,
    dead: bool,
}

impl<'a> Words<'a> {
    /// Takes what a route holds for: a source (`from`) or a type of service (`tos`).
    pub(super) fn condition(&mut self, word: &str, value: Option<&str>) {
        let all: &[&str] = match word {
            "from" => &["all", "any", "default", "0.0.0.0/0", "::/0"],
            _ => &["0", "0x0", "0x00", "default"],
        };
        self.is_conditional |= value.is_some_and(|value| !all.contains(&value));
    }

    fn end(&mut self, found: &mut Found<'a>) {
        let Found { via, dev, weight, dead } = std::mem::take(found);
        match Hop::through(via, dev, weight) {
            Some(_) if dead => self.dead += 1,
            hop => self.hops.extend(hop),
        }
    }
}

fn words(line: &str) -> Result<Words<'_>, String> {
    let mut found = Words::default();
    let mut hop = Found::default();
    let mut words = line.split_ascii_whitespace().peekable();
    let number = |what: &str, word: Option<&str>| {
        let number = word.and_then(|word| word.parse().ok());
        number.ok_or_else(|| format!("expected a number after {what} in {}", quoted(line)))
    };
    while let Some(word) = words.next() {
        match word {
            "nexthop" => found.end(&mut hop),
            "via" if hop.via.is_none() => {
                // An IPv4 route may go through an IPv6 gateway; it is then written `via inet6`.
                let other_family = words.next_if(|w| ["inet", "inet6"].contains(w)).is_some();
                let address = words.next().unwrap_or_default().parse();
                let address =
                    address.map_err(|_| format!("expected an address after via in {}", quoted(line)))?;
                hop.via = Some(address);
                if !other_family {
                    found.family = Some(address);
                }
            }
            "dev" if hop.dev.is_none() => {
                hop.dev =
                    Some(words.next().ok_or("expected an interface after dev, found the end of the line")?);
            }
            "metric" => found.metric = number("metric", words.next())?,
            "weight" => hop.weight = Some(number("weight", words.next())?),
            "table" => found.table = words.next(),
            "dead" => hop.dead = true,
            "from" | "tos" | "dsfield" => found.condition(word, words.next()),
            _ => {}
        }
    }
    found.end(&mut hop);
    Ok(found)
}

/// Returns whether a line is one of `ip route`.
fn is_line(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let Some(first) = words.next() else { return false };
    if LABELS.contains(&first) || FORWARDING.contains(&first) {
        return words
            .next()
            .is_some_and(|word| word == "default" || scan::prefix(word.as_bytes(), true).is_ok());
    }
    let next = ["via", "dev", "proto", "scope", "metric", "nhid", "src", "table", "from", "tos"];
    if first != "default" && scan::prefix(first.as_bytes(), true).is_err() {
        return false;
    }
    match words.next() {
        // A prefix alone may be the first line of a route whose hops follow, or one of a list.
        None => first == "default",
        Some(word) => {
            next.contains(&word)
                // `10.0.0.0/8 dev eth0` is a line of the text format too and means the same there.
                && words.nth(1).is_some()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};

    #[test]
    fn a_router_with_every_kind_of_line() {
        let text = b"default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.9 metric 100\n\
            default via 192.0.2.7 dev eth9 metric 50\n\
            10.0.0.0/8 proto bgp metric 20 \n\
            \tnexthop via 192.0.2.2 dev eth1 weight 1 \n\
            \tnexthop via 192.0.2.3 dev eth2 weight 1 \n\
            10.9.9.9 via inet6 fe80::1 dev eth0 proto static \n\
            192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.9 \n\
            blackhole 198.51.100.0/24 proto static metric 5 \n\
            local 192.0.2.9 dev eth0 table local proto kernel scope host src 192.0.2.9 \n\
            unreachable 203.0.113.0/24\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::IpRoute);
        assert_eq!(
            routes(&loaded),
            [
                "0.0.0.0/0 192.0.2.7 dev eth9",
                "10.0.0.0/8 192.0.2.2 dev eth1",
                "10.9.9.9/32 fe80::1 dev eth0",
                "192.0.2.0/24 dev eth0",
                "198.51.100.0/24 blackhole",
                "203.0.113.0/24 unreachable",
            ]
        );
    }

    #[test]
    fn the_family_of_default_is_its_gateways_or_its_neighbours() {
        let text = b"2001:db8::/64 dev eth0 proto kernel metric 256 pref medium\n\
            default via fe80::1 dev eth0 proto ra metric 1024 expires 1700sec hoplimit 64 pref medium\n";
        assert_eq!(
            routes(&parse(text, &ReadOptions::default()).unwrap()),
            ["::/0 fe80::1 dev eth0", "2001:db8::/64 dev eth0"]
        );
        let text = b"default dev tun0 metric 1 \n2001:db8::/64 dev eth0 metric 256 \n";
        assert_eq!(
            routes(&parse(text, &ReadOptions::default()).unwrap()),
            ["::/0 dev tun0", "2001:db8::/64 dev eth0"]
        );
    }

    fn notes(loaded: &super::super::Loaded) -> Vec<String> {
        loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what)).collect()
    }

    #[test]
    fn what_holds_only_for_some_packets_is_left_out() {
        let text = b"10.0.0.0/8 via 192.0.2.1 dev eth0\n10.0.0.0/8 tos 0x10 via 192.0.2.9 dev eth1\n\
            2001:db8:1::/48 from 2001:db8:9::/48 metric 1\n\tnexthop via fe80::4 dev eth1 weight 1\n\
            2001:db8:2::/48 from all via fe80::4 dev eth1\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1 dev eth0", "2001:db8:2::/48 fe80::4 dev eth1"]);
        assert_eq!(notes(&loaded), ["2 conditional route"]);
    }

    #[test]
    fn dead_hops_are_not_chosen() {
        let text = b"default via 192.0.2.1 dev eth0 dead linkdown\n10.0.0.0/8\n\
            \tnexthop via 192.0.2.2 dev eth1 weight 1 dead linkdown\n\tnexthop via 192.0.2.3 dev dead weight 1\n\
            \tnexthop via 192.0.2.4 dev eth3 weight 2 linkdown\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.3 dev dead"]);
        let further = "1 next hop after the first (--value next-hops keeps all)";
        assert_eq!(notes(&loaded), ["2 dead next hop", further]);
        let all = ReadOptions { value: Value::NextHops, ..Default::default() };
        let hops = "10.0.0.0/8 [{\"via\":\"192.0.2.3\",\"dev\":\"dead\",\"weight\":1},\
            {\"via\":\"192.0.2.4\",\"dev\":\"eth3\",\"weight\":2}]";
        assert_eq!(routes(&parse(text, &all).unwrap()), [hops]);
    }

    #[test]
    fn one_routing_table_is_read() {
        let text = b"10.0.0.0/8 via 192.0.2.7 dev eth0 table 100\n10.0.0.0/8 via 192.0.2.1 dev eth0\n\
            local 192.0.2.9 dev eth0 table local scope host\n";
        let of = |table: &str| {
            let options = ReadOptions { table: Some(table.into()), ..Default::default() };
            parse(text, &options).map(|loaded| (routes(&loaded), notes(&loaded)))
        };
        let main = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!((routes(&main), notes(&main)), of("254").unwrap());
        assert_eq!(of("main").unwrap().1, ["1 route of table 100", "1 route of table local"]);
        assert_eq!(of("100").unwrap().0, ["10.0.0.0/8 192.0.2.7 dev eth0"]);
        assert_eq!(of("255").unwrap().0, ["192.0.2.9/32 dev eth0"]);
        let error = of("7").unwrap_err().to_string();
        assert_eq!(error, "memory, line 1: no route of table 7 (there are 100, local, main)");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::IpRoute, text);
        assert_eq!(
            error("10.0.0.0/8 proto bgp\n11.0.0.0/8 dev a\n"),
            "memory, line 1: 10.0.0.0/8 has no hop (expected via, dev, or nexthop lines)"
        );
        assert_eq!(
            error("10.0.0.0/8 via x\n"),
            "memory, line 1: expected an address after via in \"10.0.0.0/8 via x\""
        );
        assert_eq!(
            error("\tnexthop via 10.0.0.1\n"),
            "memory, line 1: expected a route or its nexthop, found \"nexthop via 10.0.0.1\""
        );
        assert!(error("10.0.0.0/33 dev eth0").contains("past the 32 bits"));
        assert!(error("10.0.0.0/8 dev").contains("expected an interface after dev"));
        assert!(error("blackhole").contains("expected a prefix after \"blackhole\""));
    }
}
