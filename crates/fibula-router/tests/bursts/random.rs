//! Lines for `ip -batch`, drawn at random. Some of them the kernel refuses, which is as good.

use fastrand::Rng;
use std::net::IpAddr;

/// The interfaces that change. Packets come in by one more, which does not.
pub(crate) const LINKS: [&str; 3] = ["r0", "r1", "r2"];

const PREFIXES: [[&str; 8]; 2] = [
    [
        "20.0.0.0/8",
        "20.1.0.0/16",
        "20.1.1.0/24",
        "20.1.1.1/32",
        "20.2.0.0/16",
        "20.3.0.0/16",
        "0.0.0.0/0",
        "10.98.1.0/24",
    ],
    [
        "2001:db8::/32",
        "2001:db8:1::/48",
        "2001:db8:1:1::/64",
        "2001:db8:1:1::1/128",
        "2001:db8:2::/48",
        "2001:db8:3::/48",
        "::/0",
        "fd98::1:0/112",
    ],
];

/// Addresses of which each is in some prefixes.
const PROBES: [&str; 28] = [
    "20.9.0.1",
    "20.1.9.1",
    "20.1.1.9",
    "20.1.1.1",
    "20.2.0.1",
    "20.3.0.1",
    "21.0.0.1",
    "10.98.1.1",
    "10.98.1.2",
    "10.99.1.1",
    "10.97.1.3",
    "10.77.0.1",
    "10.77.0.2",
    "10.77.0.255",
    "2001:db8:9::1",
    "2001:db8:1:9::1",
    "2001:db8:1:1::9",
    "2001:db8:1:1::1",
    "2001:db8:2::1",
    "2001:db8:3::1",
    "2002::1",
    "fd98::1",
    "fd98::1:1",
    "fd99::1",
    "fd97::3",
    "fd77::1",
    "fd77::2",
    "fd77::99",
];

/// Returns the addresses to ask for.
pub(crate) fn probes() -> Vec<IpAddr> {
    PROBES.iter().map(|text| text.parse().unwrap()).collect()
}

/// Returns lines that give every gateway a MAC address.
pub(crate) fn neighbours() -> Vec<String> {
    let line = |(link, net): (&str, usize), host: usize, address: String| {
        format!("neigh replace {address} dev {link} lladdr 02:00:00:00:{net:02x}:{host:02x} nud permanent")
    };
    let all = LINKS.into_iter().zip([99, 98, 97]).flat_map(|link| (1..=4).map(move |host| (link, host)));
    let of_both = all.flat_map(|(link, host)| {
        let net = link.1;
        [format!("10.{net}.1.{host}"), format!("fd{net}::{host}")].map(|address| line(link, host, address))
    });
    of_both.collect()
}

/// Draws lines.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) Rng);

