//! Random bursts of changes of the kernel's tables: after each the router has what the kernel has.
//!
//! ```text
//!  namespace fibula-bursts-PID
//!  ┌───────────────────────────────────────────────────────────────────┐
//!  │ ip -batch ─▶ kernel ──rtnetlink──▶ feed, control, memory plane     │
//!  │                └── ip route get fibmatch ──compared──┘             │
//!  │ r0, r1, r2: 10.{99,98,97}.255.254/16, fd{99,98,97}::ffff/64        │
//!  │ in: packets come in here                                           │
//!  └───────────────────────────────────────────────────────────────────┘
//! ```
//! `FIBULA_SECONDS` is how long it runs (10), and `FIBULA_SEED` where it begins. It takes root, and
//! is skipped elsewhere.
#![cfg(target_os = "linux")]

#[path = "bursts/oracle.rs"]
mod oracle;
#[path = "bursts/random.rs"]
mod random;

mod daemons;

use daemons::{Shared, Space, ask, command, follow};
use fibula_router::control::{NextHopRow, Way};
use fibula_router::message::Leg;
use fibula_router::plane::memory::Memory;
use oracle::{Answer, Kernel};
use random::{Random, probes};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the router may take until it has what the kernel has. Each difference that stays for
/// so long is one.
const PATIENCE: Duration = Duration::from_secs(30);

/// The room for messages that the router has not read, in bytes.
const ROOM: usize = 1 << 16;

