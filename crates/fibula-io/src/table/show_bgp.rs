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
//! The route marked `>` is taken. A network without a length has that of its class. A network or a
//! next hop that is too long for its column ends its line.
//!
//! FRR's `vrf all` has a heading before each VRF, `Instance red:`. The VRF `default` is read, or
//! the one that is asked for, or the only one. A text without such headings does not name its VRF.

use super::ReadOptions;
use super::bgp::{BestRoutes, Route};
use super::bgpdump::as_path;
use super::builder::Builder;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
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

/// A VRF with routes.
struct Vrf {
    name: String,
    first: Place,
    count: u64,
    routes: BestRoutes,
}

/// A route whose line ended early.
struct Broken {
    marks: String,
    next_hop: Option<IpAddr>,
}

struct Reading<'o> {
    options: &'o ReadOptions,
    choice: Choice<'o>,
    /// The VRF that is read now, and the AS of its daemon.
    vrf: String,
    local_as: Option<u32>,
    vrfs: Vec<Vrf>,
    /// Where AS paths begin, in a table whose heading was read.
    path_column: Option<usize>,
    has_heading: bool,
    prefix: Option<IpPrefix>,
    broken: Option<Broken>,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let choice = Choice::of_vrf(options.vrf.as_deref());
    let vrf = choice.asked.unwrap_or("default").to_owned();
    let (vrfs, local_as, path_column, prefix, broken) = (Vec::new(), None, None, None, None);
    let has_heading = false;
    let mut reading =
        Reading { options, choice, vrf, local_as, vrfs, path_column, has_heading, prefix, broken };
    builder.each_line(blocks, |number, line, builder| {
        reading.line(Place::Line(number), line)?;
        Ok(builder.beside(Place::Line(number), reading.vrfs.iter().map(|vrf| vrf.routes.bytes()).sum())?)
    })?;
    if !reading.has_heading {
        builder.damaged(Damage::line(1, "expected a heading with Network, Next Hop and Path"))?;
    }
    reading.finish(builder)
}

