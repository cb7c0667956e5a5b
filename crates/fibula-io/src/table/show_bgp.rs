//! `show ip bgp` of FRR, Cisco (IOS, IOS XE, IOS XR, NX-OS) and Arista EOS as text, `bgpctl show
//! rib` of OpenBGPD, and `gobgp global rib`.
//!
//! ```text
//!    Network          Next Hop            Metric LocPrf Weight Path
//! *> 10.0.0.0/8       192.0.2.2                0             0 64501 i
//! *  10.1.0.0/16      192.0.2.3                              0 64502 64503 i
//! *>                  192.0.2.2                              0 64501 {64503,64504} ?
//! *> 11.0.0.0         192.0.2.4                              0 64505 i
//! ```
//!
//! A line is marks, a network, a next hop, numbers, a path and the code of its origin. The route
//! marked `>` is taken; one marked `r` before it is not in the forwarding table. A network without
//! a length has that of its class. A network or a next hop that is too long for its column ends its
//! line. Where the columns are not kept apart the path is not told from the numbers before it.
//!
//! `advertised-routes` of IOS XR has no marks, and ends a path in its code.
//!
//! The VRF `default` is read, or the one that is asked for, or the only one. A text without
//! headings of VRFs does not name its VRF. The routes under a route distinguisher are those of the
//! VRF named beside it, or of a VRF of that name (`--vrf 64500:1`). An address family other than
//! unicast is a table of its own, which is not read.

mod gobgp;

use super::bgp::{self, origin, value};
use super::builder::Builder;
use super::hops::{self, Hop};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{Grammar, Mark, State, unknown, whole};
use super::router::sink::{Line, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use super::show_route::{class, is_rule, legend};
use super::{ReadOptions, Value};
use crate::mrt::AsPath;
use crate::scan::{self, utf8};
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};
use std::net::Ipv4Addr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| {
        utf8(line).is_ok_and(|line| line.starts_with("BGP table version is ") || Columns::of(line).is_some())
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Marks before a network. All but `>` and `r` say how a route came or why it is not the best.
pub(super) const MARKS: &str = "*>=sdhirSRbfxmacNIVeElut|&2#k";

/// Lines that are no routes.
#[rustfmt::skip]
pub(super) const HEADINGS: &Grammar = &[
    (Mark::Table, &["Instance NAME:", "VRF: NAME", "BGP routing table information for VRF NAME"]),
    (Mark::Nothing, &["BGP table version is NUM , local router ID is ADDR",
        "BGP table version is NUM , Local Router ID is ADDR",
        "BGP table version is NUM , local router ID is ADDR , vrf id NUM",
        "Router identifier ADDR , local AS number NUM",
        "BGP router identifier ADDR , local AS number NUM",
        "Default local pref NUM , local AS NUM", "BGP generic scan interval NUM secs",
        "BGP scan interval NUM secs", "BGP table state: NAME", "BGP VRF NAME , state: NAME", "BGP Route Distinguisher: ANY", "VRF ID: ANY",
"Route Distinguisher Version: NUM", "Table ID: ANY",
        "Table ID: ANY RD version: NUM", "BGP main routing table version NUM",
        "BGP NSR Initial initsync version NUM (Reached)", "BGP NSR/ISSU Sync-Group versions ANY",
        "Non-stop routing is enabled", "BGP table nexthop route policy:", "Dampening enabled",
        "Processed NUM prefixes , NUM paths", "Total number of prefixes NUM",
        "Displayed NUM routes and NUM total paths", "Displayed NUM routes", "% Neighbor not found",
        "NAME NAME NUM AGE NAME", "Can't find neighbor ADDR in VRF NAME", "Can't find neighbor ADDR",
        "BGP instance NUM: ANY", "BGP main routing table"]),
];

/// What an address family follows, for the lines after it.
const FAMILIES: [&str; 6] = [
    "For address family:",
    "Address Family:",
    "BGP routing table information for VRF NAME , address family",
    "Peer ADDR routes for address family",
    "Peer ADDR advertised routes for address family",
    "Peer ADDR received routes for address family",
];

/// The columns of OpenBGPD, of all versions.
const OPENBGPD: [&str; 3] = [
    "flags vs destination gateway lpref med aspath origin",
    "flags ovs destination gateway lpref med aspath origin",
    "flags destination gateway lpref med aspath origin",
];

/// Where the columns are.
#[derive(Clone, Copy, Debug)]
struct Columns {
    network: usize,
    next_hop: usize,
    /// Where AS paths begin, if the columns are kept apart.
    path: Option<usize>,
    kind: Kind,
}

/// How a route is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Marks, network, next hop, numbers, path.
    Marked,
    /// `advertised-routes` of IOS XR: the router that a route is from, and no marks.
    From,
    /// OpenBGPD: flags, validation, network, next hop, two numbers, path.
    OpenBgpd,
    /// GoBGP: marks, network, next hop, path, age, attributes in brackets.
    GoBgp,
}

