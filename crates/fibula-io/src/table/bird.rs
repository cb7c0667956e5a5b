//! The output of BIRD's `show route`, versions 1 and 2, with or without `all`.
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
//! The last line is version 1's form. The route marked `*` is the one that BIRD forwards by. Where
//! none is marked (as under `show route protocol`), the first is taken.
//!
//! The tables `master4`, `master6` and `master` are read, or the one that is asked for. A text of
//! one table of another name is that table. Routes of other tables are counted.

use super::builder::{Best, Builder, Trouble};
use super::hops::{self, Hop, Offer, Origins};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::{ReadOptions, Value};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| is_line(&String::from_utf8_lossy(line))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Types that do not forward, and the names that the kernel has for them.
const NOWHERE: [(&str, &str); 4] = [
    ("blackhole", "blackhole"),
    ("unreachable", "unreachable"),
    ("prohibit", "prohibit"),
    ("prohibited", "prohibit"),
];

/// One route of a prefix whose lines are being read.
struct Open {
    line: u64,
    prefix: IpPrefix,
    primary: bool,
    hops: Vec<Hop>,
    /// The AS and the protocol, where the line names them.
    origin: Option<u32>,
    protocol: String,
}

/// One table of the output.
struct Table {
    name: String,
    /// Its first route, and the number of its routes.
    first: u64,
    routes: u64,
    best: Best<bool>,
    /// The first line that could not be read, in a table that nobody may want.
    damage: Option<Damage>,
}

struct Reading<'o> {
    options: &'o ReadOptions,
    tables: Vec<Table>,
    /// The index of the table that is read now.
    now: usize,
    prefix: Option<IpPrefix>,
    open: Option<Open>,
    /// What the routes of the prefix say, if all origins are wanted.
    origins: Origins,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let origins = Origins::default();
    let mut reading = Reading { options, tables: Vec::new(), now: 0, prefix: None, open: None, origins };
    reading.enter("");
    blocks.each_line(|number, line| {
        let result = line.and_then(utf8).map_err(Trouble::Here);
        let result = result.and_then(|line| reading.line(number, line, builder));
        match result {
            Err(Trouble::Here(what)) if !reading.is_wanted() => {
                reading.tables[reading.now].damage.get_or_insert(Damage::line(number, what));
                Ok(())
            }
            other => builder.settled(Place::Line(number), other),
        }
    })?;
    reading.end_prefix(builder)?;
    reading.finish(builder)
}

impl<'o> Reading<'o> {
    /// Goes to a table.
    fn enter(&mut self, name: &str) {
        let known = self.tables.iter().position(|table| table.name == name);
        self.now = known.unwrap_or(self.tables.len());
        if known.is_none() {
            let name = name.to_owned();
            self.tables.push(Table { name, first: 0, routes: 0, best: Best::new(), damage: None });
        }
    }