impl Random {
    fn of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.0.usize(..texts.len())]
    }

    /// A gateway on a link, which one address in four is not.
    fn gateway(&mut self, is_ipv6: bool) -> String {
        let (net, host) = (self.0.u8(97..=99), self.0.u8(1..=4));
        if is_ipv6 { format!("fd{net}::{host}") } else { format!("10.{net}.1.{host}") }
    }

    /// A burst of up to 20 changes.
    pub(crate) fn burst(&mut self) -> Vec<String> {
        let mut lines: Vec<String> = (0..self.0.usize(1..=20)).map(|_| self.line()).collect();
        if self.0.u8(..4) != 0 {
            lines.extend(LINKS.map(|link| format!("link set {link} up")));
        }
        if self.0.u8(..3) == 0 {
            // The addresses of a link go with it, if they are of IPv6.
            lines.extend(
                LINKS
                    .iter()
                    .zip([99, 98, 97])
                    .map(|(link, net)| format!("addr add fd{net}::ffff/64 dev {link} nodad")),
            );
        }
        lines
    }

    fn line(&mut self) -> String {
        match self.0.u8(..20) {
            0..12 => self.route(),
            12..15 => self.object(),
            15 => self.address(),
            16 | 17 => self.neighbour(),
            _ => self.link(),
        }
    }

    fn route(&mut self) -> String {
        let is_ipv6 = self.0.bool();
        let prefix = self.of(&PREFIXES[usize::from(is_ipv6)]);
        let metric = self.of(&["", "", "", " metric 10", " metric 2000"]);
        // A dump of IPv6 leaves out what is between the legs of another route of its metric.
        let alone = if is_ipv6 { self.of(&[" metric 20", " metric 2001"]) } else { metric };
        if self.0.u8(..3) == 0 {
            return match self.0.u8(..4) {
                0 => format!("route del {prefix} via {}{metric}", self.gateway(is_ipv6)),
                1 => format!("route del {prefix} dev {}{alone}", self.of(&LINKS)),
                2 => format!("route del {prefix}{alone}"),
                _ => format!("route del {prefix}{metric}"),
            };
        }
        let verb = self.of(&["add", "append", "append", "prepend", "replace", "replace", "change"]);
        let target = match self.0.u8(..14) {
            0 => format!("dev {}", self.of(&LINKS)),
            1 => return format!("route {verb} blackhole {prefix}{alone}"),
            2 => return format!("route {verb} unreachable {prefix}{alone}"),
            3 => return format!("route {verb} prohibit {prefix}{alone}"),
            4 if !is_ipv6 => return format!("route {verb} throw {prefix}{alone}"),
            // An address of many (AnyIP), in this table or in the local one.
            5 => {
                let (prefix, table) = (PREFIXES[usize::from(is_ipv6)][4], self.of(&["main", "local"]));
                let verb = self.of(&["add", "replace", "del"]);
                return format!("route {verb} local {prefix} dev lo table {table}{alone}");
            }
            6..8 => format!("nhid {}", self.0.u8(1..=12)),
            8..10 => {
                let legs = (0..self.0.usize(2..=3))
                    .map(|_| format!("nexthop via {} weight {}", self.gateway(is_ipv6), self.0.u8(1..=3)));
                return format!("route {verb} {prefix}{metric} {}", legs.collect::<Vec<_>>().join(" "));
            }
            _ => format!("via {}", self.gateway(is_ipv6)),
        };
        let more = match self.0.u8(..8) {
            0 if is_ipv6 => format!(" expires {}", self.0.u8(1..=2)),
            1 if is_ipv6 => format!(" pref {}", self.of(&["low", "high", "medium"])),
            2 if !is_ipv6 && prefix == PREFIXES[0][5] => " tos 0x10".into(),
            3 => " proto bgp".into(),
            4 => " mtu 1400".into(),
            _ => String::new(),
        };
        let metric = if target.starts_with("via") { metric } else { alone };
        format!("route {verb} {prefix} {target}{metric}{more}")
    }

    /// A next-hop object from 1 to 8, of IPv6 from 5 on, or a group from 9 to 12.
    fn object(&mut self) -> String {
        let verb = self.of(&["add", "replace", "replace"]);
        let (leg, group) = (self.0.u8(1..=8), self.0.u8(9..=12));
        match self.0.u8(..8) {
            0 => format!("nexthop del id {leg}"),
            1 => format!("nexthop del id {group}"),
            2 => format!("nexthop {verb} id {leg} blackhole"),
            3 => format!(
                "nexthop {verb} id {leg} encap ip id 7 dst 10.99.1.1 via {} dev {}",
                self.gateway(leg > 4),
                self.of(&LINKS)
            ),
            4 | 5 => {
                let first = if group > 10 { 5 } else { 1 };
                let member =
                    |random: &mut Self| format!("{},{}", random.0.u8(first..first + 4), random.0.u8(1..=3));
                let members: Vec<String> = (0..self.0.usize(1..=3)).map(|_| member(self)).collect();
                format!("nexthop {verb} id {group} group {}", members.join("/"))
            }
            _ => {
                let gateway = self.gateway(leg > 4);
                format!("nexthop {verb} id {leg} via {gateway} dev {}", self.of(&LINKS))
            }
        }
    }

    /// An address that two links may share.
    fn address(&mut self) -> String {
        let (verb, link) = (self.of(&["add", "add", "del"]), self.of(&LINKS));
        let address = self.of(&["10.77.0.1/24", "10.77.0.2/24", "10.77.0.1/32", "fd77::1/64", "fd77::2/128"]);
        let more = if verb == "add" && address.contains(':') { " nodad" } else { "" };
        format!("addr {verb} {address} dev {link}{more}")
    }

    fn neighbour(&mut self) -> String {
        let is_ipv6 = self.0.bool();
        let (gateway, link) = (self.gateway(is_ipv6), self.of(&LINKS));
        match self.0.u8(..4) {
            0 => format!("neigh del {gateway} dev {link}"),
            1 => format!("neigh replace {gateway} dev {link} nud failed"),
            _ => {
                let host = self.0.u8(..);
                format!("neigh replace {gateway} dev {link} lladdr 02:00:00:00:01:{host:02x} nud permanent")
            }
        }
    }

    /// A link that is disabled, loses its carrier, or is removed and comes again.
    fn link(&mut self) -> String {
        let number = self.0.usize(..LINKS.len());
        let (link, net) = (LINKS[number], 99 - number);
        match self.0.u8(..8) {
            0..2 => format!("link set {link} down"),
            2..4 => format!("link set p{number} {}", self.of(&["up", "up", "down"])),
            4 => format!("link set {link} mtu {}", self.of(&["1400", "1500"])),
            5 => format!(
                "link del {link}\nlink add {link} type veth peer name p{number}\nlink set {link} up\n\
                 link set p{number} up\naddr add 10.{net}.255.254/16 dev {link}\n\
                 addr add fd{net}::ffff/64 dev {link} nodad"
            ),
            _ => format!("link set {link} up"),
        }
    }
}
