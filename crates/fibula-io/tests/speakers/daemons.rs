//! FRR, BIRD and GoBGP: their configuration, and what they have chosen.

use super::Best;
use super::network::{Drawn, LOCAL_AS, Network, ROUTER};
use super::running::{Running, printed};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The port of the station in the router's namespace.
pub(crate) const BMP_PORT: u16 = 11_019;

/// A daemon that speaks BGP.
pub(crate) trait Daemon {
    /// Starts it in the router's namespace.
    fn start(&mut self, network: &Network, drawn: &Drawn);
    /// Returns the number of paths that it has.
    fn paths(&self, network: &Network) -> usize;
    /// Returns the next hop of the best route of each prefix.
    fn best(&self, network: &Network) -> Best;
    /// Returns its routes as it prints them, each text with its question.
    fn texts(&self, network: &Network) -> Vec<(String, Vec<u8>)>;
}

/// FRR's `bgpd` alone: every next hop counts as reachable. Of equal paths it takes the oldest
/// unless it is told to compare identifiers, and pairs in the order in which they came unless
/// `deterministic-med`.
#[derive(Debug)]
pub(crate) struct Frr(Running);

impl Frr {
    const BGPD: &str = "/usr/lib/frr/bgpd";

    pub(crate) fn new() -> Option<Self> {
        Running::new(Self::BGPD, "--version").map(Self)
    }

    pub(crate) fn updates(&self) -> PathBuf {
        self.0.at("updates.mrt")
    }

    pub(crate) fn dump(&self) -> PathBuf {
        self.0.at("rib.mrt")
    }

    fn ask(&self, question: &str) -> Vec<u8> {
        let mut command = Command::new("vtysh");
        printed(command.arg("--vty_socket").arg(self.0.folder()).args(["-c", question]))
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.ask("show bgp ipv4 unicast json")).unwrap_or_default()
    }
}

impl Daemon for Frr {
    fn start(&mut self, network: &Network, drawn: &Drawn) {
        let (updates, dump) = (self.updates(), self.dump());
        let mut lines = vec![
            format!("router bgp {LOCAL_AS}"),
            format!("bgp router-id {ROUTER}"),
            "no bgp ebgp-requires-policy".into(),
            "bgp bestpath compare-routerid".into(),
            "bgp deterministic-med".into(),
        ];
        for peer in &drawn.peers {
            lines.push(format!("neighbor {} remote-as {}", peer.address, peer.asn));
            lines.push(format!("neighbor {} passive", peer.address));
            // What BMP tells before policy are the routes that are kept for this.
            lines.push(format!("neighbor {} soft-reconfiguration inbound", peer.address));
        }
        lines.extend([
            "bmp targets station".into(),
            format!("bmp connect 127.0.0.1 port {BMP_PORT} min-retry 100 max-retry 200"),
            "bmp monitor ipv4 unicast pre-policy".into(),
            "exit".into(),
            "exit".into(),
            format!("dump bgp all-et {}", updates.display()),
            format!("dump bgp routes-mrt {} 1", dump.display()),
        ]);
        fs::write(self.0.at("conf"), lines.join("\n") + "\n").unwrap();
        let mut command = network.router_command(Self::BGPD);
        command.args(["-M", "bmp", "-Z", "-n", "-S", "-p", "179", "-u", "root", "-g", "root", "-f"]);
        command.arg(self.0.at("conf")).arg("-i").arg(self.0.at("pid"));
        command.arg("--vty_socket").arg(self.0.folder()).arg("-z").arg(self.0.at("zserv.api"));
        self.0.start(&mut command);
    }

    fn paths(&self, _: &Network) -> usize {
        let json = self.json();
        let routes = json["routes"].as_object();
        routes.map_or(0, |routes| routes.values().map(|paths| paths.as_array().map_or(0, Vec::len)).sum())
    }

    fn best(&self, _: &Network) -> Best {
        let json = self.json();
        let best = |(prefix, paths): (&String, &Value)| {
            let best = paths.as_array()?.iter().find(|path| path["bestpath"] == true)?;
            Some((prefix.clone(), best["nexthops"][0]["ip"].as_str()?.to_owned()))
        };
        json["routes"].as_object().unwrap().iter().filter_map(best).collect()
    }

    fn texts(&self, _: &Network) -> Vec<(String, Vec<u8>)> {
        let questions = ["show bgp ipv4 unicast", "show bgp ipv4 unicast json", "show bgp ipv4 unicast wide"];
        questions.map(|question| (question.to_owned(), self.ask(question))).to_vec()
    }
}

/// BIRD. It compares pairs in the order in which they came. With `deterministic med`, version
/// 2.0.12 is left with a path that its own rules do not choose, for some prefixes after a
/// withdrawal.
#[derive(Debug)]
pub(crate) struct Bird(Running);

impl Bird {
    pub(crate) fn new() -> Option<Self> {
        Running::new("bird", "--version").map(Self)
    }

    pub(crate) fn updates(&self) -> PathBuf {
        self.0.at("updates.mrt")
    }

    /// Has it dump its table.
    pub(crate) fn dump(&self, network: &Network) -> PathBuf {
        let path = self.0.at("rib.mrt");
        self.ask(network, &format!("mrt dump table master4 to \"{}\"", path.display()));
        path
    }