    fn choice(&self) -> Choice<'o> {
        // Routes before any name are of the one table.
        let usual = &["master", "master4", "master6", ""];
        Choice { kind: "table", option: "--routing-table", asked: self.options.table.as_deref(), usual }
    }

    /// Whether the present table is read by its name alone.
    fn is_wanted(&self) -> bool {
        self.choice().is_wanted(&self.tables[self.now].name)
    }

    fn line(&mut self, number: u64, line: &str, builder: &mut Builder) -> Result<(), Trouble> {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("Table ") {
            self.end_prefix(builder)?;
            self.prefix = None;
            self.enter(name.trim_end_matches(':'));
            return Ok(());
        }
        if is_heading(text) {
            return Ok(());
        }
        if line.starts_with('\t') {
            if let Some(route) = &mut self.open
                && !matches!(route.hops[..], [Hop { info: NextHopInfo::Label(_), .. }])
            {
                route.hops.extend(hop(line)?);
            }
            return Ok(());
        }
        self.close(builder)?;
        let mut rest = line;
        if !line.starts_with(' ') {
            self.end_prefix(builder)?;
            let (word, after) =
                line.split_at(line.find(|c: char| c.is_ascii_whitespace()).unwrap_or(line.len()));
            rest = after;
            let table = &mut self.tables[self.now];
            table.routes += 1;
            table.first = if table.first == 0 { number } else { table.first };
            self.prefix = None;
            self.prefix = Some(scan::prefix(word.as_bytes(), self.options.mask_host_bits)?);
        } else if self.prefix.is_none() && self.tables[self.now].routes > 0 {
            return Ok(()); // the other routes of a damaged prefix
        }
        self.open = Some(route(number, self.prefix, rest)?);
        Ok(())
    }

    /// Ends the route that is open.
    fn close(&mut self, builder: &mut Builder) -> Result<(), Damage> {
        let Some(route) = self.open.take() else { return Ok(()) };
        let offer: Option<Offer> = match self.options.value {
            Value::NextHop | Value::NextHops => hops::offer(&route.hops, self.options.value),
            Value::Origins => {
                let origin = route.origin.map(NextHopInfo::AutonomousSystem);
                self.origins.push(Place::Line(route.line), route.prefix, origin);
                return Ok(());
            }
            Value::OriginAs | Value::Route => {
                route.origin.map(|origin| NextHopInfo::AutonomousSystem(origin).into())
            }
            Value::Peer => Some(NextHopInfo::Label(route.protocol.as_str().into()).into()),
        };
        let is_wanted = self.is_wanted();
        match offer {
            Some(offer) => {
                self.offer(Place::Line(route.line), route.prefix, !route.primary, offer, builder)?;
            }
            // Routes that did not come by BGP have no AS.
            None if self.options.value == Value::OriginAs => {
                builder.left_out(Place::Line(route.line), "route without an origin AS")?;
            }
            None => {
                let what = "has no hop (expected via, dev, or a type that does not forward)";
                let damage = Damage::line(route.line, format!("{} {what}", route.prefix));
                if is_wanted {
                    return builder.damaged(damage);
                }
                self.tables[self.now].damage.get_or_insert(damage);
            }
        }
        Ok(())
    }

    fn offer(
        &mut self,
        place: Place,
        prefix: IpPrefix,
        rank: bool,
        offer: Offer,
        builder: &Builder,
    ) -> Result<(), Damage> {
        let table = &mut self.tables[self.now];
        table.best.offer(place, prefix, rank, offer);
        builder.beside(place, table.best.bytes())
    }

    /// Ends the routes of a prefix.
    fn end_prefix(&mut self, builder: &mut Builder) -> Result<(), Damage> {
        self.close(builder)?;
        match self.origins.take() {
            Some((place, prefix, Some(list))) => self.offer(place, prefix, false, list.into(), builder),
            Some((place, _, None)) => builder.left_out(place, "prefix without an origin AS"),
            None => Ok(()),
        }
    }

    /// Adds the routes of the tables that are wanted.
    fn finish(mut self, builder: &mut Builder) -> Result<(), Damage> {
        self.tables.retain(|table| table.routes > 0);
        let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        let choice = self.choice();
        let chosen = match choice.chosen(&names) {
            Ok(chosen) => chosen,
            Err(damage) => return builder.damaged(damage),
        };
        for (table, is_read) in self.tables.into_iter().zip(chosen) {
            if is_read {
                table.damage.into_iter().try_for_each(|damage| builder.damaged(damage))?;
                table.best.finish(builder)?;
            } else {
                builder.notes([choice.left_out(&table.name, table.routes, Place::Line(table.first))])?;
            }
        }
        Ok(())
    }
}

/// Lines between routes.
fn is_heading(text: &str) -> bool {
    text.is_empty()
        || text.starts_with('#')
        || (text.starts_with("BIRD ") && text.contains("ready"))
        || text.starts_with("Access restricted")
        || text == "bird>"
}

