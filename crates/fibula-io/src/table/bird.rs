//! The output of BIRD's `show route`, versions 1 to 3, with or without `all`.
//!
//! ```text
//! Table master4:
//! 198.51.100.0/24      unicast [bgp1 2024-01-01] * (100) [AS64500i]
//!         via 192.0.2.1 on eth0
//!                      unicast [bgp2 2024-01-01] (100) [AS64501i]
//!         via 192.0.2.2 on eth1
//! 203.0.113.0/24       blackhole [static1 2024-01-01] * (200)
//! 10.0.0.0/8           via 192.0.2.1 on eth0 [bgp1 2013-01-01] * (100) [AS64500i]
//! ```
//!
//! The last line is version 1's form. The route marked `*` is the one that BIRD forwards by, one
//! marked `!` is one that the kernel refused: its prefix is left out. Where none is marked (as
//! under `show route protocol`), the first is taken. A route with a source (`from`) that is not all
//! is conditional.
//!
//! The tables `master4`, `master6` and `master` are read, or the one that is asked for. A text of
//! one table of another name is that table. Routes of other tables are counted.

use super::ReadOptions;
use super::builder::Builder;
use super::hops::Hop;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{Grammar, Mark, Said, State, nowhere, unknown, whole};
use super::router::sink::{Line, REST, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use crate::scan;
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Router(|line| is_line(&String::from_utf8_lossy(line))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Lines that are no routes.
#[rustfmt::skip]
pub(super) const HEADINGS: &Grammar = &[
    (Mark::Nothing, &["BIRD ANY ready.", "Access restricted"]),
    (Mark::Table, &["Table NAME:", "Table NAME"]),
];

/// What a next hop is written with.
#[rustfmt::skip]
pub(super) const HOP: &Grammar = &[
    (Mark::Hop, &["via ADDR on NAME", "via ADDR", "dev NAME"]),
    (Mark::Nothing, &["mpls ANY", "onlink", "bfd"]),
    (Mark::Weight, &["weight NUM"]),
];

/// What follows the protocol of a route.
#[rustfmt::skip]
pub(super) const MARKS: &Grammar = &[
    (Mark::Is(State::Used), &["*"]),
    (Mark::Is(State::Uninstalled), &["!"]),
    (Mark::Nothing, &["I", "IA", "E1", "E2", "(NUM)", "(NUM/NUM)", "(ANY)", "[ASANY]", "[i]",
        "[e]", "[ANY]"]),
];

/// What the attributes of `all` begin with.
#[rustfmt::skip]
pub(super) const ATTRIBUTES: [&str; 22] = [
    "Type:", "bgp_", "ospf_", "babel_", "rip_", "BGP.", "OSPF.", "RIP.", "Babel.", "Kernel.", "IS-IS.",
    "krt_", "from:", "source:", "preference:", "igp_metric:", "scope:", "Internal", "hostentry:",
    "aspa_providers:", "gateway_name:", "mpls_",
];

struct Reading {
    prefix: Option<IpPrefix>,
    /// The state that the source of the prefix says.
    source: State,
    /// Whether the kernel refused the route that BIRD has chosen for the prefix.
    is_refused: bool,
    is_skipping: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    // Routes before any name are of the one table.
    let usual = &["master", "master4", "master6", ""];
    let asked = options.table.as_deref();
    let mut sink = Sink::new(options, Choice { kind: "table", option: "--routing-table", asked, usual });
    sink.tells_origins = true;
    let mut reading = Reading { prefix: None, source: State::Used, is_refused: false, is_skipping: false };
    sink.each_line(blocks, builder, |sink, place, line| reading.line(sink, place, line))?;
    sink.finish(builder)
}

impl Reading {
    fn line(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Line {
        let text = line.trim();
        let words = Words::new(text);
        if text.is_empty() {
            return Line::Blank;
        }
        let heading = whole(words, HEADINGS);
        if let Some((caught, mark)) = heading {
            if mark == Mark::Table {
                sink.close();
                (self.prefix, self.is_skipping) = (None, false);
                sink.table(caught.name.unwrap_or_default());
            }
            return Line::Aside;
        }
        if text.starts_with('#') || text == "bird>" || is_prompt(text) {
            return Line::Aside;
        }
        if line.starts_with('\t') {
            return if self.is_skipping { Line::Told(REST.into()) } else { Self::below(sink, text).into() };
        }
        let result = self.route(sink, place, line);
        self.is_skipping = result.is_err();
        if self.is_skipping {
            sink.close();
        }
        result.into()
    }

    /// Reads a line of a next hop, or of an attribute.
    fn below(sink: &mut Sink<'_>, text: &str) -> Result<(), String> {
        if ATTRIBUTES.iter().any(|begin| text.starts_with(begin)) {
            return Ok(());
        }
        let mut said = Said::default();
        said.read(Words::new(text), HOP)?;
        let route = sink.route().ok_or_else(|| unknown(text))?;
        let is_nowhere = matches!(route.hops[..], [(Hop { info: NextHopInfo::Label(_), .. }, _)]);
        if !is_nowhere {
            route.hops.extend(said.hop().map(|hop| (hop, State::Used)));
        }
        Ok(())
    }

    fn route(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Result<(), String> {
        let mut words = Words::new(line);
        if !line.starts_with(' ') {
            (self.prefix, self.is_refused, self.source) = (None, false, State::Used);
            let first = words.peek().unwrap_or_default();
            let prefix = words::prefix(&mut words, |_| None, sink.options.mask_host_bits);
            self.prefix = Some(prefix.unwrap_or_else(|| Err(unknown(first)))?);
            if let Some(caught) = words.phrase("from PREFIX") {
                let all = ["::/0", "0.0.0.0/0"];
                if !caught.prefix.is_some_and(|source| all.contains(&source)) {
                    self.source = State::Conditional;
                }
            }
        }
        let kind = words.peek().unwrap_or_default();
        let prefix = self.prefix.ok_or_else(|| unknown(kind))?;
        let mut route = Route::new(place, prefix);
        if let Some(kind) = nowhere(kind) {
            route.hops.push((Hop::nowhere(kind), State::Used));
            words.next();
        } else if ["unicast", "multipath"].contains(&kind) {
            words.next();
        } else {
            // Version 1 has the only next hop here.
            let end = words.rest().find('[').ok_or_else(|| unknown(kind))?;
            let (hop, rest) = words.rest().split_at(end);
            let mut said = Said::default();
            said.read(Words::new(hop), HOP)?;
            route.hops.extend(said.hop().map(|hop| (hop, State::Used)));
            words = Words::new(rest);
        }
        let protocol = words.next().filter(|group| group.starts_with('[')).ok_or_else(|| unknown(kind))?;
        let origin = words.rest().rsplit_once("[AS").map(|(_, number)| number);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        route.origin = origin
            .and_then(|number| number[..digits(number)].parse().ok())
            .map(NextHopInfo::AutonomousSystem);
        let protocol = protocol_of(protocol)?;
        route.peer = Some(NextHopInfo::Label(protocol.into()));
        let mut said = Said::default();
        said.read(words, MARKS)?;
        route.state = match said.state {
            Some(State::Used) | None => self.source,
            Some(state) => state,
        };
        // Of routes that are not marked the first is taken, if none of the prefix is.
        route.rank = u64::from(said.state.is_none());
        if self.is_refused && said.state.is_none() {
            route.state = State::Candidate;
        }
        self.is_refused |= said.state == Some(State::Uninstalled);
        sink.open(route);
        Ok(())
    }
}

/// Returns the protocol of a group `[bgp1 2024-01-01 12:00:00 from 192.0.2.9]`.
fn protocol_of(group: &str) -> Result<&str, String> {
    let mut words = Words::new(group.trim_matches(['[', ']']));
    let protocol = words.next().unwrap_or_default();
    while let Some(word) = words.next() {
        let is_time = word.starts_with(|c: char| c.is_ascii_digit());
        if !is_time && (word != "from" || words.next().and_then(words::address).is_none()) {
            return Err(unknown(word));
        }
    }
    Ok(protocol)
}

/// Returns whether a line is one of `show route`.
fn is_line(line: &str) -> bool {
    const KINDS: [&str; 4] = ["unicast", "multipath", "via", "dev"];
    if line.starts_with("BIRD ") && line.contains("ready") {
        return true;
    }
    let Some((word, rest)) = line.split_once([' ', '\t']) else { return false };
    let kind = rest.split_ascii_whitespace().next().unwrap_or_default();
    // A value of the text format may have brackets too.
    let is_kind = KINDS.contains(&kind) || nowhere(kind).is_some() || kind == "from";
    is_kind && rest.contains('[') && scan::prefix(word.as_bytes(), true).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, ReadOptions, Value, parse, testing};

    const VERSION_2: &[u8] = b"BIRD 2.0.7 ready.\nTable master4:\n\
        0.0.0.0/0            unicast [bgp2 2024-01-01] (100) [AS64501i]\n\
        \tvia 192.0.2.2 on eth1\n\
        \x20                    unicast [bgp1 2024-01-01 from 192.0.2.9] * (100/10) [AS64500?]\n\
        \tvia 192.0.2.1 on eth0 weight 1\n\
        \tvia 192.0.2.3 on eth3 weight 1\n\
        \tType: BGP univ\n\
        198.51.100.0/24      unicast [direct1 2024-01-01] * (240)\n\
        \tdev eth0\n\
        203.0.113.0/24       blackhole [static1 2024-01-01] * (200)\n\n\
        Table master6:\n\
        2001:db8::/32        unicast [bgp1 2024-01-01] (100) [AS64502e]\n\
        \tvia fe80::1 on eth0\n";

    fn routes(text: &[u8], value: Value) -> Vec<String> {
        let loaded = parse(text, &ReadOptions { value, ..Default::default() }).unwrap();
        assert_eq!(loaded.format, Format::Bird);
        testing::routes(&loaded)
    }

    #[test]
    fn version_2() {
        assert_eq!(
            routes(VERSION_2, Value::NextHop),
            [
                "0.0.0.0/0 192.0.2.1 dev eth0",
                "198.51.100.0/24 dev eth0",
                "203.0.113.0/24 blackhole",
                "2001:db8::/32 fe80::1 dev eth0"
            ]
        );
        assert_eq!(routes(VERSION_2, Value::OriginAs), ["0.0.0.0/0 64500", "2001:db8::/32 64502"]);
        assert_eq!(routes(VERSION_2, Value::Origins), ["0.0.0.0/0 [64500,64501]", "2001:db8::/32 [64502]"]);
        assert_eq!(routes(VERSION_2, Value::Peer)[0], "0.0.0.0/0 bgp1");
    }

    #[test]
    fn version_1() {
        let text = b"BIRD 1.6.8 ready.\n\
            10.0.0.0/8         via 192.0.2.1 on eth0 [bgp1 2013-01-01] (100) [AS64500i]\n\
            \x20                  via 192.0.2.2 on eth0 [bgp2 2013-01-01] * (100) [AS64501i]\n\
            10.1.0.0/16        multipath [ospf1 2013-01-01] * I (150/20)\n\
            \tvia 192.0.2.5 on eth1 weight 1\n\
            \tvia 192.0.2.6 on eth2 weight 1\n\
            10.2.0.0/16        dev eth7 [direct1 2013-01-01] * (240)\n\
            10.3.0.0/16        unreachable [static1 2013-01-01] * (200)\n";
        assert_eq!(
            routes(text, Value::NextHop),
            [
                "10.0.0.0/8 192.0.2.2 dev eth0",
                "10.1.0.0/16 192.0.2.5 dev eth1",
                "10.2.0.0/16 dev eth7",
                "10.3.0.0/16 unreachable"
            ]
        );
    }

    #[test]
    fn one_table_is_read() {
        let table = |name: &str, last: u8| {
            format!("Table {name}:\n10.0.0.0/8 unicast [a 1] * (1)\n\tvia 192.0.2.{last} on eth0\n")
        };
        let vpn = "Table vpn4:\n65000:1 10.5.0.0/16 unicast [b 1] * (1)\n\tvia 192.0.2.8 on eth1\n";
        let text = ["BIRD 2.0.12 ready.\n", &table("master4", 1), &table("red", 2), vpn].concat();
        let of = |text: &str, table: Option<&str>| {
            let options = ReadOptions { table: table.map(Into::into), ..Default::default() };
            let loaded = parse(text.as_bytes(), &options).map_err(|error| error.to_string())?;
            let notes = loaded.report.notes.iter().map(|note| note.what.to_string()).collect::<Vec<_>>();
            Ok::<_, String>((testing::routes(&loaded), notes))
        };
        let (routes, notes) = of(&text, None).unwrap();
        assert_eq!(routes, ["10.0.0.0/8 192.0.2.1 dev eth0"]);
        assert_eq!(notes, ["route of table red", "line of table vpn4 that is not understood"]);
        assert_eq!(of(&text, Some("red")).unwrap().0, ["10.0.0.0/8 192.0.2.2 dev eth0"]);
        assert_eq!(of(&table("red", 2), None).unwrap().0, ["10.0.0.0/8 192.0.2.2 dev eth0"]);
        let error = of(&text, Some("vpn4")).unwrap_err();
        assert_eq!(error, "memory, line 9: unknown mark \"65000:1\"; 1 of 1 lines are not understood");
        let error = of(&[&table("red", 2), vpn].concat(), None).unwrap_err();
        assert_eq!(error, "memory, line 1: no table master, name one of red, vpn4 by --routing-table");
        assert!(
            of(&text, Some("blue")).unwrap_err().ends_with("no table blue (there are master4, red, vpn4)")
        );
    }

    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        let notes = loaded.report.notes.iter().map(ToString::to_string).collect();
        (testing::routes(&loaded), notes)
    }

    #[test]
    fn a_route_that_the_kernel_refused_is_left_out_with_its_prefix() {
        let (routes, notes) = told(
            "Table master4:\n10.0.0.0/8 unicast [a 1] ! (200)\n\tvia 192.0.2.1 on eth0 mpls 100/200\n\
             \x20          unicast [b 1] (100)\n\tvia 192.0.2.2 on eth0\n\
             10.1.0.0/16 unicast [a 1] * (200)\n\tvia 192.0.2.3 on eth0 onlink\n",
        );
        assert_eq!(routes, ["10.1.0.0/16 192.0.2.3 dev eth0"]);
        let refused = "left out: route that is not in the forwarding table, 1 time, first at line 2";
        assert_eq!(notes[0], refused);
    }

    #[test]
    fn a_source_makes_a_route_conditional() {
        let (routes, notes) = told(
            "Table sadr6:\n2001:db8:1::/48 from 2001:db8:9::/48 unicast [a 1] * (200)\n\tvia fe80::5 on eth0\n\
             2001:db8:2::/48 from ::/0 unicast [a 1] * (200)\n\tvia fe80::5 on eth0\n",
        );
        assert_eq!(routes, ["2001:db8:2::/48 fe80::5 dev eth0"]);
        assert_eq!(notes, ["left out: conditional route, 1 time, first at line 2"]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_left_out_and_told() {
        let (routes, notes) = told(
            "10.0.0.0/8 unicast [a 1] * (1)\n\tvia 192.0.2.1 on eth0\n\tvia 192.0.2.2 on eth1 odd\n\
             11.0.0.0/8 new [a] *\n\tvia 192.0.2.1 on eth0\n12.0.0.0/8 blackhole [a] *\n",
        );
        assert_eq!(routes, ["10.0.0.0/8 192.0.2.1 dev eth0", "12.0.0.0/8 blackhole"]);
        assert_eq!(notes.len(), 3, "{notes:?}");
        let error = |text: &str| testing::error(Format::Bird, text);
        assert_eq!(
            error("10.0.0.0/8 unicast\n"),
            "memory, line 1: unknown mark \"unicast\"; 1 of 1 lines are not understood"
        );
        assert!(error("  unicast [a 1] * (1)\n").contains("unknown mark"));
        assert!(
            error("\u{c}ab\u{80}\n").contains("unknown mark"),
            "white space of another kind before a word"
        );
    }
}
