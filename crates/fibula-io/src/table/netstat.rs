//! The output of `route -n` and `netstat -rn` on Linux, for IPv4, and of `netstat -rn` on the BSDs
//! and macOS.
//!
//! ```text
//! Kernel IP routing table
//! Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
//! 0.0.0.0         192.0.2.1       0.0.0.0         UG    100    0        0 eth0
//!
//! Internet:
//! Destination        Gateway            Flags     Netif Expire
//! default            192.0.2.1          UGS         em0
//! 10.1/16            link#1             U           em1
//! ```
//!
//! Of several routes to one prefix that of the lowest metric (OpenBSD: Prio) is taken, the first of
//! equals. A route with the flag `!` or R is `unreachable`, one with B a `blackhole`. Routes that
//! are not up are left out. The octets that the BSDs leave out of an address are 0; without a
//! length, as many octets as are there are the prefix.

use super::ReadOptions;
use super::builder::{Best, Builder};
use super::hops::{self, Hop};
use super::layouts::{Layout, Lines, Looks, Reader};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| {
        utf8(line)
            .is_ok_and(|line| line.starts_with("Kernel IP routing table") || Columns::of(line).is_some())
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Where the columns are, by the line of their names.
#[derive(Clone, Copy, Default)]
struct Columns {
    /// Linux has a column of masks, the others have prefixes.
    has_masks: bool,
    flags: usize,
    rank: Option<usize>,
    interface: usize,
}

impl Columns {
    /// Returns the columns of a line of names; `None` if it is none.
    fn of(line: &str) -> Option<Self> {
        let names: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
        let has_masks = match names.get(..3)? {
            ["Destination", "Gateway", "Genmask"] => true,
            ["Destination", "Gateway", "Flags"] => false,
            _ => return None,
        };
        let interface = at(&["Iface", "Netif", "Interface"])?;
        Some(Self { has_masks, flags: 2 + usize::from(has_masks), rank: at(&["Metric", "Prio"]), interface })
    }
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut best = Best::new();
    let (mut columns, mut is_ipv6) = (Columns { has_masks: true, flags: 3, rank: None, interface: 7 }, false);
    builder.each_line(blocks, |number, line, builder| {
        let (place, line) = (Place::Line(number), line.trim());
        if let Some(named) = Columns::of(line) {
            columns = named;
            return Ok(());
        }
        match line {
            "Internet:" | "Internet6:" => is_ipv6 = line == "Internet6:",
            "" => {}
            _ if line.starts_with("Kernel ") || line.starts_with("Routing table") => {}
            _ => {
                let (prefix, rank, hop) = route(line, columns, is_ipv6, options)?;
                let Some(hop) = hop else { return Ok(builder.left_out(place, hops::DEAD)?) };
                if let Some(offer) = hops::offer(&[hop], options.value) {
                    best.offer(place, prefix, rank, offer);
                    builder.beside(place, best.bytes())?;
                }
            }
        }
        Ok(())
    })?;
    best.finish(builder)
}

/// Reads a route and its metric. The hop is `None` if the route is not up.
fn route(
    line: &str,
    columns: Columns,
    is_ipv6: bool,
    options: &ReadOptions,
) -> Result<(IpPrefix, u32, Option<Hop>), String> {
    let names = if columns.has_masks {
        "destination, gateway, mask and flags"
    } else {
        "destination, gateway and flags"
    };
    let expected = || format!("expected {names}, found {}", quoted(line));
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (&[destination, gateway, third, ..], Some(flags)) = (&words[..], words.get(columns.flags)) else {
        return Err(expected());
    };
    let (address, len) = if columns.has_masks {
        let address = match destination {
            "default" => Ipv4Addr::UNSPECIFIED,
            text => text.parse().map_err(|_| expected())?,
        };
        let mask: Ipv4Addr = third.parse().map_err(|_| expected())?;
        (address.into(), scan::len_of_mask(address.into(), mask.into())?)
    } else {
        abbreviated(destination, is_ipv6).ok_or_else(expected)?
    };
    let prefix = scan::prefix_of(address, len, options.mask_host_bits)?;
    let rank = match columns.rank {
        None => 0,
        Some(column) => words.get(column).and_then(|word| word.parse().ok()).ok_or_else(expected)?,
    };
    for (flag, kind) in [('!', "unreachable"), ('R', "unreachable"), ('B', "blackhole")] {
        if flags.contains(flag) && (flag == '!' || !columns.has_masks) {
            return Ok((prefix, rank, Some(Hop::nowhere(kind))));
        }
    }
    let gateway = match without_zone(gateway).parse::<IpAddr>() {
        Ok(gateway) => Some(gateway).filter(|gateway| !gateway.is_unspecified()),
        // The BSDs name a link or its address where there is no router.
        Err(_) if !columns.has_masks || matches!(gateway, "default" | "*" | "-") => None,
        Err(_) => return Err(expected()),
    };
    let interface = words.get(columns.interface).copied();
    Ok((prefix, rank, Hop::through(gateway, interface, None).filter(|_| flags.contains('U'))))
}

/// Returns an address without the interface that it is of.
fn without_zone(address: &str) -> &str {
    address.split('%').next().unwrap_or(address)
}

/// Reads a destination of the BSDs: `default`, `10.1/16`, `127`, `fe80::%em0/64`.
fn abbreviated(text: &str, is_ipv6: bool) -> Option<(IpAddr, u8)> {
    if text == "default" {
        let all = if is_ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        return Some((all, 0));
    }
    let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
    let len = len.map(str::parse::<u8>).transpose().ok()?;
    if is_ipv6 {
        return Some((without_zone(address).parse::<Ipv6Addr>().ok()?.into(), len.unwrap_or(128)));
    }
    let mut octets = [0; 4];
    let mut count = 0;
    for octet in without_zone(address).split('.') {
        *octets.get_mut(count)? = octet.parse().ok()?;
        count += 1;
    }
    Some((IpAddr::from(octets), len.unwrap_or(8 * count as u8)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    const HEAD: &str = "Kernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n";

    #[test]
    fn the_lowest_metric_wins() {
        let text = format!(
            "{HEAD}0.0.0.0 192.0.2.1 0.0.0.0 UG 100 0 0 eth0\n0.0.0.0 192.0.2.2 0.0.0.0 UG 50 0 0 eth1\n\
             192.0.2.0 0.0.0.0 255.255.255.0 U 0 0 0 eth0\n10.0.0.0 - 255.0.0.0 !H 0 - 0 -\n"
        );
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Netstat);
        let expected = ["0.0.0.0/0 192.0.2.2 dev eth1", "10.0.0.0/8 unreachable", "192.0.2.0/24 dev eth0"];
        assert_eq!(routes(&loaded), expected);
        let netstat = b"Kernel IP routing table\nDestination Gateway Genmask Flags MSS Window irtt Iface\n\
            default 192.0.2.1 0.0.0.0 UG 0 0 0 eth0\n";
        assert_eq!(
            routes(&parse(netstat, &ReadOptions::default()).unwrap()),
            ["0.0.0.0/0 192.0.2.1 dev eth0"]
        );
    }

    #[test]
    fn both_families_of_the_bsds() {
        let text = b"Routing tables\n\nInternet:\nDestination Gateway Flags Netif Expire\n\
            default 192.0.2.1 UGS em0\n10.1/16 link#1 U em1\n127 127.0.0.1 UCS lo0\n\
            192.0.2.1 ff:ff:ff:ff:ff:ff UHLWIi em0 1193\n198.51.100.0/24 127.0.0.1 UGSB lo0\n\n\
            Internet6:\nDestination Gateway Flags Netif Expire\n::/96 ::1 UGRS lo0\n\
            default fe80::1%em0 UGS em0\nfe80::%em0/64 link#1 U em0\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Netstat);
        let expected = [
            "0.0.0.0/0 192.0.2.1 dev em0",
            "10.1.0.0/16 dev em1",
            "127.0.0.0/8 127.0.0.1 dev lo0",
            "192.0.2.1/32 dev em0",
            "198.51.100.0/24 blackhole",
            "::/0 fe80::1 dev em0",
            "::/96 unreachable",
            "fe80::/64 dev em0",
        ];
        assert_eq!(routes(&loaded), expected);
        let openbsd = b"Routing tables\n\nInternet:\n\
            Destination        Gateway            Flags   Refs      Use   Mtu  Prio Iface\n\
            default            192.0.2.1          UGS        5     1000     -    56 em0\n\
            default            192.0.2.2          UGS        5     1000     -     8 em1\n";
        let loaded = parse(openbsd, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["0.0.0.0/0 192.0.2.2 dev em1"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |row: &str| testing::error(Format::Netstat, &format!("{HEAD}{row}\n"));
        assert_eq!(
            error("10.0.0.0 x 255.0.0.0 U 0 0 0 a"),
            "memory, line 3: expected destination, gateway, mask and flags, found \"10.0.0.0 x 255.0.0.0 U 0 0 0 a\""
        );
        assert_eq!(
            error("10.0.0.0 * 255.0.255.0 U 0 0 0 a"),
            "memory, line 3: 255.0.255.0 is no netmask of 10.0.0.0"
        );
        assert_eq!(
            testing::error(Format::Netstat, "Destination Gateway Flags Netif\n10.1.2.3.4/16 link#1 U em1\n"),
            "memory, line 2: expected destination, gateway and flags, found \"10.1.2.3.4/16 link#1 U em1\""
        );
    }
}
