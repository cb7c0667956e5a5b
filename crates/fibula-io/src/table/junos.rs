//! `show route` of Junos.
//!
//! ```text
//! inet.0: 2 destinations, 2 routes (2 active, 0 holddown, 0 hidden)
//! + = Active Route, - = Last Active, * = Both
//!
//! 10.0.0.0/8         *[BGP/170] 00:10:00, localpref 100, from 192.0.2.2
//!                       AS path: 64501 64502 I, validation-state: unverified
//!                     >  to 192.0.2.2 via ge-0/0/1.0
//!                        to 192.0.2.3 via ge-0/0/2.0
//! 10.1.0.0/16        *[Static/5] 1w2d
//!                       Discard
//! ```
//!
//! The active route (`*` or `+`) is read; its first hop is the one marked `>`. The tables `inet.0`
//! and `inet6.0` are read, or the one asked for, or those of the VRF asked for (`red.inet.0`). A
//! text of one other VRF is that VRF. How far the lines are indented does not matter.
//!
//! `receive-protocol` and `advertising-protocol` show the routes of a neighbour in columns:
//!
//! ```text
//!   Prefix                  Nexthop              MED     Lclpref    AS path
//! * 10.0.0.0/8              192.0.2.2            10      100        64501 64502 I
//! ```
//!
//! Either number may be missing, so that an AS path is told from them only where three words are
//! there.

use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{Grammar, Mark, Said, State, unknown, whole};
use super::router::sink::{Line, REST, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use super::{ReadOptions, Value};
use crate::mrt::{AsPath, Origin, Path, Peer, Preference};
use crate::scan::utf8;
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};
use std::net::{IpAddr, Ipv4Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| utf8(line).is_ok_and(|line| table(line).is_some())),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Lines that are no routes.
#[rustfmt::skip]
pub(super) const HEADINGS: &Grammar = &[
    (Mark::Table, &["NAME: NUM destinations , NUM routes (NUM_active_,_NUM_holddown_,_NUM_hidden)",
        "NAME: NUM destinations , NUM routes (NUM_active)"]),
    (Mark::Nothing, &["+ = Active Route , - = Last Active , * = Both",
        "@ = Routing Use Only , # = Forwarding Use Only", "Restart Complete",
        "Restart Pending: ANY", "Limit/Threshold: ANY destinations", "{..}", "---(more)---",
        "---(more ANY", "[edit]"]),
];

/// Marks before the protocol of a route.
#[rustfmt::skip]
pub(super) const STATES: [(&str, State); 6] = [
    ("*", State::Used), ("+", State::Used), ("#", State::Used), ("-", State::Candidate),
    ("@", State::Uninstalled), ("", State::Candidate),
];

/// What follows the protocol of a route, and what the lines of its next hops hold.
#[rustfmt::skip]
pub(super) const GRAMMAR: &Grammar = &[
    (Mark::Nothing, &["AGE", ", localpref NUM", ", localpref NUM-NUM", ", from ADDR",
        ", metric NUM", ", metric2 NUM", ", MED NUM", ", tag NUM", ", tag2 NUM",
        ", Push ANY , Push ANY", ", Push ANY", ", Pop", ", Swap ANY", ", label-switched-path ANY",
        ", weight ANY", "(weight_ANY)"]),
    (Mark::Hop, &["to ADDR via NAME", "Local via NAME", "via NAME"]),
    (Mark::Named("next-table"), &["to table NAME"]),
    (Mark::Nowhere("blackhole"), &["Discard"]),
    (Mark::Nowhere("unreachable"), &["Reject"]),
    (Mark::Nowhere("local"), &["Receive", "MultiRecv"]),
];

/// Returns the table that a heading names.
fn table(line: &str) -> Option<&str> {
    whole(Words::new(line), HEADINGS).filter(|(_, mark)| *mark == Mark::Table)?.0.name
}

struct Reading {
    prefix: Option<IpPrefix>,
    is_skipping: bool,
    /// Whether the routes are those of a neighbour, in columns.
    has_columns: bool,
    /// Whether the last prefix of the columns is marked.
    is_active: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut sink = Sink::new(options, choice(options));
    sink.tells_origins = true;
    let mut reading = Reading { prefix: None, is_skipping: false, has_columns: false, is_active: false };
    sink.each_line(blocks, builder, |sink, place, line| reading.line(sink, place, line.trim()))?;
    sink.finish(builder)
}

