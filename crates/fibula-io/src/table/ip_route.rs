//! The output of iproute2's `ip route` and `ip -6 route`.
//!
//! ```text
//! default via 192.0.2.1 dev eth0 proto dhcp metric 100
//! 198.51.100.0/24 dev eth0 proto kernel scope link src 198.51.100.2
//! unreachable 203.0.113.0/24 metric 20
//! 10.0.0.0/8 proto bgp metric 20
//!         nexthop via 192.0.2.1 dev eth0 weight 1
//!         nexthop via 192.0.2.2 dev eth1 weight 1
//! 2001:db8:1::/64 encap seg6local action End.DT6 table 100 dev eth1 metric 1024
//! ```
//!
//! A line is a destination and fields. A field is a word of [`FIELDS`], with a value or without;
//! after `encap` and its type the fields of that encapsulation come first, each once
//! ([`ENCAPSULATIONS`]), so that `table 100` above is not the route's table. The fields of `ip -j
//! route` are the same, and are read by the same [`Parts`].
//!
//! Of several routes to one prefix the kernel uses the one with the lowest metric, of equals the
//! one that a router prefers most (`pref`), of these the first; so does this reader. Routes that do
//! not forward (`blackhole`, `unreachable`, `prohibit`, `throw`) keep their type as label.
//! `default` is of its gateway's family; without a gateway, of the family of the other lines.
//!
//! Left out and counted: routes of other routing tables than `main`, or than the table asked for
//! (`ip route show table all`); routes that hold only for some packets (`from`, `tos`); next hops
//! that are `dead`.

use super::ReadOptions;
use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{State, nowhere, unknown};
use super::router::sink::{Line, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::Words;
use crate::scan::{self, lines};
use crate::{Damage, Place};
use fibula::{IpPrefix, Prefix};
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| is_line(&String::from_utf8_lossy(line))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// The types of routes, in the order of their numbers, which `-N` prints. The first is 1.
const TYPES: [&str; 9] = [
    "unicast",
    "local",
    "broadcast",
    "anycast",
    "multicast",
    "blackhole",
    "unreachable",
    "prohibit",
    "throw",
];
/// Those before forward, those from this one on do not.
const NOWHERE: usize = 5;

/// What a field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Via,
    Dev,
    Weight,
    Metric,
    Table,
    Pref,
    From,
    Tos,
    Dead,
    Encap,
    /// Without effect; a value follows.
    Value,
    /// Without effect; nothing follows.
    Flag,
}

/// The fields of a route and of its next hops, in text and as JSON.
#[rustfmt::skip]
pub(super) const FIELDS: [(&str, Field); 67] = [
    ("via", Field::Via), ("gateway", Field::Via), ("dev", Field::Dev), ("weight", Field::Weight),
    ("metric", Field::Metric), ("table", Field::Table), ("pref", Field::Pref), ("from", Field::From),
    ("tos", Field::Tos), ("dsfield", Field::Tos), ("dead", Field::Dead), ("encap", Field::Encap),
    ("proto", Field::Value), ("protocol", Field::Value), ("scope", Field::Value), ("src", Field::Value),
    ("prefsrc", Field::Value), ("nhid", Field::Value), ("expires", Field::Value), ("mtu", Field::Value),
    ("advmss", Field::Value), ("hoplimit", Field::Value), ("window", Field::Value), ("rtt", Field::Value),
    ("rttvar", Field::Value), ("ssthresh", Field::Value), ("cwnd", Field::Value), ("initcwnd", Field::Value),
    ("initrwnd", Field::Value), ("reordering", Field::Value), ("features", Field::Value),
    ("quickack", Field::Value), ("congctl", Field::Value), ("rto_min", Field::Value),
    ("fastopen_no_cookie", Field::Value), ("realm", Field::Value), ("realms", Field::Value),
    ("error", Field::Value), ("ttl-propagate", Field::Value), ("used", Field::Value), ("age", Field::Value),
    ("users", Field::Value), ("iif", Field::Value), ("uid", Field::Value), ("mark", Field::Value),
    ("lastuse", Field::Value), ("tclass", Field::Value), ("ttl_propogate", Field::Value),
    ("uidrange", Field::Value), ("fwmark", Field::Value), ("lock", Field::Flag), ("linkdown", Field::Flag),
    ("onlink", Field::Flag), ("pervasive", Field::Flag), ("offload", Field::Flag), ("trap", Field::Flag),
    ("rt_offload", Field::Flag), ("rt_trap", Field::Flag), ("offload_failed", Field::Flag),
    ("rt_offload_failed", Field::Flag), ("notify", Field::Flag), ("unresolved", Field::Flag),
    ("cache", Field::Flag), ("ecn", Field::Flag), ("tcp_usec_ts", Field::Flag), ("congestion", Field::Value),
    ("flow", Field::Value),
];

