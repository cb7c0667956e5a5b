//! `show ip route` and `show ipv6 route` of many routing programs, which grew from one: Cisco (IOS,
//! IOS XE, IOS XR, NX-OS, ASA), FRR, VyOS, EdgeOS, Arista EOS, FortiOS, AOS-CX, AlliedWare Plus,
//! NSX, Gaia; and `show ipv6 cef` and `show ip cef` of one prefix of IOS.
//!
//! ```text
//! IPv4 unicast VRF default:
//! B>  10.0.0.0/8 [20/0] via 198.51.100.1 (recursive), weight 1, 00:08:00
//!   *                     via 192.0.2.2, eth1, weight 1, 00:08:00
//! C>* 192.0.2.0/24 is directly connected, eth0, weight 1, 00:10:10
//! S>* 10.9.0.0/16 [1/0] unreachable (blackhole), weight 1, 00:01:00
//! ```
//!
//! A route is codes, a prefix, and next hops in phrases, on its line or on those after it. A
//! [`Dialect`] says what its codes and marks mean. Most programs show only routes in the forwarding
//! table. FRR and EdgeOS mark the route that is selected (`>`) and the next hops that are in the
//! forwarding table (`*`), NX-OS the next hops (`*via`).
//!
//! A prefix without a length has the mask that follows it (ASA), the length of the heading before
//! it (`10.0.0.0/24 is subnetted`), or that of its class.
//!
//! The VRF `default` is read, or the one that is asked for. A text of one VRF of another name is
//! that VRF. Routes of other VRFs are counted.

use super::ReadOptions;
use super::builder::Builder;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{Mark, Said, State, unknown, whole};
use super::router::sink::{Line, REST, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use crate::scan::{self, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::Ipv4Addr;

pub(super) mod grammar;

pub(super) use grammar::legend;
use grammar::{CODES, DIALECTS, Dialect, ENTRY, GRAMMAR, HEADINGS};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| utf8(line).is_ok_and(is_line)),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

#[allow(clippy::struct_excessive_bools, reason = "each is a state of the text on its own")]
struct Reading {
    dialect: &'static Dialect,
    mask_host_bits: bool,
    /// Whether the codes are explained.
    in_legend: bool,
    /// The length that prefixes without one have.
    subnetted: Option<u8>,
    /// Whether the next hops of the open route are marked.
    is_marked: bool,
    /// Whether the lines that follow are of a route that was left out.
    is_skipping: bool,
    /// Whether no route has followed the heading of a table yet.
    is_headed: bool,
    /// A line that ends in a comma, from its first next hop on, and the marks before it.
    broken: Option<(String, Option<State>)>,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let head = blocks.peek();
    let dialect = DIALECTS.iter().find(|dialect| (dialect.is_of)(head)).unwrap_or(&DIALECTS[3]);
    let mut sink = Sink::new(options, Choice::of_vrf(options.vrf.as_deref()));
    sink.merges = true;
    let (in_legend, is_marked, is_skipping, is_headed) = (false, false, false, false);
    let (mask_host_bits, subnetted, broken) = (options.mask_host_bits, None, None);
    let mut reading =
        Reading { dialect, mask_host_bits, in_legend, subnetted, is_marked, is_skipping, is_headed, broken };
    sink.each_line(blocks, builder, |sink, place, line| reading.line(sink, place, line))?;
    sink.finish(builder)
}

/// The beginning of a route line.
struct Head<'l> {
    prefix: Result<IpPrefix, String>,
    /// The state of the route by its codes.
    state: State,
    /// The state of the next hop by the marks beside them.
    hop: Option<State>,
    words: Words<'l>,
}