/// Reads the rest of a route line after its prefix.
fn route(line: u64, prefix: Option<IpPrefix>, text: &str) -> Result<Open, String> {
    let expected = || format!("expected a route of BIRD, found {}", quoted(text.trim()));
    let prefix = prefix.ok_or_else(expected)?;
    let (before, after) = text.split_once('[').ok_or_else(expected)?;
    let (protocol, marks) = after.split_once(']').ok_or_else(expected)?;
    let kind = before.split_ascii_whitespace().next().ok_or_else(expected)?;
    let nowhere = NOWHERE.iter().find(|(name, _)| *name == kind);
    let origin = marks.rsplit_once("[AS").map(|(_, number)| number);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    Ok(Open {
        line,
        prefix,
        // `!` is a primary route that the kernel refused.
        primary: matches!(marks.split_ascii_whitespace().next(), Some("*" | "!")),
        hops: match nowhere {
            Some((_, name)) => vec![Hop::nowhere(name)],
            None => hop(before)?.into_iter().collect(),
        },
        origin: origin.and_then(|number| number[..digits(number)].parse().ok()),
        protocol: protocol.split_ascii_whitespace().next().unwrap_or_default().to_owned(),
    })
}

/// Reads `via ADDRESS on INTERFACE`, or `dev INTERFACE`, wherever it begins; `None` for an
/// attribute line.
fn hop(text: &str) -> Result<Option<Hop>, String> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next();
    match first {
        Some("via") => {
            let address = words.next().unwrap_or_default().parse();
            let address =
                address.map_err(|_| format!("expected an address after via in {}", quoted(text.trim())))?;
            let interface = if words.next() == Some("on") { words.next() } else { None };
            let weight = words.skip_while(|&word| word != "weight").nth(1);
            Ok(Hop::through(Some(address), interface, weight.and_then(|weight| weight.parse().ok())))
        }
        Some("dev") => {
            let interface =
                words.next().ok_or("expected an interface after dev, found the end of the line")?;
            Ok(Hop::through(None, Some(interface), None))
        }
        _ => Ok(None),
    }
}

/// Returns whether a line is one of `show route`.
fn is_line(line: &str) -> bool {
    const KINDS: [&str; 4] = ["unicast", "multipath", "via", "dev"];
    if line.starts_with("BIRD ") && line.contains("ready") {
        return true;
    }
    let Some((word, rest)) = line.split_once([' ', '\t']) else { return false };
    let kind = rest.split_ascii_whitespace().next().unwrap_or_default();
    if !KINDS.contains(&kind) && !NOWHERE.iter().any(|(name, _)| *name == kind) {
        return false; // a value of the text format may have brackets too
    }
    scan::prefix(word.as_bytes(), true).is_ok_and(|prefix| route(1, Some(prefix), rest).is_ok())
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
        assert_eq!(notes, ["route of table red", "route of table vpn4"]);
        assert_eq!(of(&text, Some("red")).unwrap().0, ["10.0.0.0/8 192.0.2.2 dev eth0"]);
        assert_eq!(of(&table("red", 2), None).unwrap().0, ["10.0.0.0/8 192.0.2.2 dev eth0"]);
        let error = of(&text, Some("vpn4")).unwrap_err();
        assert_eq!(error, "memory, line 9: \"65000:1\" is not an ipv6 prefix (expected address/length)");
        let error = of(&[&table("red", 2), vpn].concat(), None).unwrap_err();
        assert_eq!(error, "memory, line 1: no table master, name one of red, vpn4 by --routing-table");
        assert!(
            of(&text, Some("blue")).unwrap_err().ends_with("no table blue (there are master4, red, vpn4)")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Bird, text);
        assert_eq!(
            error("10.0.0.0/8 unicast\n"),
            "memory, line 1: expected a route of BIRD, found \"unicast\""
        );
        assert_eq!(
            error("10.0.0.0/8 unicast [a b] * (1)\n11.0.0.0/8 blackhole [a] *\n"),
            "memory, line 1: 10.0.0.0/8 has no hop (expected via, dev, or a type that does not forward)"
        );
        assert!(error("  unicast [a b] * (1)\n").contains("expected a route of BIRD"));
        assert!(
            error("\u{c}ab\u{80}\n").contains("is not a prefix"),
            "white space of another kind before a word"
        );
        let options = ReadOptions { format: Some(Format::Bird), keep_going: true, ..Default::default() };
        let text = b"10.0.0.1/8 blackhole [a] *\n      blackhole [b]\n11.0.0.0/8 blackhole [a] *\n";
        let loaded = parse(text, &options).unwrap();
        assert_eq!((loaded.tables.ipv4.len(), loaded.damage.len()), (1, 1));
    }
}