    fn ask(&self, network: &Network, question: &str) -> String {
        let mut command = network.router_command("birdc");
        command.arg("-s").arg(self.0.at("ctl")).args(question.split(' '));
        String::from_utf8(printed(&mut command)).unwrap()
    }
}

impl Daemon for Bird {
    fn start(&mut self, network: &Network, drawn: &Drawn) {
        let mut text = format!(
            "router id {ROUTER};\nmrtdump \"{}\";\nprotocol device {{ }}\n",
            self.updates().display()
        );
        for (number, peer) in (1..).zip(&drawn.peers) {
            writeln!(
                text,
                "protocol bgp p{number} {{ local {ROUTER} as {LOCAL_AS}; neighbor {} as {}; direct; passive; \
                 mrtdump all; ipv4 {{ import all; export none; }}; }}",
                peer.address, peer.asn
            )
            .unwrap();
        }
        fs::write(self.0.at("conf"), text).unwrap();
        let mut command = network.router_command("bird");
        command.arg("-f").arg("-c").arg(self.0.at("conf")).arg("-s").arg(self.0.at("ctl"));
        self.0.start(&mut command);
    }

    fn paths(&self, network: &Network) -> usize {
        let text = self.ask(network, "show route count");
        let line = text.lines().find(|line| line.contains("master4"));
        line.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0)
    }

    fn best(&self, network: &Network) -> Best {
        let text = self.ask(network, "show route primary");
        let mut prefix = String::new();
        let mut best = Best::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [first, "unicast", ..] => first.clone_into(&mut prefix),
                ["via", next_hop, ..] => drop(best.insert(prefix.clone(), next_hop.to_owned())),
                _ => {}
            }
        }
        best
    }

    fn texts(&self, network: &Network) -> Vec<(String, Vec<u8>)> {
        let questions = ["show route", "show route all", "show route primary", "show route primary all"];
        questions.map(|question| (question.to_owned(), self.ask(network, question).into_bytes())).to_vec()
    }
}

/// The file of GoBGP's updates, in the folder where it runs. It takes the name for a layout of
/// times: a 1 in the random name of a folder is the month.
const UPDATES: &str = "updates.mrt";

/// GoBGP. Of equal paths it takes the oldest unless it is told to compare identifiers.
#[derive(Debug)]
pub(crate) struct GoBgp {
    running: Running,
    monitors: &'static str,
}

impl GoBgp {
    /// `monitors` is the table that it tells the station.
    pub(crate) fn new(monitors: &'static str) -> Option<Self> {
        Running::new("gobgpd", "--version").map(|running| Self { running, monitors })
    }

    pub(crate) fn updates(&self) -> PathBuf {
        self.running.at(UPDATES)
    }

    fn ask(network: &Network, question: &str) -> Vec<u8> {
        printed(network.router_command("gobgp").args(question.split(' ')))
    }

    fn json(network: &Network) -> Value {
        serde_json::from_slice(&Self::ask(network, "global rib -j")).unwrap_or_default()
    }
}

impl Daemon for GoBgp {
    fn start(&mut self, network: &Network, drawn: &Drawn) {
        let mut text = format!(
            "[global.config]\nas = {LOCAL_AS}\nrouter-id = \"{ROUTER}\"\nport = 179\n\
             [global.route-selection-options.config]\nexternal-compare-router-id = true\n\
             [[bmp-servers]]\n[bmp-servers.config]\naddress = \"127.0.0.1\"\nport = {BMP_PORT}\n\
             route-monitoring-policy = \"{}\"\n\
             [[mrt-dump]]\n[mrt-dump.config]\ndump-type = \"updates\"\nrotation-interval = 86400\nfile-name = \"{UPDATES}\"\n",
            self.monitors
        );
        for peer in &drawn.peers {
            writeln!(
                text,
                "[[neighbors]]\n[neighbors.config]\nneighbor-address = \"{}\"\npeer-as = {}\n\
                 [neighbors.transport.config]\npassive-mode = true",
                peer.address, peer.asn
            )
            .unwrap();
        }
        fs::write(self.running.at("conf"), text).unwrap();
        let mut command = network.router_command("gobgpd");
        command.current_dir(self.running.at(""));
        command.arg("-f").arg(self.running.at("conf"));
        self.running.start(&mut command);
    }

    fn paths(&self, network: &Network) -> usize {
        let json = Self::json(network);
        let routes = json.as_object();
        routes.map_or(0, |routes| routes.values().map(|paths| paths.as_array().map_or(0, Vec::len)).sum())
    }

    fn best(&self, network: &Network) -> Best {
        let json = Self::json(network);
        let best = |(prefix, paths): (&String, &Value)| {
            let best = paths.as_array()?.iter().find(|path| path["best"] == true)?;
            let next_hop = best["attrs"].as_array()?.iter().find_map(|it| it["nexthop"].as_str())?;
            Some((prefix.clone(), next_hop.to_owned()))
        };
        json.as_object().unwrap().iter().filter_map(best).collect()
    }

    fn texts(&self, network: &Network) -> Vec<(String, Vec<u8>)> {
        let questions = ["global rib", "global rib -j"];
        questions.map(|question| (question.to_owned(), Self::ask(network, question))).to_vec()
    }
}