impl Columns {
    /// Returns the columns that a line names.
    fn of(line: &str) -> Option<Self> {
        let words = Words::new(line);
        if OPENBGPD.iter().any(|phrase| words.whole(phrase).is_some()) {
            return Some(Self { network: 0, next_hop: 0, path: None, kind: Kind::OpenBgpd });
        }
        if words.whole("Network Next Hop AS_PATH Age Attrs").is_some() {
            return Some(Self { network: 0, next_hop: 0, path: None, kind: Kind::GoBgp });
        }
        let next = if line.contains("Next-hop") { "Next-hop" } else { "Next Hop" };
        let phrases = [
            "Metric LocPrf Weight Path",
            "Metric LocPref Weight Path",
            "Metric AIGP LocPref Weight Path",
            "From AS Path",
            "Metric Weight Path",
            "Path",
        ];
        let is_one = |rest: &&str| words.whole(&format!("Network {next} {rest}")).is_some();
        let found = phrases.into_iter().find(is_one)?;
        let path = line.find(" Path").map(|at| at + 1);
        let is_narrow = line.contains("Network Next");
        Some(Self {
            network: line.find("Network")?,
            next_hop: line.find(next)?,
            path: path.filter(|_| !is_narrow),
            kind: if found.contains("From") { Kind::From } else { Kind::Marked },
        })
    }
}

/// A route whose line ended early.
struct Broken {
    marks: String,
    next_hop: Option<NextHopInfo>,
}

struct Reading {
    columns: Option<Columns>,
    local_as: Option<u32>,
    prefix: Option<IpPrefix>,
    broken: Option<Broken>,
    /// The VRF whose heading was last.
    vrf: String,
    /// Whether route distinguishers are those of VRFs.
    has_vrfs: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut sink = Sink::new(options, Choice::of_vrf(options.vrf.as_deref()));
    sink.tells_origins = true;
    if let Some(vrf) = &options.vrf {
        // A text without headings is of the VRF that is asked for.
        sink.table(vrf);
    }
    let vrf = options.vrf.as_deref().unwrap_or(sink.choice.usual[0]).to_owned();
    let mut reading =
        Reading { columns: None, local_as: None, prefix: None, broken: None, vrf, has_vrfs: true };
    sink.each_line(blocks, builder, |sink, place, line| reading.line(sink, place, line))?;
    sink.finish(builder)
}

