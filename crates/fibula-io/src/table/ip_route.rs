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
//! Of several hops the first is taken. Of several routes to one prefix the kernel uses the one with
//! the lowest metric, the first of equals; so does this reader. Routes that do not forward
//! (`blackhole`, `unreachable`, `prohibit`, `throw`) keep their type as label. Routes of other
//! routing tables than `main` (`ip route show table all`) are skipped. `default` is of its
//! gateway's family; without a gateway, of the family of the other lines.

use super::ReadOptions;
use super::builder::{Best, Builder};
use super::layouts::Lines;
use crate::Damage;
use crate::scan::{self, lines, quoted, utf8};
use fibula::{IpPrefix, NextHopInfo, Prefix};
use std::net::IpAddr;

/// Route types that do not forward.
const LABELS: [&str; 4] = ["blackhole", "unreachable", "prohibit", "throw"];
/// Route types that do.
const FORWARDING: [&str; 5] = ["unicast", "local", "broadcast", "multicast", "anycast"];

/// A route whose hop may still follow on the next lines.
struct Open {
    line: u64,
    prefix: IpPrefix,
    metric: u32,
    hop: Option<NextHopInfo>,
}

pub(super) fn read(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Damage> {
    let default = default_prefix(blocks.peek());
    let mut best = Best::new();
    let mut open: Option<Open> = None;
    // Whether continuation lines belong to a skipped route.
    let mut skipping = true;
    let mut close = |open: Option<Open>, builder: &mut Builder| {
        let Some(route) = open else { return Ok(()) };
        let Some(hop) = route.hop else {
            let what = format!("{} has no hop (expected via, dev, or nexthop lines)", route.prefix);
            return builder.damaged(Damage::line(route.line, what));
        };
        best.offer(route.line, route.prefix, route.metric, hop);
        Ok(())
    };
    blocks.each_line(|number, line| {
        let line = match line.and_then(utf8) {
            Ok(line) => line,
            Err(what) => return builder.damaged(Damage::line(number, what)),
        };
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with([' ', '\t']) {
            match (&mut open, words(line)) {
                (Some(route), Ok(words)) if line.trim_start().starts_with("nexthop") => {
                    if route.hop.is_none() {
                        route.hop = words.hop();
                    }
                }
                (None, _) if !skipping => {}
                (_, Err(what)) => builder.damaged(Damage::line(number, what))?,
                _ => {
                    let what = format!("expected a route or its nexthop, found {}", quoted(line.trim()));
                    builder.damaged(Damage::line(number, what))?;
                }
            }
            return Ok(());
        }
        close(open.take(), builder)?;
        skipping = false;
        match route(number, line, default, options.mask_host_bits) {
            Ok(route) => open = route,
            Err(what) => builder.damaged(Damage::line(number, what))?,
        }
        Ok(())
    })?;
    close(open, builder)?;
    best.finish(builder)
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

/// Reads a route line; `None` if it is of another routing table.
fn route(line: u64, text: &str, default: IpPrefix, mask_host_bits: bool) -> Result<Option<Open>, String> {
    let mut rest = text.split_ascii_whitespace();
    let mut word = rest.next().unwrap_or_default();
    let mut kind = None;
    if LABELS.contains(&word) || FORWARDING.contains(&word) {
        kind = LABELS.contains(&word).then_some(word);
        word = rest.next().ok_or_else(|| format!("expected a prefix after {}", quoted(word)))?;
    }
    let words = words(text)?;
    if words.table.is_some_and(|table| !["main", "default", "254", "253"].contains(&table)) {
        return Ok(None);
    }
    let prefix = if word == "default" {
        match words.via {
            Some(IpAddr::V4(_)) => IpPrefix::V4(Prefix::ALL),
            // An IPv4 route may go through an IPv6 gateway; it is then written `via inet6`.
            Some(IpAddr::V6(_)) if !words.other_family => IpPrefix::V6(Prefix::ALL),
            _ => default,
        }
    } else {
        scan::prefix(word.as_bytes(), mask_host_bits)?
    };
    let hop = match kind {
        Some(kind) => Some(NextHopInfo::Label(kind.into())),
        None => words.hop(),
    };
    Ok(Some(Open { line, prefix, metric: words.metric, hop }))
}

/// The fields of a line that matter here.
#[derive(Default)]
struct Words<'a> {
    via: Option<IpAddr>,
    other_family: bool,
    dev: Option<&'a str>,
    metric: u32,
    table: Option<&'a str>,
}

impl Words<'_> {
    fn hop(&self) -> Option<NextHopInfo> {
        (self.via.is_some() || self.dev.is_some())
            .then(|| NextHopInfo::Gateway { address: self.via, interface: self.dev.map(Into::into) })
    }
}

fn words(line: &str) -> Result<Words<'_>, String> {
    let mut found = Words::default();
    let mut words = line.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            // A later hop on the same line (`ip -o route`) does not count.
            "nexthop" if found.hop().is_some() => break,
            "via" if found.via.is_none() => {
                found.other_family = words.next_if(|w| ["inet", "inet6"].contains(w)).is_some();
                let address = words.next().unwrap_or_default();
                let address = address.parse();
                found.via =
                    Some(address.map_err(|_| format!("expected an address after via in {}", quoted(line)))?);
            }
            "dev" if found.dev.is_none() => {
                found.dev =
                    Some(words.next().ok_or("expected an interface after dev, found the end of the line")?);
            }
            "metric" => {
                let metric = words.next().and_then(|metric| metric.parse().ok());
                found.metric =
                    metric.ok_or_else(|| format!("expected a number after metric in {}", quoted(line)))?;
            }
            "table" => found.table = words.next(),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns whether a line is one of `ip route`.
pub(super) fn is_line(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let Some(first) = words.next() else { return false };
    if LABELS.contains(&first) || FORWARDING.contains(&first) {
        return words
            .next()
            .is_some_and(|word| word == "default" || scan::prefix(word.as_bytes(), true).is_ok());
    }
    let next = ["via", "dev", "proto", "scope", "metric", "nhid", "src", "table"];
    (first == "default" || scan::prefix(first.as_bytes(), true).is_ok())
        && words.next().is_some_and(|word| next.contains(&word))
        // `10.0.0.0/8 dev eth0` is a line of the text format too and means the same there.
        && words.nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

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
