//! `fibula router`: a routing daemon decides, fibula's tables forward.
#![cfg_attr(
    not(all(feature = "router", target_os = "linux")),
    allow(dead_code, reason = "without the feature no router is run")
)]

#[cfg(not(all(feature = "router", target_os = "linux")))]
mod disabled;
#[cfg(all(feature = "router", target_os = "linux"))]
mod enabled;

#[cfg(not(all(feature = "router", target_os = "linux")))]
use disabled::run;
#[cfg(all(feature = "router", target_os = "linux"))]
use enabled::run;

use crate::exit::Verdict;
use crate::output::Output;
use clap::{Args, Subcommand};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Forward packets by the routes of a routing daemon, and look at a router that does
///
/// A routing daemon (FRR by FPM, or any by the kernel's own tables) decides, and fibula's tables
/// forward. It takes Linux and the feature `router`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    /// Show a router at a glance: its feeds, tables and counts
    Status(Socket),
    Routes(Routes),
    Lookup(Lookup),
    /// Show what a router has counted: packets by interface and reason, next hop, line of an ACL
    Counters(Socket),
    Trace(Trace),
    Capture(Capture),
    Watch(Watch),
    /// Have a router read the files of its ACLs again
    ///
    /// A packet meets all lines of the old lists or all of the new. What a line has counted goes on
    /// where the line stays. If a file is wrong, the old lists hold.
    Reload(Socket),
    Detach(Detach),
}

/// Run a router until SIGTERM
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Run {
    /// A TOML file; docs/router.md has its keys. What is given beside it goes before it
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen to zebra at this address [default: 127.0.0.1:2620]
    #[arg(long, value_name = "ADDR:PORT")]
    fpm: Option<SocketAddr>,
    /// Follow the kernel's routes, and do not listen to zebra
    #[arg(long, conflicts_with = "fpm")]
    kernel: bool,
    /// Listen at this socket for the other commands [default: /run/fibula/router.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Serve /metrics for Prometheus at this address
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Forward packets that come in by this interface; may be given several times
    #[arg(short, long = "interface", value_name = "NAME")]
    interfaces: Vec<String>,
    /// Run the program after the driver, where that has no XDP
    #[arg(long)]
    generic: bool,
    /// Forward nothing, and keep the tables in memory to look at
    #[arg(long)]
    memory: bool,
    /// Say what the machine lacks, change nothing, and end with status 1 if it lacks something
    #[arg(long)]
    check: bool,
}

/// The router to ask
#[derive(Debug, Args)]
pub(crate) struct Socket {
    /// The router's socket
    #[arg(long, value_name = "PATH", default_value = "/run/fibula/router.sock")]
    socket: PathBuf,
}

/// List the routes of a table in order
#[derive(Debug, Args)]
pub(crate) struct Routes {
    #[command(flatten)]
    socket: Socket,
    /// The id of the table
    #[arg(short, long, default_value_t = 254, value_name = "ID")]
    table: u32,
    /// IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
}

/// Show the route that answers for each address, and where it leads
#[derive(Debug, Args)]
pub(crate) struct Lookup {
    /// The addresses
    #[arg(required = true, value_name = "ADDR")]
    addresses: Vec<IpAddr>,
    #[command(flatten)]
    socket: Socket,
    /// The id of the table
    #[arg(short, long, default_value_t = 254, value_name = "ID")]
    table: u32,
}

/// Tell what becomes of packets: where they came in, each decision with its rule or route, and
/// where they went
///
/// The router tells of packets that come after it was asked. Its program is another one meanwhile,
/// over the same tables.
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The packets, as a line of an ACL names them: `udp from any to any port 53` [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    socket: Socket,
    /// End after this many packets
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    count: u64,
    /// Only packets that come in by this interface
    #[arg(short, long, value_name = "NAME")]
    interface: Option<String>,
    /// Only packets that went where they went for this reason, as `counters` names it; may be given
    /// several times
    #[arg(short, long = "reason", value_name = "REASON")]
    reasons: Vec<String>,
}

/// Write packets that are dropped to a file
///
/// Each has the reason as a comment, and at most its first 256 bytes.
#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The packets, as a line of an ACL names them: `udp from any to any port 53` [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    socket: Socket,
    /// Only packets that are dropped for this reason: `denied`, `spoofed`, `blackhole` or
    /// `malformed`; may be given several times [default: all of these]
    #[arg(long, value_name = "REASON")]
    dropped: Vec<String>,
    /// The file to write, of the format pcapng
    #[arg(short, long, value_name = "FILE")]
    write: PathBuf,
    /// End after this many packets [default: until interrupted]
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,
    /// Only packets that come in by this interface
    #[arg(short, long, value_name = "NAME")]
    interface: Option<String>,
}

/// Watch a router live
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    socket: Socket,
    /// How long between two looks, seconds
    #[arg(short, long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,
    /// How many looks [default: until interrupted]
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
}

/// End the forwarding that a router of this name left, and leave the machine as it was
#[derive(Debug, Args)]
pub(crate) struct Detach {
    /// The name of the plane
    #[arg(default_value = "main", value_name = "NAME")]
    name: String,
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        run(self, output)
    }
}
