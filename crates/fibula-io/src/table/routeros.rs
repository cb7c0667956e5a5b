//! `ip route print terse` and `ip route print detail` of MikroTik's RouterOS, versions 6 and 7, and
//! the same of `ipv6 route`.
//!
//! ```text
//! Flags: X - disabled, A - active, D - dynamic, C - connect, S - static
//!  0 A S  dst-address=0.0.0.0/0 gateway=192.0.2.1 distance=1 scope=30
//! ```
//!
//! An entry is flags and fields, on one line or on several. Only routes that are active (`A`) are
//! read, in the routing table `main` or the one that is asked for. Comments are free text.

use super::ReadOptions;
use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{State, nowhere, unknown};
use super::router::sink::{Line, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use crate::scan::{self, utf8};
use crate::{Damage, Place};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| {
        utf8(line)
            .is_ok_and(|line| line.contains(" dst-address=") && (line.contains(" gateway=") || begins(line)))
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Flags, and what they say of a route; `A` is one that is active.
#[rustfmt::skip]
pub(super) const FLAGS: [(char, Option<&str>); 7] = [
    ('A', None), ('X', None), ('I', None), ('F', None), ('B', Some("blackhole")),
    ('U', Some("unreachable")), ('P', Some("prohibit")),
];

/// Flags without effect.
pub(super) const IDLE_FLAGS: &str = "DCSrbomcsidvgyH+";

/// Fields without effect.
#[rustfmt::skip]
pub(super) const IDLE: [&str; 34] = [
    "scope", "target-scope", "pref-src", "vrf-interface", "check-gateway", "suppress-hw-offload",
    "local-address", "route-tag", "bgp-as-path", "bgp-local-pref", "bgp-med", "bgp-origin",
    "bgp-communities", "bgp-atomic-aggregate", "bgp-prepend", "bgp-weight", "received-from",
    "ospf-metric", "ospf-type", "comment", "contribution", "belongs-to", "afi", "hw-offloaded",
    "created-by", "bgp.as-path", "bgp.local-pref", "bgp.origin", "bgp.med", "bgp.communities",
    "bgp.peer-cache-id", "rip-metric", "mpls.labels", "label",
];

/// Fields that say where packets go.
#[rustfmt::skip]
pub(super) const USED: [&str; 8] = [
    "dst-address", "gateway", "gateway-status", "immediate-gw", "distance", "routing-table",
    "routing-mark", "type",
];

#[derive(Default)]
struct Entry<'l> {
    flags: Vec<char>,
    fields: Vec<(&'l str, String)>,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let asked = options.table.as_deref();
    let mut sink =
        Sink::new(options, Choice { kind: "table", option: "--routing-table", asked, usual: &["main"] });
    let mut held: Vec<(Place, String)> = Vec::new();
    sink.each_line(blocks, builder, |sink, place, line| {
        let text = line.trim();
        let is_legend = ["Flags:", "Columns:"].iter().any(|begin| text.starts_with(begin));
        if text.is_empty() {
            return Line::Blank;
        }
        if is_legend && text[6..].split([',', ' ', ';']).all(is_of_legend) || is_prompt(text) {
            return Line::Aside;
        }
        // A legend may go on for some lines.
        if held.is_empty() && !text.contains('=') && text.split([',', ' ', ';']).all(is_of_legend) {
            return Line::Aside;
        }
        if begins(line) {
            end(sink, &mut held);
        } else if held.is_empty() || !line.starts_with("  ") {
            return Line::Unknown(unknown(text.split_ascii_whitespace().next().unwrap_or_default()));
        }
        held.push((place, text.to_owned()));
        Line::Held
    })?;
    end(&mut sink, &mut held);
    sink.finish(builder)
}

/// Returns whether a line begins an entry: with its number, or with its flags.
fn begins(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
    let is_field = |word: &str| word.contains('=') || word == ";;;";
    let is_flags = |word: &str| word.chars().all(is_flag);
    (is_number || is_flags(first)) && words.find(|word| !is_flags(word)).is_some_and(is_field)
}

fn is_flag(flag: char) -> bool {
    IDLE_FLAGS.contains(flag) || FLAGS.iter().any(|(known, _)| *known == flag)
}

fn is_of_legend(word: &str) -> bool {
    const WORDS: &str = "disabled inactive active dynamic connect static rip bgp ospf mme blackhole unreachable \
        prohibit dhcp vpn modem copy hw-offloaded ecmp is-is slaac bgp-mpls-vpn filtered DST-ADDRESS GATEWAY \
        DISTANCE PREF-SRC ROUTING-TABLE -";
    word.is_empty()
        || word.chars().nth(1).is_none() && word.chars().all(is_flag)
        || WORDS.split_ascii_whitespace().any(|known| known == word)
}

/// Ends the entry whose lines are held.
fn end(sink: &mut Sink<'_>, held: &mut Vec<(Place, String)>) {
    let Some(&(place, _)) = held.first() else { return };
    let text: Vec<&str> = held.iter().map(|(_, text)| text.as_str()).collect();
    // A comment of its own ends with its line.
    let text = text.join("\n");
    let result = entry(&text).and_then(|entry| route(sink, place, &entry));
    for (place, _) in held.drain(..) {
        sink.count(place, result.clone().into());
    }
}

fn entry(text: &str) -> Result<Entry<'_>, String> {
    let mut entry = Entry::default();
    for line in text.split('\n') {
        let line = match line.split_once(";;;") {
            Some((before, _)) => before,
            None => line,
        };
        for word in line.split_ascii_whitespace() {
            let field = word
                .split_once('=')
                .filter(|(name, _)| name.bytes().all(|c| c.is_ascii_lowercase() || b"-.".contains(&c)));
            match (field, entry.fields.last_mut()) {
                (Some((name, value)), _) if IDLE.contains(&name) || USED.contains(&name) => {
                    entry.fields.push((name, value.to_owned()));
                }
                (Some((name, _)), last) if last.as_ref().is_none_or(|(name, _)| *name != "comment") => {
                    return Err(unknown(name));
                }
                // Version 7 has these words without a value.
                (None, Some((name, _)))
                    if !["comment", "gateway-status"].contains(name)
                        && FLAGS.iter().any(|(_, kind)| *kind == Some(word)) =>
                {
                    entry.fields.push(("type", word.to_owned()));
                }
                (_, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                (_, None) if word.bytes().all(|byte| byte.is_ascii_digit()) => {}
                (_, None) if word.chars().all(is_flag) => entry.flags.extend(word.chars()),
                (_, None) => return Err(unknown(word)),
            }
        }
    }
    let several = |name: &str| name == "comment" || name == "gateway-status";
    let odd = entry.fields.iter().find(|(name, value)| !several(name) && value.contains(' '));
    match odd {
        Some((_, value)) => Err(unknown(value.split(' ').nth(1).unwrap_or_default())),
        None => Ok(entry),
    }
}

fn route(sink: &mut Sink<'_>, place: Place, entry: &Entry<'_>) -> Result<(), String> {
    let field =
        |wanted: &str| entry.fields.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
    let destination = field("dst-address").ok_or_else(|| "entry without dst-address".to_owned())?;
    let prefix = scan::prefix(destination.as_bytes(), sink.options.mask_host_bits)?;
    let mut route = Route::new(place, prefix);
    if let Some(distance) = field("distance").filter(|distance| !distance.is_empty()) {
        route.rank = distance.parse().map_err(|_| unknown(distance))?;
    }
    route.state = if entry.flags.contains(&'A') { State::Used } else { State::Candidate };
    let kind = entry.flags.iter().find_map(|flag| FLAGS.iter().find(|(known, _)| known == flag)?.1);
    let kind = kind.or_else(|| field("type").filter(|kind| *kind != "unicast"));
    let status = field("gateway-status").unwrap_or_default();
    let states: Vec<(&str, Option<&str>, State)> =
        status.split(',').filter(|part| !part.is_empty()).map(status_of).collect::<Result<_, _>>()?;
    if let Some(kind) = kind {
        let kind = nowhere(kind).ok_or_else(|| unknown(kind))?;
        route.hops.push((Hop::nowhere(kind), State::Used));
    } else {
        let gateways = field("gateway").unwrap_or_default().split(',').filter(|gateway| !gateway.is_empty());
        let immediate: Vec<&str> = field("immediate-gw").unwrap_or_default().split(',').collect();
        for (gateway, at) in gateways.zip(0..) {
            let (known, state) = states
                .iter()
                .find(|(of, ..)| *of == gateway)
                .map_or((None, State::Used), |(_, device, state)| (*device, *state));
            // `gateway%interface`, `gateway@table`
            let gateway = gateway.split('@').next().unwrap_or(gateway);
            let address = words::address(gateway);
            let named = gateway.split_once('%').map(|(_, device)| device);
            let near = immediate.get(at).and_then(|near| near.split_once('%')).map(|(_, device)| device);
            let device = if address.is_none() { Some(gateway) } else { named.or(known).or(near) };
            route.hops.extend(Hop::through(address, device, None).map(|hop| (hop, state)));
        }
    }
    let table = field("routing-table").or_else(|| field("routing-mark")).unwrap_or("main");
    sink.table(table);
    sink.open(route);
    Ok(())
}

/// Reads the status of a gateway: its interface and its state.
fn status_of(part: &str) -> Result<(&str, Option<&str>, State), String> {
    let words = Words::new(part);
    let gateway = words.peek().unwrap_or_default();
    let known = [
        ("ANY reachable via NAME", State::Used),
        ("ANY recursive via ADDR NAME", State::Used),
        ("ANY recursive via ADDR", State::Used),
        ("ANY reachable", State::Used),
        ("ANY unreachable", State::Dead),
        ("ANY inactive", State::Dead),
    ];
    let found = known.iter().find_map(|(phrase, state)| Some((words.whole(phrase)?, *state)));
    let (caught, state) = found.ok_or_else(|| unknown(words.rest()))?;
    Ok((gateway, caught.name, state))
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn active_entries_on_one_line_or_several() {
        let text = "Flags: X - disabled, A - active, D - dynamic, \nC - connect, S - static, b - bgp\n\
             \x200 A S  dst-address=0.0.0.0/0 gateway=192.0.2.1 gateway-status=192.0.2.1 reachable via  ether1 distance=1 scope=30\n\
             \x201   S  ;;; spare\n        dst-address=10.0.0.0/8 gateway=192.0.2.9 \n        gateway-status=192.0.2.9 unreachable distance=5\n\n\
             \x202 ADC  dst-address=192.0.2.0/24 pref-src=192.0.2.7 gateway=ether1 distance=0 scope=10\n\
             12:00:00 echo: system,info a line of the log\n\
             \x204  As   dst-address=10.8.0.0/16 routing-table=main blackhole distance=1\n\
             \x203 A SB dst-address=10.9.0.0/16 type=blackhole distance=1\n\
             DAb dst-address=2001:db8:1::/48 routing-table=red gateway=fe80::1%ether2 distance=20\n";
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Routeros);
        let expected = [
            "0.0.0.0/0 192.0.2.1 dev ether1",
            "10.8.0.0/16 blackhole",
            "10.9.0.0/16 blackhole",
            "192.0.2.0/24 dev ether1",
        ];
        assert_eq!(routes(&loaded), expected);
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        assert_eq!(
            notes,
            ["unknown mark \"12:00:00\"", "prefix without a selected route", "route of table red"]
        );
        let red = ReadOptions { table: Some("red".into()), ..Default::default() };
        assert_eq!(routes(&parse(text.as_bytes(), &red).unwrap()), ["2001:db8:1::/48 fe80::1 dev ether2"]);
    }
}
