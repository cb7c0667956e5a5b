//! ipset and nft: sets of random prefixes, as each prints them, and whether each finds an address.

use super::drawn::Drawn;
use super::kernel::Space;
use super::running::printed;
use fastrand::Rng;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// A program that keeps sets of addresses.
pub(crate) struct Firewall {
    pub(crate) name: &'static str,
    /// Returns what it is told to fill a set of a family.
    script: fn(&[Drawn], bool, &mut Rng) -> String,
    /// How it is told.
    load: &'static [&'static str],
    /// The questions that print the set.
    pub(crate) questions: &'static [&'static str],
    /// Asks whether an address is in the set, which has a name of the family.
    test: fn(&mut Command, &str, IpAddr),
}

pub(crate) const IPSET: Firewall = Firewall {
    name: "ipset",
    script: |routes, is_ipv6, random| {
        let (set, family) = if is_ipv6 { ("six", "inet6") } else { ("four", "inet") };
        let mut text = format!("create {set} hash:net family {family} comment counters timeout 0\n");
        for route in routes {
            let _ = write!(text, "add {set} {}", route.prefix);
            for (one_in, more) in [(4, " timeout 900"), (5, " packets 7 bytes 9")] {
                text += if random.u8(..one_in) == 0 { more } else { "" };
            }
            let comments =
                ["", "", " comment \"nomatch\"", " comment \"10.0.0.0/8 timeout\"", " comment \"a -b\""];
            text += comments[random.usize(..comments.len())];
            text += "\n";
        }
        text
    },
    load: &["-exist", "restore"],
    questions: &["save", "list", "list -sorted", "list -output save"],
    test: |command, set, address| {
        command.args(["test", set, &address.to_string()]);
    },
};

pub(crate) const NFT: Firewall = Firewall {
    name: "nft",
    script: |routes, is_ipv6, random| {
        let (set, kind) = if is_ipv6 { ("six", "ipv6_addr") } else { ("four", "ipv4_addr") };
        let mut text = format!(
            "add table inet filter\nadd set inet filter {set} {{ type {kind}; flags interval,timeout; auto-merge; }}\n"
        );
        for route in routes {
            let more = ["", "", " timeout 1h", " comment \"10.0.0.0/8, }\""][random.usize(..4)];
            let _ = writeln!(text, "add element inet filter {set} {{ {}{more} }}", route.prefix);
        }
        text
    },
    load: &["-f", "-"],
    questions: &["list ruleset", "-n -s list ruleset", "-a list ruleset", "list sets"],
    test: |command, set, address| {
        command.args(["get", "element", "inet", "filter", set, &format!("{{ {address} }}")]);
    },
};

impl Firewall {
    /// Fills a set of each family. Returns whether the program is there; if not, that is said.
    pub(crate) fn load(&self, space: &Space, routes: &[Drawn], random: &mut Rng) -> bool {
        for is_ipv6 in [false, true] {
            let of_family: Vec<Drawn> = routes
                .iter()
                .filter(|route| route.is_ipv6() == is_ipv6 && route.prefix.len() > 0)
                .cloned()
                .collect();
            let script = (self.script)(&of_family, is_ipv6, random);
            let mut command = space.command(self.name);
            let mut process = command.args(self.load).stdin(Stdio::piped()).spawn().unwrap();
            process.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            if !process.wait().unwrap().success() {
                println!("skipped: {} keeps no set here (`cargo xtask setup` installs it)", self.name);
                return false;
            }
        }
        true
    }

    pub(crate) fn text(&self, space: &Space, question: &str) -> Vec<u8> {
        printed(space.command(self.name).args(question.split(' ')))
    }

    pub(crate) fn has(&self, space: &Space, address: IpAddr) -> bool {
        let mut command = space.command(self.name);
        (self.test)(&mut command, if address.is_ipv6() { "six" } else { "four" }, address);
        command.output().unwrap().status.success()
    }
}