/// The fields of each encapsulation; of one without a name the value follows the type.
#[rustfmt::skip]
pub(super) const ENCAPSULATIONS: [(&str, &[&str]); 9] = [
    ("mpls", &["", "ttl", "dst"]),
    ("ip", &["id", "src", "dst", "ttl", "tos", "flags", "geneve_opts", "vxlan_opts", "erspan_opts"]),
    ("ip6", &["id", "src", "dst", "hoplimit", "tc", "flags", "geneve_opts", "vxlan_opts", "erspan_opts"]),
    ("seg6", &["mode", "segs", "hmac", "tunsrc"]),
    ("seg6local", &["action", "table", "vrftable", "nh4", "nh6", "iif", "oif", "srh", "segs", "hmac", "flavors",
        "lblen", "nflen", "endpoint", "count"]),
    ("bpf", &["in", "out", "xmit", "headroom"]),
    ("ila", &["", "csum-mode", "ident-type", "hook-type"]),
    ("ioam6", &["freq", "mode", "tundst", "tunsrc", "trace", "type", "ns", "size"]),
    ("xfrm", &["if_id", "link_dev"]),
];

/// A hop whose fields are being read.
#[derive(Debug, Default)]
struct Found<'a> {
    via: Option<IpAddr>,
    dev: Option<&'a str>,
    weight: Option<u32>,
    is_dead: bool,
}