impl Reading {
    fn line(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Line {
        let text = line.trim();
        if text.is_empty() {
            self.in_legend = false;
            return Line::Blank;
        }
        if is_prompt(text) {
            self.broken = None;
            return Line::Aside;
        }
        let head = if text.contains("subnetted") { Ok(None) } else { self.head(text) };
        if matches!(head, Ok(None)) {
            if let Some(line) = self.heading(sink, text) {
                self.broken = None;
                return line;
            }
            if let Some(line) = self.in_legend.then(|| legend(text)).flatten() {
                return line;
            }
        }
        self.in_legend = false;
        self.is_headed &= matches!(head, Ok(None));
        match head {
            Ok(Some(head)) => match self.route(sink, place, head) {
                Ok(()) => Line::Used,
                Err(what) => {
                    self.skip(sink);
                    Err(what).into()
                }
            },
            Err(what) => {
                self.skip(sink);
                Line::Unknown(what)
            }
            Ok(None) if self.is_skipping => Line::Told(REST.into()),
            Ok(None) => match self.hops(sink, text) {
                Err(_) if self.dialect.has_comments && line.starts_with("        ") => Line::Aside,
                result => result.into(),
            },
        }
    }

    /// Leaves out the route that a line begins.
    fn skip(&mut self, sink: &mut Sink<'_>) {
        sink.close();
        self.is_skipping = true;
    }

    fn heading(&mut self, sink: &mut Sink<'_>, text: &str) -> Option<Line> {
        let words = Words::new(text);
        let codes = text.split_once("Codes:").or_else(|| Some(("", text.strip_prefix("Flags:")?)));
        if let Some((before, rest)) = codes {
            self.in_legend = true;
            // The table of `default` has no heading in some, wherever it comes.
            if !self.is_headed {
                let usual = sink.choice.usual[0];
                self.table(sink, usual);
            }
            let is_known = ["", "Origin ", "Type ", "Status ", "Source "].contains(&before);
            return if is_known { legend(rest) } else { Some(Line::Told(unknown(before.trim()))) };
        }
        if let Some(caught) = words
            .whole("PREFIX is subnetted , ...")
            .or_else(|| words.whole("PREFIX is variably subnetted , ..."))
        {
            sink.close();
            let prefix = scan::prefix(caught.prefix?.as_bytes(), true).ok()?;
            self.subnetted = Some(prefix.len()).filter(|_| !text.contains("variably"));
            let is_known = ["NUM subnets", "NUM subnets , NUM masks"].iter().any(|phrase| {
                Words::new(text.split_once(',').map_or("", |(_, rest)| rest)).whole(phrase).is_some()
            });
            return Some(if is_known { Line::Aside } else { Line::Unknown(unknown(text)) });
        }
        let found = whole(words, HEADINGS);
        let (name, line) = match found {
            Some((caught, Mark::Table)) => {
                let number = text.rsplit('=').next().unwrap_or_default();
                (Some(caught.name.unwrap_or(number)), Line::Aside)
            }
            Some(_) => (None, Line::Aside),
            None if text.starts_with("Routing entry for ") => return None,
            // The routes after an unknown heading are of a table of which nothing is known.
            None if [
                "VRF",
                "IPv4 unicast",
                "IPv6 unicast",
                "Routing Table",
                "IP Route Table",
                "IPv6 Routing",
            ]
            .iter()
            .any(|begin| text.starts_with(begin)) =>
            {
                (Some(text), Line::Unknown(unknown(text)))
            }
            None if is_rule(text) => (None, Line::Aside),
            None => return None,
        };
        if let Some(name) = name {
            self.table(sink, name);
            self.is_headed = true;
        }
        Some(line)
    }

    /// Goes to another table.
    fn table(&mut self, sink: &mut Sink<'_>, name: &str) {
        sink.close();
        sink.table(name);
        (self.subnetted, self.is_skipping) = (None, false);
    }

    /// Reads the codes and the prefix of a line; `None` if it has none.
    fn head<'l>(&self, text: &'l str) -> Result<Option<Head<'l>>, String> {
        /// The most codes before a prefix.
        const CODES_MAX: usize = 5;
        let mut words = Words::new(text.strip_prefix("Routing entry for ").unwrap_or(text));
        let mut codes: Vec<&str> = Vec::new();
        let prefix = loop {
            let bare = |address| Some(self.subnetted.unwrap_or_else(|| class(address)));
            let has_code = codes.iter().any(|code| code.contains(|c: char| c.is_ascii_alphanumeric()));
            let bare = |address| if has_code { bare(address) } else { None };
            if let Some(prefix) = words::prefix(&mut words, bare, self.mask_host_bits) {
                break prefix;
            }
            match words.next() {
                Some(word) if codes.len() < CODES_MAX && !is_of_hop(word) => codes.push(word),
                _ => return Ok(None),
            }
        };
        let (mut is_selected, mut state, mut hop) = (false, None, None);
        for word in codes {
            let after = word.split_once('>').map(|(code, marks)| (code.trim_end_matches('*'), marks));
            is_selected |= after.is_some();
            let (code, marks) = match after {
                Some(("", "")) => ("", word.trim_end_matches('>')),
                Some((code, marks)) => (code, marks),
                None => (word, ""),
            };
            for part in code.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
                let part_code = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
                let is_mark = |c| self.dialect.marks.iter().find(|(mark, _)| *mark == c);
                let letter = part_code.chars().next().filter(|_| part_code.len() == 1).and_then(is_mark);
                if let Some((_, state)) = letter {
                    hop = Some(*state);
                } else if !part_code.is_empty() && !CODES.contains(&part_code) {
                    return Err(unknown(word));
                }
                if let Some((_, found)) = self.dialect.codes.iter().find(|(code, _)| *code == part_code) {
                    state = Some(*found);
                }
                for mark in part[part_code.len()..].chars() {
                    hop = Some(is_mark(mark).ok_or_else(|| unknown(word))?.1);
                }
            }
            for mark in marks.chars() {
                let known = self.dialect.marks.iter().find(|(known, _)| *known == mark);
                hop = Some(known.ok_or_else(|| unknown(word))?.1);
            }
        }
        let (route, _) = self.dialect.unmarked;
        let state = state.unwrap_or(if is_selected { State::Used } else { route });
        Ok(Some(Head { prefix, state, hop, words }))
    }

    fn route(&mut self, sink: &mut Sink<'_>, place: Place, head: Head<'_>) -> Result<(), String> {
        self.broken = None;
        let Head { prefix, state, hop, words } = head;
        let prefix = prefix?;
        let mut said = Said::default();
        said.read(words, GRAMMAR)?;
        if let Some(table) = said.table {
            sink.table(table);
        }
        let mut route = Route::new(place, prefix);
        route.state = said.route.unwrap_or(state);
        (self.is_marked, self.is_skipping) = (said.is_marked, false);
        if said.is_open {
            self.broken = Some((words.rest().to_owned(), hop));
        } else {
            route.hops.extend(self.hop(sink, place, &said, hop));
        }
        sink.open(route);
        Ok(())
    }

    /// Returns a next hop and its state.
    fn hop(
        &self,
        sink: &mut Sink<'_>,
        place: Place,
        said: &Said<'_>,
        mark: Option<State>,
    ) -> Option<(super::hops::Hop, State)> {
        if said.vrf.is_some() {
            sink.guessed(place, "name in brackets after a next hop, taken as its VRF");
        }
        let unmarked = if self.is_marked { State::Candidate } else { self.dialect.unmarked.1 };
        Some((said.hop()?, said.state.or(mark).unwrap_or(unmarked)))
    }

    /// Reads a line of further next hops.
    fn hops(&mut self, sink: &mut Sink<'_>, text: &str) -> Result<(), String> {
        let mut words = Words::new(text);
        let Some(route) = sink.route() else { return Err(unknown(words.next().unwrap_or_default())) };
        let place = route.line;
        let (joined, mut mark) = match self.broken.take() {
            Some((before, mark)) => (before + " " + text, mark),
            None => (text.to_owned(), None),
        };
        let mut words = Words::new(&joined);
        // Marks are words of their own here.
        while let Some(word) = words.peek().filter(|word| word.len() <= 2 && !word.starts_with('[')) {
            let marks = word.trim_matches('>');
            let known = |c| self.dialect.marks.iter().find(|(known, _)| *known == c);
            if marks.is_empty() || !marks.chars().all(|c| known(c).is_some()) {
                break;
            }
            mark = marks.chars().find_map(known).map(|(_, state)| *state);
            words.next();
        }
        let mut said = Said::default();
        let is_entry = words.peek().is_some_and(|word| words::address(word).is_some());
        said.read(words, if is_entry { ENTRY } else { GRAMMAR })?;
        // OpenSwitch names the VRF of a route beside its next hop.
        if let Some(vrf) = said.table.filter(|vrf| !["default", "vrf_default"].contains(vrf)) {
            return Err(format!("next hop of VRF {vrf}"));
        }
        if said.is_open {
            self.broken = Some((joined, mark));
            return Ok(());
        }
        let hop = self.hop(sink, place, &said, mark);
        if let Some(route) = sink.route() {
            route.hops.extend(hop);
        }
        Ok(())
    }
}

