//! iproute2, FRR and BIRD: how each is told of routes, and the ways in which it prints them.

use super::drawn::{Drawn, Hop};
use super::kernel::Space;
use super::running::{Running, printed};
use fastrand::Rng;
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::process::Command;

/// A program that installs routes and prints them.
pub(crate) trait Program {
    fn name(&self) -> &'static str;
    /// Has it install routes, with more that only it has.
    fn install(&mut self, space: &Space, routes: &[Drawn], random: &mut Rng);
    /// Returns what it prints, each with its question, in which a 6 says that it is of IPv6.
    fn texts(&self, space: &Space) -> Vec<(String, Vec<u8>)>;
    /// Whether routes may come to the kernel after it was told.
    fn is_asynchronous(&self) -> bool {
        true
    }
}

/// `ip route`, with all that it can say of a route.
#[derive(Debug)]
pub(crate) struct Iproute2;

impl Iproute2 {
    pub(crate) fn new() -> Option<Self> {
        Command::new("ip").arg("-V").output().ok().map(|_| Self)
    }

    fn hop(hop: &Hop, is_ipv6: bool) -> String {
        let family = hop.via.filter(|via| via.is_ipv6() != is_ipv6).map_or("", |_| "inet6 ");
        let via = hop.via.map(|via| format!("via {family}{via} ")).unwrap_or_default();
        format!("{via}dev {}", hop.dev)
    }

    /// Returns how a route is told, with fields of which some decide who may use it.
    fn line(route: &Drawn, random: &mut Rng) -> String {
        let is_ipv6 = route.is_ipv6();
        let verb = ["add", "append", "prepend", "replace"][random.usize(..4)];
        let mut line = format!("route {verb} {} {} ", route.kind, route.prefix);
        match random.u8(..24) {
            0 => line += "table 100 ",
            1 if !is_ipv6 => line += "tos 0x10 ",
            // Where one of another source has the prefix, the kernel passes over a plain one.
            1 => line = format!("route append 2001:db8:700{}::/48 from 2001:db8:9::/48 ", random.u8(..4)),
            2..=9 => _ = write!(line, "metric {} ", random.u16(1..5) * 100),
            10 => line += "proto static ",
            11 => line += "proto 186 ",
            _ => {}
        }
        match route.hops.as_slice() {
            [] => {}
            [only] => {
                let encapsulation = match random.u8(..10) {
                    0 => "encap ip id 5 dst 198.51.100.9 tos 16 ttl 9 ",
                    1 => "encap ip6 id 7 dst 2001:db8:9::9 hoplimit 3 ",
                    _ => "",
                };
                line += encapsulation;
                line += &Self::hop(only, is_ipv6);
                let more = [
                    "mtu 1400",
                    "mtu lock 1300",
                    "advmss 1200",
                    "initcwnd 20 initrwnd 30",
                    "rto_min 100ms",
                    "quickack 1",
                    "congctl reno",
                    "features ecn",
                    "onlink",
                    "hoplimit 7",
                    "window 1000",
                    "rtt 20ms rttvar 10ms",
                    "realm 4",
                    "pref high",
                    "pref low",
                    "expires 900",
                ];
                if random.u8(..3) == 0 {
                    line += " ";
                    line += more[random.usize(..more.len())];
                }
            }
            several => {
                for hop in several {
                    _ = write!(line, "nexthop {} weight {} ", Self::hop(hop, is_ipv6), hop.weight);
                }
            }
        }
        line
    }
}