/// Which tables are read.
pub(super) fn choice(options: &ReadOptions) -> Choice<'_> {
    let asked = options.table.as_deref().or(options.vrf.as_deref());
    Choice { kind: "table", option: "--vrf", asked, usual: &["inet.0", "inet6.0"] }
}

/// Returns the name by which a table is chosen: its own, or that of its VRF.
pub(super) fn name_of<'t>(table: &'t str, options: &ReadOptions) -> &'t str {
    let vrf = table.strip_suffix(".inet.0").or_else(|| table.strip_suffix(".inet6.0"));
    vrf.filter(|_| options.table.is_none()).unwrap_or(table)
}

impl Reading {
    fn line(&mut self, sink: &mut Sink<'_>, place: Place, text: &str) -> Line {
        if text.is_empty() {
            return Line::Blank;
        }
        if let Some(name) = table(text) {
            sink.close();
            (self.prefix, self.has_columns) = (None, false);
            sink.titled(name_of(name, sink.options), &format!("table {name}"));
            return Line::Aside;
        }
        let words = Words::new(text);
        if whole(words, HEADINGS).is_some() || is_prompt(text) {
            return Line::Aside;
        }
        if words.whole("Prefix Nexthop MED Lclpref AS path").is_some() {
            self.has_columns = true;
            return Line::Aside;
        }
        if self.has_columns {
            return self.of_neighbor(sink, place, words).into();
        }
        self.read(sink, place, words).into()
    }

    /// Reads a line of columns. A long prefix has its next hop on the next line, and the mark of
    /// the active route is on either.
    fn of_neighbor(&mut self, sink: &mut Sink<'_>, place: Place, mut words: Words<'_>) -> Result<(), String> {
        let is_marked = words.phrase("*").is_some();
        if let Some(prefix) = words::prefix(&mut words, |_| None, sink.options.mask_host_bits) {
            (self.prefix, self.is_active) = (None, is_marked);
            self.prefix = Some(prefix?);
            if words.peek().is_none() {
                return Ok(());
            }
        }
        let hop = words.next().unwrap_or_default();
        let address = words::address(hop).filter(|_| hop != "Self");
        if address.is_none() && hop != "Self" {
            return Err(unknown(hop));
        }
        let rest = words.rest();
        let (before, code) = rest.rsplit_once(' ').unwrap_or(("", rest));
        if !matches!(code, "I" | "E" | "?") {
            return Err(unknown(code));
        }
        let numbers = before.split_ascii_whitespace().take_while(|word| word.parse::<u32>().is_ok()).count();
        let path = AsPath::parse(before)?;
        let mut route = Route::new(place, self.prefix.take().ok_or_else(|| unknown(hop))?);
        route.state = if is_marked || self.is_active { State::Used } else { State::Candidate };
        let hop = Hop::through(address, None, None).unwrap_or_else(Hop::connected);
        route.hops.push((hop, State::Used));
        route.origin = Some(path.origin()).filter(|_| numbers > 2).map(origin_as);
        sink.open(route);
        Ok(())
    }

    fn read(&mut self, sink: &mut Sink<'_>, place: Place, mut words: Words<'_>) -> Result<(), String> {
        if let Some(prefix) = words::prefix(&mut words, |_| None, sink.options.mask_host_bits) {
            sink.close();
            (self.prefix, self.is_skipping) = (None, true);
            self.prefix = Some(prefix?);
            // A long prefix has its route on the next line.
            self.is_skipping = false;
            if words.peek().is_none() {
                return Ok(());
            }
        }
        let first = words.peek().unwrap_or_default();
        let protocol = first.split_once('[').filter(|(_, rest)| rest.ends_with(']') && rest.contains('/'));
        let state = protocol.and_then(|(mark, _)| STATES.iter().find(|(known, _)| *known == mark));
        if let Some((_, state)) = state {
            words.next();
            self.is_skipping = true;
            let mut route = Route::new(place, self.prefix.ok_or_else(|| unknown(first))?);
            route.state = *state;
            let mut said = Said::default();
            // A direct route has its hop on the same line, after `>`.
            let (rest, hop) = words.rest().split_once("> ").unwrap_or((words.rest(), ""));
            said.read(Words::new(rest), GRAMMAR)?;
            let from = rest.split_once("from ").and_then(|(_, after)| Words::new(after).peek());
            let from = from.and_then(|from| Hop::through(from.parse().ok(), None, None));
            route.peer = from.map(|hop| hop.info);
            said.read(Words::new(hop), GRAMMAR)?;
            route.hops.extend(said.hop().map(|hop| (hop, State::Used)));
            self.is_skipping = false;
            sink.open(route);
            return Ok(());
        }
        if self.is_skipping {
            return Err(REST.to_owned());
        }
        let route = sink.route().ok_or_else(|| unknown(first))?;
        if words.phrase("AS path:").is_some() {
            route.origin = Some(path(words)?).filter(|origin| *origin != Origin::Local).map(origin_as);
            return Ok(());
        }
        let is_chosen = words.phrase(">").is_some();
        let mut said = Said::default();
        said.read(words, GRAMMAR)?;
        let hop = said.hop().map(|hop| (hop, State::Used));
        match hop {
            Some(hop) if is_chosen => route.hops.insert(0, hop),
            hop => route.hops.extend(hop),
        }
        Ok(())
    }
}