/// Returns whether a word begins a next hop, so that no prefix follows.
fn is_of_hop(word: &str) -> bool {
    word.starts_with(['[', '(', ','])
        || word.ends_with("via")
        || ["is", "directly", "unreachable", "from", "nexthop"].contains(&word)
}

/// Returns whether a line is drawn.
pub(super) fn is_rule(text: &str) -> bool {
    text.bytes().all(|byte| b"-=+ |".contains(&byte))
}

/// Returns the length of an address's class, of the time before lengths.
pub(super) fn class(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        _ if address.is_unspecified() => 0,
        0..=127 => 8,
        128..=191 => 16,
        192..=223 => 24,
        _ => 32,
    }
}

/// Next hops as IOS writes them below the prefixes of its forwarding table.
const CEF: [&str; 4] =
    ["nexthop ADDR NAME", "nexthop ADDR NAME label ...", "attached to NAME", "receive for NAME"];

fn is_line(line: &str) -> bool {
    let text = line.trim();
    let of_router = ["Codes: ", "Gateway of last resort"].iter().any(|begin| text.starts_with(begin));
    of_router || text.contains(", ubest/mbest:") || {
        let words = Words::new(text);
        // The time that a text was taken at may be any router's.
        words.whole("NAME NAME NUM AGE NAME").is_none() && whole(words, HEADINGS).is_some()
            || text.starts_with("Routing entry for ")
            || CEF.iter().any(|phrase| words.whole(phrase).is_some())
            || is_route(text)
    }
}

/// Returns whether a line is a whole route with a code.
fn is_route(text: &str) -> bool {
    let (in_legend, is_marked, is_skipping, is_headed) = (false, false, false, false);
    let (subnetted, broken) = (None, None);
    let reading = Reading {
        dialect: &DIALECTS[1],
        mask_host_bits: true,
        in_legend,
        subnetted,
        is_marked,
        is_skipping,
        is_headed,
        broken,
    };
    let other = Reading { dialect: &DIALECTS[3], broken: None, ..reading };
    [reading, other].iter().any(|reading| match reading.head(text) {
        Ok(Some(head)) if words::address(text.split('/').next().unwrap_or_default()).is_none() => {
            let mut said = Said::default();
            head.prefix.is_ok() && said.read(head.words, GRAMMAR).is_ok() && said.has_hop
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests;
