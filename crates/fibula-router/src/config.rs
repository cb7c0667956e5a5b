//! [`Config`]: what a user says of a router, in TOML.

mod metrics;

pub use metrics::Metrics;

use crate::Error;
use crate::acl::Acl;
use crate::control::{Limits, Settings};
use crate::feed::{Feed, fpm, zebra};
use crate::plane::ReversePath;
use crate::plane::xdp::{self, Ecmp, Tunnel};
use crate::routes::MAIN;
use fibula::ErrorKind;
use nix::unistd::{Group, User, geteuid};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A router as a user wants it. Everything may be left out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The socket that `fibula router status` and its neighbours ask.
    pub socket: PathBuf,
    /// The group whose members may ask too, by name or number.
    pub socket_group: Option<String>,
    /// What is served for Prometheus.
    pub metrics: Metrics,
    /// zebra's feed.
    pub fpm: Fpm,
    /// The kernel's feed.
    pub kernel: Kernel,
    /// The control socket of FRR's bfdd, whose failed sessions hold gateways down; none if left
    /// out.
    pub bfd: Option<PathBuf>,
    /// A table in a file; none if left out.
    pub table: Option<Table>,
    /// What forwards.
    pub plane: PlaneKind,
    /// The name of the plane: a router of the same name takes over from one that was killed.
    pub name: String,
    /// The interfaces whose packets are forwarded. Packets may leave by any.
    pub interfaces: Vec<Incoming>,
    /// How the program runs on them.
    pub mode: Mode,
    /// Whether packets that a rule of the kernel (`ip rule`) may concern are left to the kernel.
    pub obey_rules: bool,
    /// How much feeds may tell.
    pub limits: Limits,
    /// The files of ACLs, by their names.
    pub acl: BTreeMap<String, PathBuf>,
    /// What is told of packets.
    pub sampling: Sampling,
    /// How flows are told apart.
    pub ecmp: Ecmp,
    /// The tunnels whose packets are forwarded.
    pub tunnels: Vec<Tunnel>,
}

/// An interface whose packets are forwarded: its name, or with the table that routes them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Incoming {
    /// The kernel's main table routes them.
    Name(String),
    /// A table routes them.
    Table {
        /// The name of the interface.
        name: String,
        /// The id of the table.
        #[serde(default = "main")]
        table: u32,
        /// The VLAN, if the packets of one are meant: its tag, or two with the outer one first.
        #[serde(default)]
        vlan: Vec<u16>,
        /// What sources its packets may have.
        #[serde(default)]
        urpf: ReversePath,
        /// The name of the ACL that says which of its packets are forwarded.
        acl: Option<String>,
    },
}

fn main() -> u32 {
    MAIN
}

/// How the XDP program runs on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In the driver.
    #[default]
    Native,
    /// After the driver, where that has no XDP. It is slower.
    Generic,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            socket: PathBuf::from(SOCKET),
            socket_group: None,
            metrics: Metrics::default(),
            fpm: Fpm::default(),
            kernel: Kernel::default(),
            bfd: None,
            table: None,
            obey_rules: true,
            plane: PlaneKind::default(),
            name: "main".into(),
            interfaces: Vec::new(),
            mode: Mode::default(),
            limits: Limits::default(),
            acl: BTreeMap::new(),
            sampling: Sampling::default(),
            ecmp: Ecmp::default(),
            tunnels: Vec::new(),
        }
    }
}

/// The socket of a router unless it is told another.
pub const SOCKET: &str = "/run/fibula/router.sock";

/// What forwards packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneKind {
    /// An XDP program on each interface.
    #[default]
    Xdp,
    /// Nothing does: the tables are kept in memory, to be looked at.
    Memory,
}

fn usage(text: impl Into<Cow<'static, str>>) -> Error {
    fibula::Error::new(ErrorKind::Usage, text).into()
}