/// What the fields of a route say.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) kind: Option<&'static str>,
    hops: Vec<(Hop, State)>,
    hop: Found<'a>,
    /// Whether a gateway, or a field of one family, says IPv6.
    is_ipv6: Option<bool>,
    metric: u32,
    pref: u64,
    table: Option<&'a str>,
    is_conditional: bool,
    /// The fields of the encapsulation that have not come yet.
    scope: Vec<&'static str>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(kind: Option<&'static str>) -> Self {
        Self { kind, pref: 1, ..Self::default() }
    }

    /// Begins the next hop.
    pub(super) fn next_hop(&mut self) {
        let Found { via, dev, weight, is_dead } = std::mem::take(&mut self.hop);
        let state = if is_dead { State::Dead } else { State::Used };
        self.hops.extend(Hop::through(via, dev, weight).map(|hop| (hop, state)));
        self.scope.clear();
    }

    /// Returns what a field is; `None` if it is of the encapsulation.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn field(&mut self, word: &str) -> Result<Option<Field>, String> {
        if let Some(at) = self.scope.iter().position(|name| *name == word) {
            self.scope.remove(at);
            return Ok(None);
        }
        let field = FIELDS.iter().find(|(name, _)| *name == word);
        field.map(|(_, field)| Some(*field)).ok_or_else(|| unknown(word))
    }

    /// Takes a gateway. One of another family than the route's is written so.
    pub(super) fn via(&mut self, word: &str, is_of_other_family: bool) -> Result<(), String> {
        let address: IpAddr = word
            .parse()
            .map_err(|_| format!("expected an address after via, found {}", scan::quoted(word)))?;
        self.is_ipv6 = Some(address.is_ipv6() != is_of_other_family);
        self.hop.via = Some(address);
        Ok(())
    }

    /// Takes the value of a field.
    pub(super) fn take(&mut self, field: Field, value: &'a str) -> Result<(), String> {
        let number = || value.parse::<u32>().map_err(|_| unknown(value));
        match field {
            Field::Via => self.via(value, false)?,
            Field::Dev => self.hop.dev = Some(value),
            Field::Weight => self.hop.weight = Some(number()?),
            Field::Metric => self.metric = number()?,
            Field::Table => self.table = Some(value),
            Field::Pref => {
                let levels = ["high", "medium", "low"];
                let level = levels.iter().position(|level| *level == value).ok_or_else(|| unknown(value))?;
                (self.pref, self.is_ipv6) = (level as u64, self.is_ipv6.or(Some(true)));
            }
            Field::From => {
                self.is_conditional |= !["all", "any", "default", "0.0.0.0/0", "::/0"].contains(&value);
            }
            Field::Tos => self.is_conditional |= !["0", "0x0", "0x00", "default"].contains(&value),
            Field::Dead => self.hop.is_dead = true,
            Field::Encap => {
                let known = ENCAPSULATIONS.iter().find(|(name, _)| *name == value);
                self.scope = known.ok_or_else(|| unknown(value))?.1.to_vec();
            }
            Field::Value | Field::Flag => {}
        }
        Ok(())
    }

    /// Reads the fields of a line.
    fn words(&mut self, mut words: Words<'a>) -> Result<(), String> {
        while let Some(word) = words.next() {
            if word == "nexthop" {
                self.next_hop();
                continue;
            }
            let field = self.field(word)?;
            if matches!(field, Some(Field::Flag | Field::Dead)) {
                self.take(field.unwrap_or(Field::Flag), "")?;
                continue;
            }
            let mut value = words.next().ok_or_else(|| format!("expected a value after {word}"))?;
            match field {
                Some(Field::Via) if ["inet", "inet6"].contains(&value) => {
                    value = words.next().unwrap_or_default();
                    self.via(value, true)?;
                    continue;
                }
                // `mtu lock 1400`
                Some(Field::Value) if value == "lock" => _ = words.next(),
                // `segs 2 [ 2001:db8::1 2001:db8::2 ]`, `flags csum`
                None if word == "segs" => {
                    let list = words.next().unwrap_or_default().trim_matches(['[', ']']);
                    let mut hops = list.split_ascii_whitespace();
                    if let Some(odd) = hops.clone().find(|hop| hop.parse::<IpAddr>().is_err()) {
                        return Err(unknown(odd));
                    }
                    hops.next().ok_or_else(|| unknown(value))?;
                }
                None if word == "srh" && value == "segs" => _ = (words.next(), words.next()),
                _ => {}
            }
            if let Some(field) = field {
                self.take(field, value)?;
            }
            if let Some(at) = self.scope.iter().position(|name| name.is_empty()) {
                self.scope.remove(at);
                words.next();
            }
        }
        self.next_hop();
        Ok(())
    }
}

/// What is known of a text when a route is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// Whether `default` without a gateway is IPv6's.
    pub(super) is_ipv6: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let first = lines(blocks.peek()).find_map(|(_, line)| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(2);
        words.find_map(|word| scan::prefix(word, true).ok())
    });
    let context = Context { is_ipv6: matches!(first, Some(IpPrefix::V6(_))) };
    let mut sink = sink(options);
    // A route whose next hops may follow, and its lines: its family is that of its gateways.
    let mut held: Vec<(Place, String)> = Vec::new();
    sink.each_line(blocks, builder, |sink, place, line| {
        let text = line.trim();
        if text.is_empty() {
            return Line::Blank;
        }
        if line.starts_with('#') || is_prompt(text) {
            return Line::Aside;
        }
        if !line.starts_with([' ', '\t']) {
            end(sink, &mut held, context);
        } else if held.is_empty() {
            return Line::Unknown(unknown(text.split_ascii_whitespace().next().unwrap_or_default()));
        }
        held.push((place, text.to_owned()));
        Line::Held
    })?;
    end(&mut sink, &mut held, context);
    sink.finish(builder)
}

/// Returns where routes of this layout go.
pub(super) fn sink(options: &ReadOptions) -> Sink<'_> {
    let asked = options.table.as_deref().map(named);
    Sink::new(options, Choice { kind: "table", option: "--routing-table", asked, usual: &["main"] })
}

/// Returns the name of a table by its number.
fn named(table: &str) -> &str {
    match table {
        "253" => "default",
        "254" => "main",
        "255" => "local",
        other => other,
    }
}