impl Reading {
    fn line(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Line {
        let text = line.trim();
        if text.is_empty() {
            return Line::Blank;
        }
        let words = Words::new(text);
        let heading = whole(words, HEADINGS);
        if let Some((caught, mark)) = heading {
            if text.contains("local AS") {
                self.local_as =
                    caught.number.and(text.rsplit(' ').next()).and_then(|number| number.parse().ok());
            }
            if mark == Mark::Table {
                sink.close();
                caught.name.unwrap_or_default().clone_into(&mut self.vrf);
                sink.table(&self.vrf);
            }
        }
        if let Some(line) = self.begins_table(sink, words).or(heading.map(|_| Line::Aside)) {
            return line;
        }
        if let Some(columns) = Columns::of(line) {
            (self.columns, self.prefix, self.broken) = (Some(columns), None, None);
            return Line::Aside;
        }
        let begins = ["flags:", "origin", "aspa ", "Status", "Path type:", "AS Path Attributes"];
        let is_legend = text.contains(" codes:") || begins.iter().any(|begin| text.starts_with(begin));
        if is_rule(text) || is_prompt(text) {
            return Line::Aside;
        }
        let has_routes = self.columns.is_some() && !is_legend;
        if let Some(line) = (!has_routes).then(|| legend(text)).flatten() {
            return line;
        }
        match self.columns {
            Some(columns) => self.route(sink, place, columns, line).into(),
            None => Line::Unknown(unknown(text.split_ascii_whitespace().next().unwrap_or_default())),
        }
    }

    /// Goes to the table of an address family or of a route distinguisher, if a line names one.
    fn begins_table(&mut self, sink: &mut Sink<'_>, line: Words<'_>) -> Option<Line> {
        let mut words = line;
        if let Some(caught) = FAMILIES.iter().find_map(|phrase| words.phrase(phrase)) {
            sink.close();
            // Those of IOS and of IOS XR's instances are not of a VRF.
            let is_of_none = caught.name.is_none() && caught.address.is_none();
            let vrf = caught.name.or(is_of_none.then_some(sink.choice.usual[0]));
            if let Some(vrf) = vrf {
                vrf.clone_into(&mut self.vrf);
            }
            let family = words.rest().trim_end_matches(':');
            self.has_vrfs = matches!(family, "VPNv4 Unicast" | "VPNv6 Unicast");
            if matches!(family, "IPv4 Unicast" | "IPv6 Unicast") {
                sink.table(&self.vrf);
            } else {
                sink.family(family);
            }
            return Some(Line::Aside);
        }
        words.phrase("Route Distinguisher: ANY")?;
        sink.close();
        let distinguisher = line.rest().split_ascii_whitespace().nth(2).unwrap_or_default();
        let group = words.next().unwrap_or_default();
        let named: Vec<&str> = group.trim_matches(['(', ')']).split(' ').collect();
        let name = match named[..] {
            [""] => Some(distinguisher),
            ["default", "for", "vrf", name] | ["VRF" | "L2VNI", name] | [name] if group.starts_with('(') => {
                Some(name)
            }
            _ => None,
        };
        let is_known = words.rest().is_empty() || words.whole("VRF Router ID ADDR").is_some();
        let Some(name) = name.filter(|_| is_known) else {
            return Some(Line::Unknown(unknown(line.rest())));
        };
        if self.has_vrfs {
            sink.table(name);
        }
        Some(Line::Aside)
    }

    fn route(
        &mut self,
        sink: &mut Sink<'_>,
        place: Place,
        columns: Columns,
        line: &str,
    ) -> Result<(), String> {
        if columns.kind == Kind::OpenBgpd {
            return self.openbgpd(sink, place, line);
        }
        let text = line.trim_end();
        let first = || unknown(text.split_ascii_whitespace().next().unwrap_or_default());
        let Broken { marks, mut next_hop } = match self.broken.take() {
            Some(broken) => broken,
            None => Broken { marks: String::new(), next_hop: None },
        };
        let is_begun = !marks.is_empty();
        let (start, marks) = if is_begun {
            (text.len() - text.trim_start().len(), marks)
        } else {
            let start = begin_of(text, columns.network).ok_or_else(first)?;
            (start, text[..start].trim().to_owned())
        };
        let mut words = Words::new(&text[start..]);
        if !is_begun {
            let mut ahead = words;
            let (word, second) = (ahead.next().unwrap_or_default(), ahead.next());
            let has_network = word.contains('/')
                || second.is_some_and(|second| words::address(second).is_some())
                || start < columns.next_hop && columns.path.is_some() && second.is_none();
            if has_network {
                self.prefix = None;
                let mask_host_bits = sink.options.mask_host_bits;
                words.next();
                let prefix = match word.parse::<Ipv4Addr>() {
                    Ok(address) => scan::prefix_of(address, class(address), mask_host_bits),
                    Err(_) => scan::prefix(word.as_bytes(), mask_host_bits),
                };
                self.prefix = Some(prefix?);
            }
        }
        if next_hop.is_none()
            && let Some(hop) = words.next()
        {
            // Peers without addresses are the interface's.
            let is_device = || Words::new(hop).whole("NAME").is_some();
            let address = words::address(hop);
            let hop = Hop::through(address, Some(hop).filter(|_| address.is_none() && is_device()), None)
                .ok_or_else(|| unknown(hop))?;
            next_hop = Some(hop.info);
        }
        let prefix = self.prefix.ok_or_else(first)?;
        if next_hop.is_none() || words.peek().is_none() {
            let marks = if marks.is_empty() { " ".to_owned() } else { marks };
            self.broken = Some(Broken { marks, next_hop });
            return Ok(());
        }
        let as_path = if columns.kind == Kind::From {
            let from = words.next().unwrap_or_default();
            if words::address(from).is_none() && from != "Local" {
                return Err(unknown(from));
            }
            let path = words.rest();
            let end = path.trim_end_matches(['i', 'e', '?']);
            Some(AsPath::parse(if end.len() < path.len() { end } else { return Err(unknown(path)) })?)
        } else if columns.kind == Kind::GoBgp {
            Some(gobgp::path_before_age(words)?)
        } else {
            path_of(text, columns, words)?
        };
        let state = match marks.find('>') {
            Some(at) if marks[..at].contains('r') || marks.contains('#') => State::Uninstalled,
            Some(_) => State::Used,
            None if columns.kind == Kind::From => State::Used,
            None => State::Candidate,
        };
        self.offer(sink, place, state, (prefix, next_hop, as_path));
        Ok(())
    }

    /// Reads a line of `bgpctl show rib`.
    fn openbgpd(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Result<(), String> {
        let mut words = Words::new(line);
        let (mut flags, mut validity) = ("", "");
        let prefix = loop {
            if let Some(prefix) = words::prefix(&mut words, |_| None, sink.options.mask_host_bits) {
                break prefix?;
            }
            let word = words.next().unwrap_or_default();
            let are_flags =
                flags.is_empty() && validity.is_empty() && word.chars().all(|c| "*>IAESm@-".contains(c));
            match word {
                _ if are_flags && !word.is_empty() => flags = word,
                _ if validity.is_empty() && !word.is_empty() && word.chars().all(|c| "NV!?-".contains(c)) => {
                    validity = word;
                }
                _ => return Err(unknown(word)),
            }
        };
        let hop = words.next().unwrap_or_default();
        let address = words::address(hop).ok_or_else(|| unknown(hop))?;
        let next_hop = Hop::through(Some(address), None, None).map(|hop| hop.info);
        words.phrase("NUM NUM").ok_or_else(|| unknown(words.peek().unwrap_or_default()))?;
        let (path, code) = words.rest().rsplit_once(' ').unwrap_or(("", words.rest()));
        if !matches!(code, "i" | "e" | "?") {
            return Err(unknown(code));
        }
        let state = if flags.contains('>') { State::Used } else { State::Candidate };
        let as_path = Some(AsPath::parse(&with_commas(path))?);
        self.offer(sink, place, state, (prefix, next_hop, as_path));
        Ok(())
    }

    /// Takes a route: its prefix, its next hop and its path.
    fn offer(
        &self,
        sink: &mut Sink<'_>,
        place: Place,
        state: State,
        (prefix, hop, as_path): (IpPrefix, Option<NextHopInfo>, Option<AsPath>),
    ) {
        let is_best = state == State::Used;
        let (next_hop, device) = match hop {
            Some(NextHopInfo::Gateway { address, interface }) => (address, interface),
            _ => (None, None),
        };
        let route = bgp::Route { prefix, is_best, next_hop, as_path, communities: Vec::new(), peer: None };
        let mut found = Route::new(place, prefix);
        found.state = state;
        found.origin = origin(route.as_path.as_ref(), self.local_as).ok();
        found.value = Some(match (device, sink.options.value) {
            (Some(device), Value::NextHop | Value::NextHops) => {
                let hops = Vec::from_iter(Hop::through(None, Some(&device), None));
                hops::offer(&hops, sink.options.value)
                    .map(|offer| offer.value)
                    .ok_or("route without a next hop")
            }
            (_, wanted) => value(route, wanted, self.local_as),
        });
        sink.open(found);
    }
}

/// Returns where the network or the next hop of a line begins, after its marks. `network` is where
/// the column of networks begins: in `*>e123:45::/32` of NX-OS, `e` may be either.
fn begin_of(text: &str, network: usize) -> Option<usize> {
    /// The most bytes before a network, or before the next hop of a further path to it.
    const MARKS_MAX: usize = 64;
    let begins = |at: usize| {
        let word = text.get(at..).and_then(|text| Words::new(text).peek());
        word.is_some_and(|word| words::address(word).is_some() || words::is_prefix(word) || is_damaged(word))
    };
    for (at, c) in text.char_indices().take(MARKS_MAX) {
        if c != ' ' && begins(at) {
            let is_mark = c.is_ascii_alphabetic() && MARKS.contains(c) && at + 1 == network;
            return Some(if is_mark && begins(at + 1) { at + 1 } else { at });
        }
        if c != ' ' && !MARKS.contains(c) {
            return None;
        }
    }
    None
}

/// Returns whether a word is an address with a length that is not one.
fn is_damaged(word: &str) -> bool {
    word.split_once('/').is_some_and(|(address, _)| words::address(address).is_some())
}

/// Reads the numbers after a next hop, the path and the code of its origin. The path is `None`
/// where the columns do not tell where it begins.
fn path_of(text: &str, columns: Columns, words: Words<'_>) -> Result<Option<AsPath>, String> {
    let rest = words.rest();
    let (all, attributes) =
        rest.split_once(" Or-ID: ").map_or((rest, None), |(all, after)| (all.trim_end(), Some(after)));
    if let Some(after) = attributes {
        let known = ["ADDR", "ADDR C-LST: ADDR", "ADDR C-LST: ADDR ADDR"];
        if !known.iter().any(|phrase| Words::new(after).whole(phrase).is_some()) {
            return Err(unknown(after));
        }
    }
    let (before, code) = all.rsplit_once(' ').unwrap_or(("", all));
    if !matches!(code, "i" | "e" | "?" | "I" | "E") {
        return Err(unknown(code));
    }
    let Some(path) = columns.path else {
        AsPath::parse(&with_commas(before))?;
        return Ok(None);
    };
    let start = rest.as_ptr() as usize - text.as_ptr() as usize;
    let path = path.max(start);
    let (numbers, path) = (text.get(start..path), text.get(path..start + all.len() - code.len()));
    let (Some(numbers), Some(path)) = (numbers, path) else { return Err(unknown(before)) };
    // A number may reach into the next column.
    let odd = numbers.split_ascii_whitespace().find(|word| word.parse::<u64>().is_err() && *word != "-");
    match odd {
        Some(word) => Err(unknown(word)),
        None => Ok(Some(AsPath::parse(&with_commas(path))?)),
    }
}

/// Returns a path whose sets have commas: NX-OS writes `{64501 64502}`.
fn with_commas(path: &str) -> String {
    let mut in_set = false;
    let comma = |c: char| {
        in_set = (in_set || c == '{') && c != '}';
        if in_set && c == ' ' { ',' } else { c }
    };
    path.chars().map(comma).collect()
}

#[cfg(test)]
mod tests;