/// Returns an origin as a value.
pub(super) fn origin_as(origin: Origin) -> NextHopInfo {
    const UNKNOWN: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), asn: 0 };
    let preference = Preference::default();
    Path { next_hop: None, origin, length: 0, preference, details: None }.value(UNKNOWN, Value::OriginAs)
}

/// Reads an AS path, `64501 64502 I, validation-state: unverified`.
pub(super) fn path(words: Words<'_>) -> Result<Origin, String> {
    let (path, after) = words.rest().split_once(',').unwrap_or((words.rest(), ""));
    let is_known = |text: &str| {
        let states = ["unverified", "valid", "invalid", "unknown"];
        let state = text.trim().strip_prefix("validation-state:").map(str::trim);
        text.is_empty() || state.is_some_and(|state| states.contains(&state))
    };
    if !is_known(after) {
        return Err(unknown(after.trim()));
    }
    let path = path.trim_end().trim_end_matches(['I', 'E', '?']).trim_end();
    Ok(AsPath::parse(path)?.origin())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};

    const TEXT: &str = "\ninet.0: 4 destinations, 5 routes (4 active, 0 holddown, 0 hidden)\n\
        + = Active Route, - = Last Active, * = Both\n\n\
        0.0.0.0/0          *[Static/5] 1d 02:03:04\n                    >  to 192.0.2.1 via ge-0/0/0.0\n\
        10.0.0.0/8          [OSPF/200] 00:10:00, metric 1\n                    >  to 192.0.2.9 via ge-0/0/9.0\n                    \
        *[BGP/170] 00:10:00, localpref 100, from 192.0.2.2\n                      AS path: 64501 64502 I, validation-state: unverified\n                       \
        to 192.0.2.3 via ge-0/0/2.0\n                    >  to 192.0.2.2 via ge-0/0/1.0\n\
        10.1.0.0/16        *[Static/5] 1w2d\n                       Discard\n\
        192.0.2.0/24       *[Direct/0] 1w2d\n                    >  via ge-0/0/0.0\n\
        198.51.100.0/24     [BGP/170] 1w2d\n                      AS path: 64503 I\n                    >  to 192.0.2.2 via ge-0/0/1.0\n\n\
        red.inet.0: 1 destinations, 1 routes (1 active, 0 holddown, 0 hidden)\n\n\
        10.0.0.0/8         *[Static/5] 1d\n                    >  to 192.0.2.77 via ge-0/0/7.0\n";

    #[test]
    fn the_active_route_and_its_chosen_hop() {
        let of = |options: &ReadOptions| parse(TEXT.as_bytes(), options).unwrap();
        let loaded = of(&ReadOptions::default());
        assert_eq!(loaded.format, Format::Junos);
        let expected = [
            "0.0.0.0/0 192.0.2.1 dev ge-0/0/0.0",
            "10.0.0.0/8 192.0.2.2 dev ge-0/0/1.0",
            "10.1.0.0/16 blackhole",
            "192.0.2.0/24 dev ge-0/0/0.0",
        ];
        assert_eq!(routes(&loaded), expected);
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        let further = "next hop after the first (--value next-hops keeps all)";
        assert_eq!(notes, ["prefix without a selected route", further, "route of table red.inet.0"]);
        let origin = of(&ReadOptions { value: Value::OriginAs, ..Default::default() });
        assert_eq!(routes(&origin), ["10.0.0.0/8 64502"]);
        let origins = of(&ReadOptions { value: Value::Origins, ..Default::default() });
        assert_eq!(routes(&origins), ["10.0.0.0/8 [64502]", "198.51.100.0/24 [64503]"]);
        let peer = of(&ReadOptions { value: Value::Peer, ..Default::default() });
        assert_eq!(routes(&peer), ["10.0.0.0/8 192.0.2.2"]);
        let red = of(&ReadOptions { vrf: Some("red".into()), ..Default::default() });
        assert_eq!(routes(&red), ["10.0.0.0/8 192.0.2.77 dev ge-0/0/7.0"]);
        let blue = parse(TEXT.as_bytes(), &ReadOptions { vrf: Some("blue".into()), ..Default::default() });
        assert_eq!(blue.unwrap_err().to_string(), "memory, line 1: no table blue (there are inet.0, red)");
    }

    #[test]
    fn the_routes_of_a_neighbour_are_in_columns() {
        let text = "user@router> show route receive-protocol bgp 192.0.2.2\n\n\
            inet.0: 9 destinations, 9 routes (9 active, 0 holddown, 0 hidden)\n  \
            Prefix                  Nexthop              MED     Lclpref    AS path\n\
            * 10.0.0.0/8              192.0.2.2            10      100        64501 64502 I\n  \
            10.1.0.0/16             192.0.2.2                    100        64503 I\n\
            * 10.2.0.0/16             Self                         100        I\n\n\
            inet6.0: 9 destinations, 9 routes (9 active, 0 holddown, 0 hidden)\n  \
            Prefix                  Nexthop              MED     Lclpref    AS path\n  \
            2001:db8:1234:5678::1/128\n*                         2001:db8::2          5       100        [64504] I\n";
        let of = |value| parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
        let expected =
            ["10.0.0.0/8 192.0.2.2", "10.2.0.0/16 connected", "2001:db8:1234:5678::1/128 2001:db8::2"];
        assert_eq!(routes(&of(Value::NextHop)), expected);
        // One number may be any of three.
        assert_eq!(routes(&of(Value::OriginAs)), ["10.0.0.0/8 64502"]);
        let odd = text.replace("100        64501 64502 I", "100        64501 64502 I odd");
        let loaded = parse(odd.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.report.notes[0].what, "unknown mark \"odd\"");
    }

    #[test]
    fn a_text_of_one_vrf_is_that_vrf() {
        let of = |text: &str| parse(text.as_bytes(), &ReadOptions::default());
        let red = &TEXT[TEXT.find("red.inet.0").unwrap()..];
        let red6 = "red.inet6.0: 1 destinations, 1 routes (1 active, 0 holddown, 0 hidden)\n\n\
            2001:db8::/32      *[Static/5] 1d\n                    >  to fe80::7 via ge-0/0/7.0\n";
        let both = ["10.0.0.0/8 192.0.2.77 dev ge-0/0/7.0", "2001:db8::/32 fe80::7 dev ge-0/0/7.0"];
        assert_eq!(routes(&of(&[red, red6].concat()).unwrap()), both);
        let error = of(&[red, &red6.replace("red", "blue")].concat()).unwrap_err().to_string();
        assert_eq!(error, "memory, line 1: no table inet.0, name one of red, blue by --vrf");
    }

    #[test]
    fn indentation_does_not_matter() {
        let text = format!("        {}", TEXT.replace('\n', "\n        "));
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), routes(&parse(TEXT.as_bytes(), &ReadOptions::default()).unwrap()));
    }

    #[test]
    fn prompts_pass_and_what_is_not_understood_is_told() {
        let text = "user@router> show route table inet.0\n\n".to_owned()
            + &TEXT.replace("[Static/5] 1w2d\n", "[Static/5] 1w2d, odd\n")
            + "\n{master:0}\nuser@router> \n";
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded).len(), 3);
        assert_eq!(loaded.report.notes[0].what, "unknown mark \"odd\"");
        let error = |rows: &str| {
            testing::error(Format::Junos, &format!("inet.0: 1 destinations, 1 routes (1 active)\n{rows}"))
        };
        assert_eq!(
            error("10.0.0.0/33 *[Static/5] 1d\n"),
            "memory, line 2: prefix length 33 is past the 32 bits of the family; 1 of 1 lines are not understood"
        );
    }
}
