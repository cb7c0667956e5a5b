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
//! text of one other VRF is that VRF.

use super::bgpdump::{as_path, origin_of};
use super::builder::{Builder, Trouble};
use super::hops::{self, Hop, Origins};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::{Choice, Tables};
use super::{ReadOptions, Value};
use crate::mrt::{Origin, Path, Peer};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::{IpAddr, Ipv4Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| utf8(line).is_ok_and(|line| table(line).is_some())),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Returns the table that a heading names.
fn table(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(": ")?;
    (rest.contains(" destinations, ") && rest.contains(" routes (")).then_some(name)
}

struct Reading<'o> {
    /// The table that is read now.
    table: String,
    tables: Tables<'o>,
    /// The prefix, and its line.
    prefix: Option<IpPrefix>,
    line: u64,
    /// Whether the active route of the prefix has been seen.
    has_active: bool,
    open: Option<Open>,
    /// What the routes of the prefix say, if all origins are wanted.
    origins: Origins,
}

/// The route that is read now: the active one, if not all are wanted.
struct Open {
    line: u64,
    hops: Vec<Hop>,
    origin: Option<Origin>,
    from: Option<IpAddr>,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let asked = options.table.as_deref().or(options.vrf.as_deref());
    let choice = Choice { kind: "table", option: "--vrf", asked, usual: &["inet.0", "inet6.0"] };
    let (tables, origins) = (Tables::new(choice), Origins::default());
    let (table, prefix, line, has_active, open) = (String::new(), None, 0, false, None);
    let mut reading = Reading { table, tables, prefix, line, has_active, open, origins };
    builder.each_line(blocks, |number, line, builder| reading.line(number, line, options, builder))?;
    reading.end_prefix(options, builder)?;
    reading.tables.finish(builder)
}

/// Returns the name by which a table is chosen: its own, or that of its VRF.
fn name_of<'t>(table: &'t str, options: &ReadOptions) -> &'t str {
    let vrf = table.strip_suffix(".inet.0").or_else(|| table.strip_suffix(".inet6.0"));
    vrf.filter(|_| options.table.is_none()).unwrap_or(table)
}