/// The feed from zebra.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fpm {
    /// Whether there is one.
    pub enabled: bool,
    /// The address that zebra connects to.
    pub listen: SocketAddr,
    /// A Unix socket that it connects to instead.
    pub socket: Option<PathBuf>,
    /// The names or numbers of the users who are taken for zebra, besides this process' own; none
    /// means anybody, also on other machines.
    pub users: Vec<String>,
    /// How long a new session must be quiet before what it did not tell again is removed, seconds.
    pub quiet_s: f64,
    /// The share of the routes before it that a session must tell before the others are removed.
    pub share: f64,
    /// How many routes each session must tell at least.
    pub least: usize,
    /// How long a session that tells less of the share is waited for, seconds.
    pub hold_s: f64,
}

impl Default for Fpm {
    fn default() -> Self {
        let Settings { quiet, share, least, hold, .. } = Settings::default();
        let (quiet_s, hold_s) = (quiet.as_secs_f64(), hold.as_secs_f64());
        let users = ["root", "frr"].map(String::from).into();
        Self {
            enabled: true,
            listen: (Ipv4Addr::LOCALHOST, fpm::PORT).into(),
            socket: None,
            users,
            quiet_s,
            share,
            least,
            hold_s,
        }
    }
}

impl Fpm {
    /// Returns where zebra connects to.
    #[must_use]
    pub fn place(&self) -> zebra::Place {
        self.socket.clone().map_or(zebra::Place::Tcp(self.listen), zebra::Place::Unix)
    }

    /// Returns the ids of the users who are taken for zebra. A name that this machine does not have
    /// is nobody's.
    ///
    /// # Errors
    /// If the machine's list of users cannot be read.
    pub fn users(&self) -> Result<Option<Vec<u32>>, Error> {
        if self.users.is_empty() {
            return Ok(None);
        }
        let mut ids = vec![geteuid().as_raw()];
        for user in &self.users {
            let known = || User::from_name(user).map_err(|error| Error::io(format!("user {user}"), error));
            match user.parse() {
                Ok(id) => ids.push(id),
                Err(_) => ids.extend(known()?.map(|user| user.uid.as_raw())),
            }
        }
        Ok(Some(ids))
    }
}

/// The feed from the kernel. Its links, neighbours and local addresses are always followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kernel {
    /// Whether its routes are followed too. If left out, they are where zebra does not tell them.
    pub routes: Option<bool>,
    /// The ids of their tables; none means all.
    pub tables: Vec<u32>,
    /// Who made them, as `rtm_protocol` says it (2 kernel, 12 bird, 186 bgp); none means anybody.
    pub protocols: Vec<u8>,
}

/// Samples of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Of how many packets one is sampled, at random; 0 for none.
    pub rate: u32,
    /// The collector of sFlow version 5.
    pub sflow: Option<SocketAddr>,
    /// The collector of IPFIX.
    pub ipfix: Option<SocketAddr>,
    /// The address that sFlow's collector knows the router by.
    pub agent: Option<IpAddr>,
}

/// A table in a file, of any format that fibula reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file.
    pub file: PathBuf,
    /// Where its next hops lead, in their order.
    pub legs: Vec<Leg>,
}

