//! The output of `route -n` and `netstat -rn` on Linux, for IPv4.
//!
//! ```text
//! Kernel IP routing table
//! Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
//! 0.0.0.0         192.0.2.1       0.0.0.0         UG    100    0        0 eth0
//! ```
//!
//! Of several routes to one prefix that of the lowest metric is taken, the first of equals. A route
//! with the flag `!` is `unreachable`. Routes that are not up are left out.

use super::ReadOptions;
use super::builder::{Best, Builder};
use super::hops::{self, Hop};
use super::layouts::{Layout, Lines, Looks, Reader};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::Ipv4Addr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| {
        utf8(line).is_ok_and(|line| line.starts_with("Kernel IP routing table") || is_heading(line))
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Returns whether a line has the names of the columns.
fn is_heading(line: &str) -> bool {
    line.split_ascii_whitespace().take(4).eq(["Destination", "Gateway", "Genmask", "Flags"])
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut best = Best::new();
    let mut metric = None;
    builder.each_line(blocks, |number, line, builder| {
        let place = Place::Line(number);
        if is_heading(line) {
            metric = line.split_ascii_whitespace().position(|word| word == "Metric");
            return Ok(());
        }
        if line.trim().is_empty() || line.starts_with("Kernel ") {
            return Ok(());
        }
        let (prefix, rank, hop) = route(line, metric, options)?;
        let Some(hop) = hop else { return Ok(builder.left_out(place, hops::DEAD)?) };
        if let Some(offer) = hops::offer(&[hop], options.value) {
            best.offer(place, prefix, rank, offer);
            builder.beside(place, best.bytes())?;
        }
        Ok(())
    })?;
    best.finish(builder)
}

/// Reads a route and its metric. The hop is `None` if the route is not up.
fn route(
    line: &str,
    metric: Option<usize>,
    options: &ReadOptions,
) -> Result<(IpPrefix, u32, Option<Hop>), String> {
    let expected = || format!("expected destination, gateway, mask and flags, found {}", quoted(line.trim()));
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [destination, gateway, mask, flags, ..] = words[..] else { return Err(expected()) };
    let address = |text: &str| match text {
        "default" | "*" | "-" => Ok(Ipv4Addr::UNSPECIFIED),
        text => text.parse().map_err(|_| expected()),
    };
    let (destination, gateway) = (address(destination)?, address(gateway)?);
    let mask: Ipv4Addr = mask.parse().map_err(|_| expected())?;
    let len = scan::len_of_mask(destination.into(), mask.into())?;
    let prefix = scan::prefix_of(destination, len, options.mask_host_bits)?;
    let rank = match metric {
        None => 0,
        Some(column) => words.get(column).and_then(|word| word.parse().ok()).ok_or_else(expected)?,
    };
    if flags.contains('!') {
        return Ok((prefix, rank, Some(Hop::nowhere("unreachable"))));
    }
    let gateway = (!gateway.is_unspecified()).then_some(gateway.into());
    let interface = words.last().copied().filter(|_| words.len() > 4);
    Ok((prefix, rank, Hop::through(gateway, interface, None).filter(|_| flags.contains('U'))))
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
    }
}
