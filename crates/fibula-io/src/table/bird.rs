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
//! none is marked (as under `show route protocol`), the first is taken. Of several hops the first
//! is taken.

use super::builder::{Best, Builder};
use super::layouts::Lines;
use super::{ReadOptions, Value};
use crate::Damage;
use crate::scan::{self, quoted, utf8};
use fibula::{IpPrefix, NextHopInfo};

/// Types that do not forward.
const LABELS: [&str; 3] = ["blackhole", "unreachable", "prohibit"];

/// One route of a prefix whose lines are being read.
struct Open {
    line: u64,
    prefix: IpPrefix,
    primary: bool,
    hop: Option<NextHopInfo>,
    /// The AS and the protocol, where the line names them.
    origin: Option<u32>,
    protocol: String,
}

pub(super) fn read(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Damage> {
    let mut best = Best::new();
    let mut prefix = None;
    let mut open: Option<Open> = None;
    let mut close = |open: Option<Open>, builder: &mut Builder| {
        let Some(route) = open else { return Ok(()) };
        let value = match options.value {
            Value::NextHop => route.hop.ok_or("no hop (expected via, dev, or a type that does not forward)"),
            Value::OriginAs => route.origin.map(NextHopInfo::AutonomousSystem).ok_or("no origin AS"),
            Value::Peer => Ok(NextHopInfo::Label(route.protocol.as_str().into())),
        };
        match value {
            Ok(value) => best.offer(route.line, route.prefix, !route.primary, value),
            // Routes that did not come by BGP have no AS. Where the AS is asked for, they are
            // skipped.
            Err(_) if options.value == Value::OriginAs => {}
            Err(what) => {
                builder.damaged(Damage::line(route.line, format!("{} has {what}", route.prefix)))?;
            }
        }
        Ok(())
    };
    blocks.each_line(|number, line| {
        let line = match line.and_then(utf8) {
            Ok(line) => line,
            Err(what) => return builder.damaged(Damage::line(number, what)),
        };
        if is_heading(line) {
            return Ok(());
        }
        if line.starts_with('\t') {
            if let Some(route) = &mut open
                && route.hop.is_none()
            {
                match hop(line) {
                    Ok(hop) => route.hop = hop,
                    Err(what) => builder.damaged(Damage::line(number, what))?,
                }
            }
            return Ok(());
        }
        close(open.take(), builder)?;
        let mut rest = line;
        if !line.starts_with(' ') {
            let (word, after) =
                line.split_at(line.find(|c: char| c.is_ascii_whitespace()).unwrap_or(line.len()));
            rest = after;
            match scan::prefix(word.as_bytes(), options.mask_host_bits) {
                Ok(found) => prefix = Some(found),
                Err(what) => {
                    prefix = None;
                    return builder.damaged(Damage::line(number, what));
                }
            }
        }
        match (prefix, route(number, prefix, rest)) {
            // The other routes of a damaged prefix.
            (None, _) if !builder.damage.is_empty() => {}
            (_, Ok(route)) => open = Some(route),
            (_, Err(what)) => builder.damaged(Damage::line(number, what))?,
        }
        Ok(())
    })?;
    close(open, builder)?;
    best.finish(builder)
}

/// Lines between routes.
fn is_heading(line: &str) -> bool {
    let text = line.trim();
    text.is_empty()
        || text.starts_with('#')
        || (text.starts_with("BIRD ") && text.contains("ready"))
        || text.starts_with("Table ")
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
    let label = LABELS.contains(&kind).then(|| NextHopInfo::Label(kind.into()));
    let origin = marks.rsplit_once("[AS").map(|(_, number)| number);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    Ok(Open {
        line,
        prefix,
        primary: marks.split_ascii_whitespace().next() == Some("*"),
        hop: match label {
            Some(label) => Some(label),
            None => hop(before)?,
        },
        origin: origin.and_then(|number| number[..digits(number)].parse().ok()),
        protocol: protocol.split_ascii_whitespace().next().unwrap_or_default().to_owned(),
    })
}

/// Reads `via ADDRESS on INTERFACE`, or `dev INTERFACE`, wherever it begins; `None` for an
/// attribute line.
fn hop(text: &str) -> Result<Option<NextHopInfo>, String> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next();
    match first {
        Some("via") => {
            let address = words.next().unwrap_or_default().parse();
            let address =
                address.map_err(|_| format!("expected an address after via in {}", quoted(text.trim())))?;
            let interface = if words.next() == Some("on") { words.next() } else { None };
            Ok(Some(NextHopInfo::Gateway { address: Some(address), interface: interface.map(Into::into) }))
        }
        Some("dev") => {
            let interface =
                words.next().ok_or("expected an interface after dev, found the end of the line")?;
            Ok(Some(NextHopInfo::Gateway { address: None, interface: Some(interface.into()) }))
        }
        _ => Ok(None),
    }
}

/// Returns whether a line is one of `show route`.
pub(super) fn is_line(line: &str) -> bool {
    if line.starts_with("BIRD ") && line.contains("ready") {
        return true;
    }
    let Some((word, rest)) = line.split_once([' ', '\t']) else { return false };
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