impl Reading<'_> {
    fn line(
        &mut self,
        number: u64,
        line: &str,
        options: &ReadOptions,
        builder: &mut Builder,
    ) -> Result<(), Trouble> {
        let text = line.trim();
        if let Some(name) = table(line) {
            self.end_prefix(options, builder)?;
            name.clone_into(&mut self.table);
            return Ok(());
        }
        if text.is_empty()
            || text.starts_with("+ = Active")
            || text.starts_with("Restart ")
            || self.table.is_empty()
        {
            return Ok(());
        }
        let mut rest = text;
        if !line.starts_with([' ', '\t']) {
            self.end_prefix(options, builder)?;
            let (word, after) = text.split_at(text.find(' ').unwrap_or(text.len()));
            rest = after.trim();
            if !self.tables.take(name_of(&self.table, options), &self.table, Place::Line(number)) {
                return Ok(());
            }
            self.line = number;
            self.prefix = Some(scan::prefix(word.as_bytes(), options.mask_host_bits)?);
        }
        if self.prefix.is_none() || rest.is_empty() {
            return Ok(());
        }
        if let Some((marks, route)) = rest.split_once('[').filter(|(marks, _)| marks.len() <= 1) {
            self.close(options, builder)?;
            let is_active = matches!(marks, "*" | "+");
            self.has_active |= is_active;
            if is_active || options.value == Value::Origins {
                let from =
                    route.split_once("from ").map(|(_, after)| after.split(',').next().unwrap_or_default());
                let from = from.and_then(|from| from.trim().parse().ok());
                self.open = Some(Open { line: number, hops: Vec::new(), origin: None, from });
            }
            // A direct route has its hop on the same line.
            rest = route.split_once(']').map_or("", |(_, after)| after.trim());
            if let Some(at) = rest.find("> ") {
                rest = &rest[at..];
            }
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        if let Some(path) = rest.strip_prefix("AS path: ") {
            let path = path.split(',').next().unwrap_or_default().trim_end();
            let path = path.trim_end_matches(['I', 'E', '?']).trim_end();
            open.origin = Some(origin_of(&as_path(path)?));
            return Ok(());
        }
        let is_chosen = rest.starts_with('>');
        let hop = hop(rest.trim_start_matches('>').trim_start())?;
        match hop {
            Some(hop) if is_chosen => open.hops.insert(0, hop),
            hop => open.hops.extend(hop),
        }
        Ok(())
    }

    /// Ends the routes of a prefix.
    fn end_prefix(&mut self, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
        self.close(options, builder)?;
        match self.origins.take() {
            Some((place, prefix, Some(list))) => self.tables.offer(place, prefix, list, builder)?,
            Some((place, _, None)) => builder.left_out(place, "prefix without an origin AS")?,
            None => {}
        }
        let is_read = std::mem::take(&mut self.has_active) || options.value == Value::Origins;
        if self.prefix.take().is_some() && !is_read {
            builder.left_out(Place::Line(self.line), "prefix without an active route")?;
        }
        Ok(())
    }

    /// Ends the route that is open.
    fn close(&mut self, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
        const UNKNOWN: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), asn: 0 };
        let (Some(route), Some(prefix)) = (self.open.take(), self.prefix) else { return Ok(()) };
        let place = Place::Line(route.line);
        match options.value {
            Value::NextHop | Value::NextHops => match hops::offer(&route.hops, options.value) {
                Some(offer) => self.tables.offer(place, prefix, offer, builder),
                None => builder.damaged(Damage { place, what: format!("{prefix} has no hop") }),
            },
            Value::OriginAs | Value::Origins | Value::Route => {
                let origin = route.origin.filter(|origin| *origin != Origin::Local).map(|origin| {
                    let path = Path { next_hop: None, origin, length: 0, details: None };
                    path.value(UNKNOWN, Value::OriginAs)
                });
                match origin {
                    origin if options.value == Value::Origins => {
                        self.origins.push(place, prefix, origin);
                        Ok(())
                    }
                    Some(origin) => self.tables.offer(place, prefix, origin, builder),
                    None => builder.left_out(place, "route without an origin AS"),
                }
            }
            Value::Peer => match Hop::through(route.from, None, None) {
                Some(peer) => self.tables.offer(place, prefix, peer.info, builder),
                None => builder.left_out(place, "route without a known peer"),
            },
        }
    }
}

/// Reads a hop; `None` if a line has none.
fn hop(text: &str) -> Result<Option<Hop>, String> {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let interface = |at: usize| words.get(at + 1).copied().filter(|_| words.get(at) == Some(&"via"));
    match words[..] {
        ["to", address, ..] => match address.parse() {
            Ok(address) => Ok(Hop::through(Some(address), interface(2), None)),
            Err(_) => Err(format!("expected an address after to in {}", quoted(text))),
        },
        ["via", device, ..] | ["Local", "via", device, ..] => Ok(Hop::through(None, Some(device), None)),
        ["Discard", ..] => Ok(Some(Hop::nowhere("blackhole"))),
        ["Reject", ..] => Ok(Some(Hop::nowhere("unreachable"))),
        ["Receive" | "MultiRecv", ..] => Ok(Some(Hop::nowhere("local"))),
        _ => Ok(None),
    }
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
        assert_eq!(notes, [further, "prefix without an active route", "route of table red.inet.0"]);
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
    fn what_is_wrong_is_said() {
        let error = |rows: &str| {
            testing::error(Format::Junos, &format!("inet.0: 1 destinations, 1 routes (1 active)\n{rows}"))
        };
        assert_eq!(
            error("10.0.0.0/33 *[Static/5] 1d\n"),
            "memory, line 2: prefix length 33 is past the 32 bits of the family"
        );
        assert_eq!(
            error("10.0.0.0/8 *[Static/5] 1d\n  > to x via a\n"),
            "memory, line 3: expected an address after to in \"to x via a\""
        );
        assert_eq!(error("10.0.0.0/8 *[Static/5] 1d\n"), "memory, line 2: 10.0.0.0/8 has no hop");
    }
}