impl Reading<'_> {
    fn line(&mut self, place: Place, line: &str) -> Result<(), String> {
        if let Some((_, rest)) = line.split_once("local AS ") {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            self.local_as = rest[..digits].parse().ok();
        }
        let text = line.trim_end();
        let instance = text.strip_prefix("Instance ").and_then(|name| name.strip_suffix(':'));
        if let Some(name) = instance {
            name.clone_into(&mut self.vrf);
        }
        // What is between this and the heading explains the marks.
        if instance.is_some() || line.starts_with("BGP table version is ") {
            self.path_column = None;
            return Ok(());
        }
        if let Some(column) = path_column(line) {
            (self.path_column, self.has_heading) = (Some(column), true);
            return Ok(());
        }
        if line.contains("Route Distinguisher") {
            return Err("a table of VPNs is not read".into());
        }
        let Some(path_column) = self.path_column else { return Ok(()) };
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
        let mut words = text[start..].split_ascii_whitespace().peekable();
        let Broken { marks, mut next_hop } = if let Some(broken) = self.broken.take() {
            broken
        } else {
            if start < NEXT_HOP_COLUMN {
                self.prefix = None;
                let word = words.next().ok_or_else(expected)?;
                self.prefix = Some(network(word, self.options.mask_host_bits)?);
            }
            Broken { marks: text[..start].trim().to_owned(), next_hop: None }
        };
        if next_hop.is_none() {
            let hop =
                words.next().map(|hop| hop.parse().map_err(|_| format!("{} is no next hop", quoted(hop))));
            next_hop = hop.transpose()?;
        }
        let prefix = self.prefix.ok_or_else(expected)?;
        let (Some(_), Some(_)) = (next_hop, words.peek()) else {
            self.broken = Some(Broken { marks, next_hop });
            return Ok(());
        };
        let path = text.get(path_column..).ok_or_else(expected)?.trim();
        let (path, code) = path.rsplit_once(' ').unwrap_or(("", path));
        if !matches!(code, "i" | "e" | "?" | "I" | "E") {
            return Err(expected());
        }
        let (as_path, communities) = (Some(as_path(path)?), Vec::new());
        let (is_best, peer) = (marks.contains('>'), None);
        self.push(place, Route { prefix, is_best, next_hop, as_path, communities, peer });
        Ok(())
    }

    /// Adds a route of the present VRF.
    fn push(&mut self, place: Place, route: Route) {
        let known = self.vrfs.iter().position(|vrf| vrf.name == self.vrf);
        let at = known.unwrap_or(self.vrfs.len());
        if known.is_none() {
            let mut routes = BestRoutes::default();
            routes.local_as = self.local_as;
            self.vrfs.push(Vrf { name: self.vrf.clone(), first: place, count: 0, routes });
        }
        self.vrfs[at].count += 1;
        self.vrfs[at].routes.push(place, route);
    }

    /// Adds the routes of the VRF that is read.
    fn finish(self, builder: &mut Builder) -> Result<(), Damage> {
        let names: Vec<&str> = self.vrfs.iter().map(|vrf| &*vrf.name).collect();
        let chosen = match self.choice.chosen(&names) {
            Ok(chosen) => chosen,
            Err(damage) => return builder.damaged(damage),
        };
        for (vrf, is_read) in self.vrfs.into_iter().zip(chosen) {
            if is_read {
                vrf.routes.finish(self.options, builder)?;
            } else {
                builder.notes([self.choice.left_out(&vrf.name, vrf.count, vrf.first)])?;
            }
        }
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
             *> 2001:db8:2::/48  2001:db8:ffff:ffff::1\n{:45}0             0 64507 i\n\
             *> 2001:db8:3333:4444::/64\n                    2001:db8:ffff:ffff::1\n{:45}0             0 64508 i\n\
             *  172.16.0.0/16    192.0.2.3                              0 64502 i\n\nDisplayed 6 routes and 7 total paths\n",
            "", ""
        );
        let of = |value| parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
        let loaded = of(Value::NextHop);
        assert_eq!(loaded.format, Format::ShowBgp);
        let hops = [
            "10.0.0.0/8 192.0.2.2",
            "10.1.0.0/16 192.0.2.2",
            "11.0.0.0/8 192.0.2.4",
            "192.0.2.0/24 connected",
            "2001:db8:2::/48 2001:db8:ffff:ffff::1",
            "2001:db8:1111:2222::/64 2001:db8::9",
            "2001:db8:3333:4444::/64 2001:db8:ffff:ffff::1",
        ];
        assert_eq!(routes(&loaded), hops);
        assert_eq!(loaded.report.notes[0].what, "prefix without a best route");
        let origins = testing::values(&of(Value::OriginAs));
        assert_eq!(origins, ["64501", "64503,64504", "64505", "64999", "64506", "64507", "64508"]);
        assert_eq!(of(Value::Peer).report.notes[0].what, "route without a known peer");
    }

    #[test]
    fn one_vrf_is_read() {
        let vrf = |name: &str, hop: &str| {
            format!(
                "\nInstance {name}:\n{HEAD}*> 10.0.0.0/8       {hop}                0             0 64501 i\n\nDisplayed 1 routes\n"
            )
        };
        let text = vrf("default", "192.0.2.1") + &vrf("red", "192.0.2.9");
        let of = |text: &str, vrf: Option<&str>| {
            parse(text.as_bytes(), &ReadOptions { vrf: vrf.map(Into::into), ..Default::default() })
        };
        let loaded = of(&text, None).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1"]);
        assert_eq!(loaded.report.notes[0].what, "route of VRF red");
        assert_eq!(routes(&of(&text, Some("red")).unwrap()), ["10.0.0.0/8 192.0.2.9"]);
        assert_eq!(routes(&of(&vrf("red", "192.0.2.9"), None).unwrap()), ["10.0.0.0/8 192.0.2.9"]);
        let error = of(&text, Some("blue")).unwrap_err().to_string();
        assert_eq!(error, "memory, line 1: no VRF blue (there are default, red)");
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