/// Ends the route whose lines are held.
fn end(sink: &mut Sink<'_>, held: &mut Vec<(Place, String)>, context: Context) {
    let Some((place, _)) = held.first() else { return };
    // `-o` prints one line, in which a backslash stands for each end.
    let mut texts = held.iter().flat_map(|(_, text)| text.split('\\')).map(str::trim);
    let result = line(texts.next().unwrap_or_default()).and_then(|(destination, mut parts)| {
        texts.try_for_each(|text| match text.split_ascii_whitespace().next() {
            Some("nexthop") => parts.words(Words::new(&text["nexthop".len()..])),
            // What `-d` says of the object of which the route has the number.
            Some("nh_info") | None => Ok(()),
            Some(word) => Err(unknown(word)),
        })?;
        offer(sink, *place, destination, parts, context)
    });
    for (place, _) in held.drain(..) {
        sink.count(place, result.clone().into());
    }
}

/// Returns the value of a type of routes, which is empty for those that forward.
pub(super) fn kind_of(word: &str) -> Option<&'static str> {
    let number = word.parse().ok().and_then(|number: usize| number.checked_sub(1));
    let at = TYPES.iter().position(|name| *name == word).or(number)?;
    let name = TYPES.get(at)?;
    if at < NOWHERE { Some("") } else { nowhere(name) }
}

/// Reads a route line.
fn line(text: &str) -> Result<(&str, Parts<'_>), String> {
    let mut words = Words::new(text);
    let mut word = words.next().unwrap_or_default();
    let kind = kind_of(word);
    if kind.is_some() {
        word = words.next().unwrap_or_default();
    }
    let mut parts = Parts::new(kind);
    if word != "default" && scan::prefix(word.as_bytes(), true).is_err() {
        // What is wrong with a prefix is said, any other word is unknown.
        scan::prefix(word.as_bytes(), true)
            .map_err(|what| if word.contains('/') { what } else { unknown(word) })?;
    }
    parts.words(words)?;
    Ok((word, parts))
}

/// Takes a route.
pub(super) fn offer(
    sink: &mut Sink<'_>,
    place: Place,
    destination: &str,
    mut parts: Parts<'_>,
    context: Context,
) -> Result<(), String> {
    let prefix = match destination {
        "default" if parts.is_ipv6.unwrap_or(context.is_ipv6) => IpPrefix::V6(Prefix::ALL),
        "default" => IpPrefix::V4(Prefix::ALL),
        text => scan::prefix(text.as_bytes(), sink.options.mask_host_bits)?,
    };
    if let Some(kind) = parts.kind.filter(|kind| !kind.is_empty()) {
        parts.hops = vec![(Hop::nowhere(kind), State::Used)];
    }
    if parts.hops.is_empty() {
        return Err(format!("{prefix} has no hop (expected via, dev, or nexthop lines)"));
    }
    let mut route = Route::new(place, prefix);
    route.rank = u64::from(parts.metric) * 4 + parts.pref;
    route.hops = parts.hops;
    if parts.is_conditional {
        route.state = State::Conditional;
    }
    // The kernel looks into the table `default` last.
    let mut table = named(parts.table.unwrap_or("main"));
    if table == "default" && sink.choice.asked != Some("default") {
        (table, route.rank) = ("main", route.rank | 1 << 40);
    }
    sink.table(table);
    sink.open(route);
    sink.close();
    Ok(())
}

/// Returns whether a line is one of `ip route`.
fn is_line(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let Some(first) = words.next() else { return false };
    if first == "nexthop" {
        return matches!(words.next(), Some("via" | "dev"));
    }
    if TYPES.contains(&first) {
        return words
            .next()
            .is_some_and(|word| word == "default" || scan::prefix(word.as_bytes(), true).is_ok());
    }
    let next = ["via", "dev", "proto", "scope", "metric", "nhid", "src", "table", "from", "tos", "encap"];
    if first != "default" && scan::prefix(first.as_bytes(), true).is_err() {
        return false;
    }
    match words.next() {
        // A prefix alone may be the first line of a route whose hops follow, or one of a list.
        None => first == "default",
        Some(word) => {
            next.contains(&word)
                // `10.0.0.0/8 dev eth0` is a line of the text format too and means the same there.
                && (word != "dev" && words.next().is_some() || words.nth(1).is_some())
        }
    }
}

#[cfg(test)]
mod tests;
