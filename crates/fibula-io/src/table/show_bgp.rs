//! `show ip bgp` of FRR, Cisco IOS and Arista EOS as text.
//!
//! ```text
//!    Network          Next Hop            Metric LocPrf Weight Path
//! *> 10.0.0.0/8       192.0.2.2                0             0 64501 i
//! *  10.1.0.0/16      192.0.2.3                              0 64502 64503 i
//! *>                  192.0.2.2                              0 64501 {64503,64504} ?
//! *> 11.0.0.0         192.0.2.4                              0 64505 i
//! ```
//!
//! The route marked `>` is taken. A network without a length has that of its class.

use super::ReadOptions;
use super::bgp::{BestRoutes, Route};
use super::bgpdump::as_path;
use super::builder::Builder;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::show_route::class;
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::{IpAddr, Ipv4Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| {
        utf8(line).is_ok_and(|line| line.starts_with("BGP table version is ") || path_column(line).is_some())
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Returns the column that AS paths begin in, if a line is the heading of the table.
fn path_column(line: &str) -> Option<usize> {
    let is_heading = line.trim_start().starts_with("Network") && line.contains("Next Hop");
    line.find(" Path").filter(|_| is_heading).map(|column| column + 1)
}

#[derive(Default)]
struct Reading {
    path_column: Option<usize>,
    prefix: Option<IpPrefix>,
    /// The marks of a route whose next hop is on the next line.
    marks: Option<String>,
    routes: BestRoutes,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut reading = Reading::default();
    builder.each_line(blocks, |number, line, builder| {
        reading.line(number, line, options)?;
        Ok(builder.beside(Place::Line(number), reading.routes.bytes())?)
    })?;
    if reading.path_column.is_none() {
        builder.damaged(Damage::line(1, "expected a heading with Network, Next Hop and Path"))?;
    }
    reading.routes.finish(options, builder)
}

impl Reading {
    fn line(&mut self, number: u64, line: &str, options: &ReadOptions) -> Result<(), String> {
        if let Some((_, rest)) = line.split_once("local AS ") {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            self.routes.local_as = rest[..digits].parse().ok();
        }
        if let Some(column) = path_column(line) {
            self.path_column = Some(column);
            return Ok(());
        }
        if line.contains("Route Distinguisher") {
            return Err("a table of VPNs is not read".into());
        }
        let Some(path_column) = self.path_column else { return Ok(()) };
        let text = line.trim_end();
        if text.is_empty()
            || text.starts_with("Displayed")
            || text.starts_with("Total")
            || text.ends_with('#')
        {
            return Ok(());
        }
        let expected = || format!("expected a route of BGP, found {}", quoted(text.trim()));
        let is_mark = |c: char| "*>=sdhirSRbfxmacNIV ".contains(c);
        let start = text.find(|c: char| !is_mark(c)).ok_or_else(expected)?;
        let mut marks = text[..start].trim().to_owned();
        let rest = &text[start..];
        let mut words = rest.split_ascii_whitespace();
        let first = words.next().ok_or_else(expected)?;
        let hop = if let Some(before) = self.marks.take() {
            marks = before;
            first
        } else if start < NEXT_HOP_COLUMN {
            self.prefix = None;
            self.prefix = Some(network(first, options.mask_host_bits)?);
            let Some(hop) = words.next() else {
                self.marks = Some(marks);
                return Ok(());
            };
            hop
        } else {
            first
        };
        let prefix = self.prefix.ok_or_else(expected)?;
        let next_hop: IpAddr = hop.parse().map_err(|_| format!("{} is no next hop", quoted(hop)))?;
        let path = text.get(path_column..).ok_or_else(expected)?.trim();
        let (path, code) = path.rsplit_once(' ').unwrap_or(("", path));
        if !matches!(code, "i" | "e" | "?" | "I" | "E") {
            return Err(expected());
        }
        let (as_path, communities) = (Some(as_path(path)?), Vec::new());
        let (is_best, next_hop, peer) = (marks.contains('>'), Some(next_hop), None);
        self.routes
            .push(Place::Line(number), Route { prefix, is_best, next_hop, as_path, communities, peer });
        Ok(())
    }
}

/// What begins after this column is a next hop, not a network.
const NEXT_HOP_COLUMN: usize = 12;

fn network(text: &str, mask_host_bits: bool) -> Result<IpPrefix, String> {
    match text.parse::<Ipv4Addr>() {
        Ok(address) => scan::prefix_of(address, class(address), mask_host_bits),
        Err(_) => scan::prefix(text.as_bytes(), mask_host_bits),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};

    const HEAD: &str = "BGP table version is 3, local router ID is 192.0.2.1, vrf id 0\n\
        Default local pref 100, local AS 64999\nStatus codes:  s suppressed, * valid, > best\n\n   \
        Network          Next Hop            Metric LocPrf Weight Path\n";

    #[test]
    fn the_best_route_of_each_network() {
        let text = format!(
            "{HEAD}*> 10.0.0.0/8       192.0.2.2                0             0 64501 i\n\
             *  10.1.0.0/16      192.0.2.3                              0 64502 64503 i\n\
             *>                  192.0.2.2                              0 64501 {{64503,64504}} ?\n\
             *> 11.0.0.0         192.0.2.4                              0 64505 i\n\
             *> 192.0.2.0        0.0.0.0                  0         32768 i\n\
             *>i2001:db8:1111:2222::/64\n                    2001:db8::9              0    100      0 64506 i\n\
             *  172.16.0.0/16    192.0.2.3                              0 64502 i\n\nDisplayed 6 routes and 7 total paths\n"
        );
        let of = |value| parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
        let loaded = of(Value::NextHop);
        assert_eq!(loaded.format, Format::ShowBgp);
        let hops = [
            "10.0.0.0/8 192.0.2.2",
            "10.1.0.0/16 192.0.2.2",
            "11.0.0.0/8 192.0.2.4",
            "192.0.2.0/24 connected",
            "2001:db8:1111:2222::/64 2001:db8::9",
        ];
        assert_eq!(routes(&loaded), hops);
        assert_eq!(loaded.report.notes[0].what, "prefix without a best route");
        let origins = testing::values(&of(Value::OriginAs));
        assert_eq!(origins, ["64501", "64503,64504", "64505", "64999", "64506"]);
        assert_eq!(of(Value::Peer).report.notes[0].what, "route without a known peer");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |row: &str| testing::error(Format::ShowBgp, &format!("{HEAD}{row}\n"));
        assert_eq!(
            error("*> 10.0.0.0/8       192.0.2.2   64501 x"),
            "memory, line 6: expected a route of BGP, found \"*> 10.0.0.0/8       192.0.2.2   64501 x\""
        );
        assert_eq!(error("Route Distinguisher: 1:1"), "memory, line 6: a table of VPNs is not read");
    }
}