/// A neighbour that takes packets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// The name of the interface that leads to it.
    pub interface: String,
    /// Its address.
    pub gateway: IpAddr,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// If the text is not TOML, or has a key or a value that there is not. The error names the
    /// line.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Returns the id of the group whose members may ask.
    ///
    /// # Errors
    /// If there is none of its name.
    pub fn socket_group(&self) -> Result<Option<u32>, Error> {
        let Some(name) = &self.socket_group else { return Ok(None) };
        if let Ok(id) = name.parse() {
            return Ok(Some(id));
        }
        let group = Group::from_name(name).map_err(|error| Error::io(format!("group {name}"), error))?;
        let none = || usage(format!("socket_group: there is no group {name}"));
        group.map(|group| Some(group.gid.as_raw())).ok_or_else(none)
    }

    /// Reads the files of the ACLs, in the order of their names.
    ///
    /// # Errors
    /// If one cannot be read, or has a line that is none. The error names it.
    pub fn acls(&self) -> Result<Vec<Acl>, Error> {
        let read = |(name, path): (&String, &PathBuf)| {
            let what = || format!("ACL {name}: {}", path.display());
            let text = fs::read_to_string(path).map_err(|error| Error::io(what(), error))?;
            Ok(Acl::parse(name, &text)?)
        };
        self.acl.iter().map(read).collect()
    }

    /// Returns what the XDP plane is made from. Reads the files of the ACLs.
    ///
    /// # Errors
    /// If one cannot be read, an interface names one that there is not, or something is asked for
    /// that this plane does not have.
    pub fn xdp(&self) -> Result<xdp::Options, Error> {
        let Sampling { rate, sflow, ipfix, .. } = self.sampling;
        if (rate > 0) != (sflow.is_some() || ipfix.is_some()) {
            return Err(usage("`sampling` needs `rate` and a collector, `sflow` or `ipfix`"));
        }
        let acls = self.acls()?;
        let mode = match self.mode {
            Mode::Native => xdp::Mode::Native,
            Mode::Generic => xdp::Mode::Generic,
        };
        let interfaces = self.interfaces.iter().map(|incoming| self.attachment(incoming));
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        let (sample_rate, ecmp, tunnels) = (self.sampling.rate, self.ecmp, self.tunnels.clone());
        let plain = xdp::Options::new(&self.name, interfaces, mode);
        Ok(xdp::Options { acls, sample_rate, ecmp, tunnels, ..plain })
    }

    fn attachment(&self, incoming: &Incoming) -> Result<xdp::Attachment, Error> {
        let (name, table, vlan, urpf, acl) = match incoming {
            Incoming::Name(name) => return Ok(xdp::Attachment::of(name.as_str())),
            Incoming::Table { name, table, vlan, urpf, acl } => (name, *table, vlan.clone(), *urpf, acl),
        };
        let find = |acl: &String| {
            let at = self.acl.keys().position(|known| known == acl).map(u8::try_from);
            let text = || format!("interface {name}: there is no ACL {acl}");
            at.and_then(Result::ok).ok_or_else(|| usage(text()))
        };
        let acl = acl.as_ref().map(find).transpose()?;
        Ok(xdp::Attachment { table, tags: vlan, urpf, acl, ..xdp::Attachment::of(name.as_str()) })
    }

    /// Returns the settings of the control.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let is_there = |feed: &Feed| match feed {
            Feed::Fpm => self.fpm.enabled,
            Feed::Kernel => true,
            Feed::Table => self.table.is_some(),
        };
        let feeds = Feed::ALL.into_iter().filter(is_there).collect();
        let quiet = Duration::try_from_secs_f64(self.fpm.quiet_s).unwrap_or(Duration::MAX);
        let hold = Duration::try_from_secs_f64(self.fpm.hold_s).unwrap_or(Duration::MAX);
        let (share, least, limits) = (self.fpm.share, self.fpm.least, self.limits);
        let tables = self.interfaces.iter().filter_map(|incoming| match incoming {
            Incoming::Table { name, table, vlan, .. } if vlan.is_empty() => Some((name.clone(), *table)),
            _ => None,
        });
        let (tables, obeys_rules) = (tables.collect(), self.obey_rules);
        Settings { feeds, quiet, share, least, hold, limits, obeys_rules, tables, ..Settings::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_configuration() {
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }

    #[test]
    fn every_key_is_read() {
        let text = "socket = '/run/a'\nbfd = '/run/frr/bfdd.sock'\nmetrics.listen = '[::1]:9629'\nplane = 'xdp'\nname = 'edge'\n\
            interfaces = ['eth0', { name = 'eth1', table = 100 }, \
            { name = 'eth1', table = 7, vlan = [10, 20] }, { name = 'eth2', urpf = 'strict' }]\nmode = 'generic'\n\
            [fpm]\nlisten = '127.0.0.1:2621'\nquiet_s = 2.5\nleast = 9\nusers = ['7', 'root']\n\
            [sampling]\nrate = 1000\nsflow = '192.0.2.9:6343'\n\
            [limits]\ntables = 3\n[ecmp]\nhash = 'inner'\nflow_label = true\nspi = true\nseed = 9\n\
            [kernel]\nroutes = true\ntables = [254]\nprotocols = [12]\n\
            [table]\nfile = 'rib.txt'\nlegs = [{ interface = 'eth0', gateway = 'fe80::1' }]\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.bfd.as_deref(), Some("/run/frr/bfdd.sock".as_ref()));
        assert_eq!(config.settings().quiet, Duration::from_millis(2500));
        assert_eq!((config.settings().least, &config.kernel.protocols[..]), (9, &[12][..]));
        assert_eq!(config.fpm.users().unwrap().unwrap()[1..], [7, 0]);
        assert_eq!(config.settings().limits, Limits { tables: 3, ..Limits::default() });
        assert_eq!(config.settings().feeds, Feed::ALL);
        assert_eq!(config.table.as_ref().unwrap().legs[0].gateway.to_string(), "fe80::1");
        let xdp::Options { interfaces, mode, .. } = config.xdp().unwrap();
        let tables: Vec<u32> = interfaces.iter().map(|interface| interface.table).collect();
        assert_eq!((tables, mode), (vec![254, 100, 7, 254], xdp::Mode::Generic));
        let ecmp = Ecmp { hash: xdp::Hashed::Inner, flow_label: true, spi: true, seed: 9 };
        assert_eq!(config.xdp().unwrap().ecmp, ecmp);
        assert_eq!((config.xdp().unwrap().sample_rate, config.sampling.sflow.unwrap().port()), (1000, 6343));
        assert_eq!((interfaces[3].urpf, &interfaces[2].tags[..]), (ReversePath::Strict, &[10, 20][..]));
        assert_eq!(Config::parse("plane = 'memory'").unwrap().plane, PlaneKind::Memory);
        let off = Config::parse("fpm.enabled = false").unwrap();
        assert_eq!(off.settings().feeds, [Feed::Kernel]);
    }

    #[test]
    fn acls_are_read_and_named_by_interfaces() {
        let path = std::env::temp_dir().join(format!("fibula-acl-{}", std::process::id()));
        fs::write(&path, "deny ip from any to any\n").unwrap();
        let parse = |name: &str| {
            let text = format!("interfaces = [{{ name = 'a', acl = '{name}' }}]\n[acl]\nin = {path:?}");
            Config::parse(&text).unwrap().xdp()
        };
        let options = parse("in").unwrap();
        assert_eq!((options.interfaces[0].acl, options.acls[0].lines.len()), (Some(0), 1));
        assert_eq!(parse("out").unwrap_err().to_string(), "interface a: there is no ACL out");
        fs::write(&path, "deny all").unwrap();
        let error = parse("in").unwrap_err().to_string();
        assert!(error.starts_with("ACL in, line 1: expected ip"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(parse("in").unwrap_err().to_string().starts_with("ACL in: "));
    }

    #[test]
    fn samples_are_told_to_somebody() {
        let refused = |text: &str| {
            let made = Config::parse(&format!("[sampling]\n{text}")).unwrap().xdp();
            made.err().map(|error| error.to_string())
        };
        let half = Some("`sampling` needs `rate` and a collector, `sflow` or `ipfix`".to_owned());
        assert_eq!(refused("rate = 1"), half);
        assert_eq!(refused("sflow = '192.0.2.9:6343'"), half);
        assert_eq!(refused("rate = 1\nipfix = '192.0.2.9:4739'"), None);
    }

    #[test]
    fn the_group_that_may_ask_is_found_or_refused() {
        let group = |text: &str| Config::parse(text).unwrap().socket_group();
        assert_eq!(group("").unwrap(), None);
        assert_eq!(group("socket_group = '77'").unwrap(), Some(77));
        assert_eq!(group("socket_group = 'root'").unwrap(), Some(0));
        let error = group("socket_group = 'none-such'").unwrap_err().to_string();
        assert_eq!(error, "socket_group: there is no group none-such");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = Config::parse("socket = '/run/a'\nfmp = false\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("fmp"), "{error}");
    }
}