impl Program for Iproute2 {
    fn name(&self) -> &'static str {
        "ip"
    }

    fn install(&mut self, space: &Space, routes: &[Drawn], random: &mut Rng) {
        let mut lines = [
            "id 1 via 192.0.0.9 dev d0",
            "id 2 via 192.0.1.9 dev d1",
            "id 3 group 1/2,4",
            "id 4 blackhole",
            "id 6 via fe80::6 dev d2",
            "id 7 via fe80::7 dev d1",
            "id 8 group 6/7",
        ]
        .map(|object| format!("nexthop add {object}"))
        .to_vec();
        for route in routes {
            let objects: &[u8] = if route.is_ipv6() { &[6, 7, 8] } else { &[1, 2, 3, 4, 6] };
            lines.push(match random.u8(..10) {
                0 => format!("route append {} nhid {}", route.prefix, objects[random.usize(..objects.len())]),
                1 => format!("route append throw {}", route.prefix),
                _ => Self::line(route, random),
            });
        }
        // Many are refused: one prefix twice, a field of the other family.
        space.batch(&[], &lines);
    }

    fn texts(&self, space: &Space) -> Vec<(String, Vec<u8>)> {
        let mut texts = Vec::new();
        for family in ["-4", "-6"] {
            for (options, more) in [
                ("", ""),
                ("-j", ""),
                ("-d", ""),
                ("-d -j", ""),
                ("-o", ""),
                ("-s", ""),
                ("-N", ""),
                ("", "table all"),
                ("-j", "table all"),
                ("-j -p", ""),
            ] {
                let question = format!("{family} {options} route show {more}");
                let mut command = space.command("ip");
                texts.push((question.clone(), printed(command.args(question.split_whitespace()))));
            }
        }
        texts
    }

    fn is_asynchronous(&self) -> bool {
        false
    }
}

/// FRR's `zebra` and `staticd`, beside routes that the kernel has from others.
#[derive(Debug)]
pub(crate) struct Frr(Running);

impl Frr {
    const FOLDER: &str = "/usr/lib/frr";

    pub(crate) fn new() -> Option<Self> {
        Running::new(&format!("{}/zebra", Self::FOLDER), "--version").map(Self)
    }

    fn start(&mut self, space: &Space, daemon: &str, configuration: &str) {
        let file = self.0.at(&format!("{daemon}.conf"));
        fs::write(&file, configuration).unwrap();
        let mut command = space.command(&format!("{}/{daemon}", Self::FOLDER));
        command.arg("-f").arg(file).arg("-i").arg(self.0.at(&format!("{daemon}.pid")));
        command.arg("-z").arg(self.0.at("zserv.api")).arg("--vty_socket").arg(self.0.folder());
        command.args(["-A", "127.0.0.1", "-P", "0"]);
        // They run as a user of their own.
        printed(Command::new("chown").args(["-R", "frr:frr"]).arg(self.0.folder()));
        self.0.start(&mut command);
    }

    fn lines(route: &Drawn, random: &mut Rng) -> Vec<String> {
        let start = format!("{} route {} ", if route.is_ipv6() { "ipv6" } else { "ip" }, route.prefix);
        let mut end = String::new();
        if random.u8(..4) == 0 {
            _ = write!(end, " tag {}", random.u16(1..));
        }
        if random.u8(..4) == 0 {
            _ = write!(end, " {}", random.u8(2..255));
        }
        if route.hops.is_empty() {
            let kind =
                if route.kind == "blackhole" { ["blackhole", "Null0"][random.usize(..2)] } else { "reject" };
            return vec![format!("{start}{kind}{end}")];
        }
        let hop = |hop: &Hop| {
            let is_local = matches!(hop.via, Some(IpAddr::V6(via)) if via.segments()[0] == 0xFE80);
            match hop.via {
                None => format!("{start}{}{end}", hop.dev),
                Some(via) if is_local || random.bool() => {
                    let onlink = if random.u8(..4) == 0 { " onlink" } else { "" };
                    format!("{start}{via} {}{onlink}{end}", hop.dev)
                }
                Some(via) => format!("{start}{via}{end}"),
            }
        };
        route.hops.iter().map(hop).collect()
    }
}