/// Has `ip` do what lines say, as far as the kernel takes them.
fn batch(lines: &[String]) {
    // `ip` ends at a neighbour that it cannot delete.
    for lines in lines.chunk_by(|line, _| !line.starts_with("neigh del")) {
        let mut ip = Command::new("ip");
        ip.args(["-force", "-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = ip.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for line in lines {
            writeln!(stdin, "{line}").unwrap();
        }
        drop(stdin);
        child.wait().unwrap();
    }
}

/// What the router has for an address: the ways of its route.
type Had = Option<Vec<NextHopRow>>;

/// Returns what the router has for each address, and the links that are up.
fn asked(queue: &Shared<Memory>) -> (Vec<Had>, BTreeSet<String>) {
    ask(queue, |control| {
        let of = |address: IpAddr| control.lookup(254, address).route.map(|route| route.ways);
        let up = control.status().links.into_iter().filter(|link| link.up).map(|link| link.name);
        (probes().into_iter().map(of).collect(), up.collect())
    })
}

fn index_of(name: &str) -> u32 {
    nix::net::if_::if_nametoindex(name).unwrap_or_default()
}

/// Returns whether what the router has for an address is what the kernel does.
fn agree(address: IpAddr, had: &Had, up: &BTreeSet<String>, answer: &Answer) -> bool {
    let Some(ways) = had else { return *answer == Answer::Error(Errno::NETUNREACH.raw_os_error()) };
    let is_up = |way: &NextHopRow| way.interface.as_ref().is_some_and(|name| up.contains(name));
    if ways[0].kind == Way::Via && !ways.iter().any(is_up) {
        // The kernel takes a route by links that are up, and gets the packets.
        return !ways.iter().any(|way| way.resolved);
    }
    let error = |errno: Errno| *answer == Answer::Error(errno.raw_os_error());
    match (ways[0].kind, answer) {
        // Of a link it gets the packets too.
        (Way::Kernel, _) | (Way::Local, Answer::Local) | (Way::OnLink, Answer::OfKernel) => true,
        (Way::Blackhole, _) => error(Errno::INVAL),
        (Way::Unreachable, _) => error(Errno::HOSTUNREACH),
        (Way::Prohibit, _) => error(Errno::ACCESS),
        (Way::Via | Way::OnLink, Answer::Legs(legs)) => {
            // A destination on the link is its own gateway once it is known.
            let gateway = |gateway: Option<IpAddr>| gateway.filter(|&gateway| gateway != address);
            // One leg has no weight.
            let weighed = |leg: Leg| if legs.len() == 1 { Leg { weight: 1, ..leg } } else { leg };
            let kernel: BTreeSet<Leg> =
                legs.iter().map(|leg| weighed(Leg { gateway: gateway(leg.gateway), ..*leg })).collect();
            let ours = ways.iter().map(|way| Leg {
                interface: way.interface.as_deref().map_or(0, index_of),
                gateway: gateway(way.gateway),
                weight: u16::try_from(way.weight).unwrap(),
            });
            let ours: BTreeSet<Leg> = ours.map(weighed).collect();
            let dead: Vec<&Leg> = ours.difference(&kernel).collect();
            let is_sent = |leg: &&Leg| {
                ways.iter().any(|way| {
                    way.resolved
                        && way.interface.as_deref().map_or(0, index_of) == leg.interface
                        && gateway(way.gateway) == leg.gateway
                })
            };
            kernel.is_subset(&ours) && !dead.iter().any(is_sent)
        }
        _ => false,
    }
}

/// Returns what a command prints.
fn shown(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    String::from_utf8(Command::new(words[0]).args(&words[1..]).output().unwrap().stdout).unwrap()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn after_each_burst_of_changes_the_router_has_what_the_kernel_has() {
    let Some(_space) = Space::new(&format!("fibula-bursts-{}", std::process::id())) else { return };
    for line in [
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0",
        "ip link add r1 type veth peer name p1",
        "ip link add r2 type veth peer name p2",
        "ip link add in type veth peer name out",
        "ip addr add 10.98.255.254/16 dev r1",
        "ip addr add fd98::ffff/64 dev r1 nodad",
        "ip addr add 10.97.255.254/16 dev r2",
        "ip addr add fd97::ffff/64 dev r2 nodad",
        "ip addr add 10.50.0.1/24 dev in",
        "ip addr add fd50::1/64 dev in nodad",
        "ip link set r1 up",
        "ip link set r2 up",
        "ip link set in up",
        "ip link set p1 up",
        "ip link set p2 up",
        "ip link set out up",
    ] {
        command(line);
    }
    batch(&random::neighbours());
    let (queue, applier) = follow(ROOM);

    let oracle = Kernel::new(index_of("in"), ["10.50.0.2", "fd50::2"]);
    let seed = number("FIBULA_SEED", 74);
    let end = Instant::now() + Duration::from_secs(number("FIBULA_SECONDS", 10));
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let (mut bursts, mut answers, mut legs, mut by_kernel) = (0, 0, 0, 0);
    let mut recent: Vec<Vec<String>> = Vec::new();
    while Instant::now() < end {
        bursts += 1;
        let lines = random.burst();
        if random.0.u8(..8) == 0 {
            // The feed cannot add what it reads as long as somebody else fills the queue.
            queue.fill(|_| {
                let many = (0..1500_u32).map(|n| {
                    let (verb, route) = (if n % 2 == 0 { "add" } else { "del" }, n / 2);
                    format!("route {verb} 30.0.{}.{}/32 dev in", route >> 8, route & 255)
                });
                batch(&many.collect::<Vec<_>>());
                batch(&lines);
            });
        } else {
            batch(&lines);
        }
        recent.push(lines);
        let latest = Instant::now() + PATIENCE;
        let differences = loop {
            let (had, up) = asked(&queue);
            let differs = |(address, had): (IpAddr, &Had)| {
                let answer = oracle.ask(address);
                (!agree(address, had, &up, &answer)).then(|| {
                    let family = if address.is_ipv4() { "10.50.0.2" } else { "fd50::2" };
                    let get = shown(&format!("ip route get fibmatch {address} from {family} iif in"));
                    format!("{address}: kernel {answer:?} {get}\n  router {had:?}")
                })
            };
            let differences: Vec<String> = probes().into_iter().zip(&had).filter_map(differs).collect();
            if differences.is_empty() || Instant::now() > latest {
                let count = |kind| had.iter().flatten().filter(|ways| ways[0].kind == kind).count();
                (legs, by_kernel) = (legs + count(Way::Via), by_kernel + count(Way::Kernel));
                answers += had.len();
                break differences;
            }
            thread::sleep(Duration::from_millis(2));
        };
        if !differences.is_empty() {
            let last: Vec<String> = recent.iter().rev().take(3).rev().map(|lines| lines.join("\n")).collect();
            let shown = ["ip route", "ip -6 route", "ip nexthop", "ip -br addr"].map(shown);
            panic!(
                "seed {seed}, burst {bursts}: {}\nthe last bursts:\n{}\n{}",
                differences.join("\n"),
                last.join("\n--\n"),
                shown.join("\n--\n")
            );
        }
    }
    println!(
        "{bursts} bursts, {answers} answers, {legs} of them by gateways, {by_kernel} by the kernel: none differs"
    );
    assert!(legs * 10 > answers, "{legs} of {answers} answers lead to gateways: too few to judge by");
    assert!(by_kernel * 4 < answers, "{by_kernel} of {answers} answers are left to the kernel");
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}