impl Program for Frr {
    fn name(&self) -> &'static str {
        "frr"
    }

    fn install(&mut self, space: &Space, routes: &[Drawn], random: &mut Rng) {
        let (own, kernels) = routes.split_at(routes.len() * 9 / 10);
        let mut lines: Vec<String> = own.iter().flat_map(|route| Self::lines(route, random)).collect();
        // By another static route, and by a router that is nowhere.
        lines.extend(
            [
                "ip route 172.16.0.0/24 192.0.0.5",
                "ip route 172.17.0.0/24 172.16.0.9",
                "ip route 172.18.0.0/24 203.0.113.1",
                "ipv6 route 2001:db8:9000::/48 2001:db8:1::5",
                "ipv6 route 2001:db8:9001::/48 2001:db8:9000::9",
            ]
            .map(str::to_owned),
        );
        // What BGP left behind, zebra takes for its own, and removes.
        // It does not tell of a `tos`.
        let line = |route| Iproute2::line(route, random).replace("proto 186", "").replace("tos 0x10", "");
        let kernels = kernels.iter().map(line);
        let kernels: Vec<String> = kernels.collect();
        space.batch(&[], &kernels);
        self.start(space, "zebra", "");
        self.start(space, "staticd", &(lines.join("\n") + "\n"));
        // It answers once it has read its lines.
        self.texts(space);
    }

    fn texts(&self, _: &Space) -> Vec<(String, Vec<u8>)> {
        let questions = [
            "show ip route",
            "show ip route json",
            "show ip route vrf all",
            "show ip route vrf all json",
            "show ipv6 route",
            "show ipv6 route json",
            "show ipv6 route vrf all",
            "show ipv6 route vrf all json",
        ];
        let ask = |question: &str| {
            let mut command = Command::new("vtysh");
            printed(command.arg("--vty_socket").arg(self.0.folder()).args(["-c", question]))
        };
        questions.map(|question| (question.to_owned(), ask(question))).to_vec()
    }
}

/// BIRD with static routes that it exports to the kernel.
#[derive(Debug)]
pub(crate) struct Bird(Running);

impl Bird {
    pub(crate) fn new() -> Option<Self> {
        Running::new("bird", "--version").map(Self)
    }

    fn line(route: &Drawn, random: &mut Rng) -> String {
        let mut line = format!("route {}", route.prefix);
        if route.hops.is_empty() {
            line = format!("{line} {}", route.kind);
        }
        for hop in &route.hops {
            match hop.via {
                None => _ = write!(line, " via \"{}\"", hop.dev),
                Some(via) => _ = write!(line, " via {via}%{}", hop.dev),
            }
            if hop.via.is_some() && random.u8(..4) == 0 {
                line += " onlink";
            }
            if route.hops.len() > 1 {
                _ = write!(line, " weight {}", hop.weight);
            }
        }
        line + ";"
    }
}

impl Program for Bird {
    fn name(&self) -> &'static str {
        "bird"
    }

    fn install(&mut self, space: &Space, routes: &[Drawn], random: &mut Rng) {
        let mut text =
            "router id 192.0.2.1;\nprotocol device { scan time 1; }\nprotocol direct { ipv4; ipv6; }\n"
                .to_owned();
        for channel in ["ipv4", "ipv6"] {
            _ = writeln!(
                text,
                "protocol kernel {{ {channel} {{ import none; export where source = RTS_STATIC; }}; }}"
            );
            for (name, preference) in [("first", 200), ("second", 150)] {
                _ = writeln!(
                    text,
                    "protocol static {name}_{channel} {{ {channel} {{ preference {preference}; }};"
                );
                for route in routes.iter().filter(|route| route.is_ipv6() == (channel == "ipv6")) {
                    if random.u8(..3) > 0 {
                        _ = writeln!(text, "  {}", Self::line(route, random));
                    }
                }
                text += "}\n";
            }
        }
        fs::write(self.0.at("conf"), text).unwrap();
        let mut command = space.command("bird");
        command.arg("-f").arg("-c").arg(self.0.at("conf")).arg("-s").arg(self.0.at("ctl"));
        self.0.start(&mut command);
    }

    fn texts(&self, space: &Space) -> Vec<(String, Vec<u8>)> {
        let mut texts = Vec::new();
        for table in ["master4", "master6"] {
            for more in ["", " all", " primary", " primary all"] {
                let question = format!("show route table {table}{more}");
                let mut command = space.command("birdc");
                command.arg("-s").arg(self.0.at("ctl")).args(question.split(' '));
                texts.push((question, printed(&mut command)));
            }
        }
        texts
    }
}
