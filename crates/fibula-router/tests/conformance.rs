//! What the kernel does with a packet, the plane does: every packet of a list is sent through a
//! router whose kernel forwards, and through the same router with the plane.
//!
//! ```text
//!     client               router               server
//!   ┌──────────┐       ┌─────────────┐       ┌──────────┐
//!   │ frames ─▶ c0 ── r0 kernel, or  r1 ── s0 ◀ looked  │
//!   │ looked ▶ │       │ plane and   r2 ── s1 ◀ at      │
//!   │ at       │       │ kernel      │       │          │
//!   └──────────┘       └─────────────┘       └──────────┘
//! ```
//! What arrives at the three far ends must be the same: interface, headers, length and bytes. It
//! takes root, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod common;
#[path = "conformance/flows.rs"]
mod flows;
#[path = "conformance/legs.rs"]
mod legs;
#[path = "conformance/packets.rs"]
mod packets;
#[path = "conformance/policies.rs"]
mod policies;

use common::checksum;
use common::lab::{Lab, open};
use fibula_router::control::{Control, Settings, run};
use fibula_router::feed::{Feed, Queue, kernel};
use fibula_router::plane::xdp::{self, Attachment, Mode, Tunnel, Xdp};
use fibula_router::plane::{Counter, Plane};
use nix::sys::socket::{LinkAddr, MsgFlags, recvfrom, send};
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The packets that end otherwise on purpose, and why.
const INTENDED: &[(&str, &str)] =
    &[("IPv4 to 198.18.0.9", "it leaves as it came in: the kernel also tells the sender of a better way")];

/// Destinations that the kernel answers for by an error, but a few times a second only: whether it
/// does depends on the time.
const LIMITED: &[&str] = &["to 198.18.4.9", "to 198.18.5.9", "to 198.18.6.9", "to 192.0.2.9"];

/// The interfaces where frames are looked at.
const ENDS: [(&str, &str); 3] = [("c", "c0"), ("s", "s0"), ("s", "s1")];

/// The router's routes, whose destinations are those of the packets.
const ROUTES: &[&str] = &[
    "route add 198.51.100.0/24 via 10.2.0.2",
    "route add 203.0.113.0/24 via 10.3.0.2",
    "route add 198.18.0.0/24 via 10.1.0.2",
    "route add 198.18.1.0/24 via 10.2.0.2",
    "route add 198.18.1.0/24 tos 0x10 via 10.3.0.2",
    "route add 198.18.2.0/24 via 10.2.0.2 mtu 1300",
    "route add blackhole 198.18.3.0/24",
    "route add unreachable 198.18.4.0/24",
    "route add prohibit 198.18.5.0/24",
    "route add throw 198.18.6.0/24",
    "route add 198.18.7.0/24 via inet6 fd02::2 dev r1",
    "route add 198.18.8.0/24 via 10.2.0.77",
    "route add 198.18.10.0/24 dev r1",
    "route add 169.254.0.0/16 via 10.2.0.2",
    "-6 route add 2001:db8:64::/48 via fd02::2",
    "-6 route add 2001:db8:65::/48 from fd01::/64 via fd03::2",
    "-6 route add 2001:db8:65::/48 via fd02::2",
    "-6 route add 2001:db8:66::/48 via fd02::2 mtu 1280",
    "-6 route add blackhole 2001:db8:67::/48",
    "-6 route add unreachable 2001:db8:68::/48",
    "-6 route add 2001:db8:69::/48 via fd01::2",
    "-6 route add 2001:db8:71::/48 via fd02::77",
    "-6 route add 2001:db8:72::/48 dev r1",
];

fn lab(name: &str) -> Option<Lab> {
    let lab = Lab::new(name)?;
    for (end, interface, address) in [("c", "c0", packets::CLIENT), ("r", "r0", packets::ROUTER)] {
        let address = address.map(|byte| format!("{byte:02x}")).join(":");
        lab.ip(end, &format!("link set {interface} address {address}"));
    }
    for route in ROUTES {
        lab.ip("r", route);
    }
    for setting in [
        "net.ipv4.icmp_ratelimit=0",
        "net.ipv4.icmp_msgs_per_sec=100000",
        "net.ipv4.icmp_msgs_burst=10000",
        "net.ipv6.icmp.ratelimit=0",
        "net.ipv4.conf.all.rp_filter=0",
        "net.ipv4.conf.r0.rp_filter=0",
    ] {
        lab.set("r", setting);
    }
    // No packet waits for a neighbour: the kernel gives one up after seconds, in another run.
    for (by, end, to, addresses) in [
        ("r0", "c", "c0", &["10.1.0.2", "10.1.0.0", "10.1.0.9", "fd01::2", "fe80::1234"][..]),
        ("r1", "s", "s0", &["10.2.0.2", "10.2.0.0", "fd02::2"]),
        ("r2", "s", "s1", &["10.3.0.2", "fd03::2"]),
    ] {
        let mac = lab.address(end, to).map(|byte| format!("{byte:02x}")).join(":");
        for address in addresses {
            lab.ip("r", &format!("neigh replace {address} lladdr {mac} dev {by} nud permanent"));
        }
    }
    Some(lab)
}

/// Describes a frame: all of it that does not differ from one run to the next.
fn described(interface: &str, frame: &[u8]) -> String {
    let mut bytes = frame.to_vec();
    let mut note = "";
    if bytes.get(12..15) == Some(&[8, 0, 0x45]) && bytes.len() >= 34 {
        if checksum(&bytes[14..34]) != 0 {
            note = " checksum is wrong";
        }
        // The kernel numbers its own packets as it likes.
        bytes[18..20].fill(0);
        bytes[24..26].fill(0);
    }
    format!("{interface}{note} {} bytes {:02x?}", frame.len(), &bytes[..bytes.len().min(96)])
}

/// Sends all packets, and returns what arrived of each.
fn outcome(lab: &Lab, packets: &[packets::Packet]) -> Arrived {
    let sockets = ENDS.map(|(end, interface)| (interface, lab.inside(end, || open(interface))));
    let tokens: Vec<Vec<u8>> = (0..packets.len()).map(|at| format!("[token {at:05}]").into_bytes()).collect();
    let mut arrived: Arrived = packets.iter().map(|(name, _)| (name.clone(), Vec::new())).collect();
    let mut look = || {
        let mut count = 0;
        for (interface, socket) in &sockets {
            let mut frame = vec![0; 4096];
            while let Ok((length, Some(from))) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut frame) {
                // PACKET_OUTGOING: this end sends it.
                if from.pkttype() == 4 {
                    continue;
                }
                let frame = &frame[..length];
                let found = frame.windows(14).find(|window| window.starts_with(b"[token "));
                let token = found.and_then(|found| std::str::from_utf8(&found[7..12]).ok()?.parse().ok());
                if let Some(token) = token.filter(|&token: &usize| token < packets.len()) {
                    let list = arrived.get_mut(&packets[token].0).unwrap();
                    list.push(described(interface, frame));
                    count += 1;
                }
            }
        }
        count
    };
    for ((_, make), token) in packets.iter().zip(&tokens) {
        let token = [&token[..], &[b'x'; 34]].concat();
        send(sockets[0].1.as_raw_fd(), &make(&token), MsgFlags::empty()).unwrap();
        thread::sleep(Duration::from_millis(1));
        look();
    }
    let mut quiet_since = Instant::now();
    while quiet_since.elapsed() < Duration::from_millis(500) {
        if look() > 0 {
            quiet_since = Instant::now();
        }
        thread::sleep(Duration::from_millis(5));
    }
    for list in arrived.values_mut() {
        list.sort();
    }
    arrived
}

/// What arrived of each packet.
type Arrived = BTreeMap<String, Vec<String>>;

/// Does some work, which sends packets that the plane forwards, while it follows the router's
/// kernel.
fn with_plane<P: Plane + Send + 'static, T>(
    lab: &Lab,
    open: impl FnOnce() -> P + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (found, counters) = counted_with_plane(lab, open, work);
    let forwarded = counters.iter().filter(|counter| counter.name == "forwarded");
    let forwarded: u64 = forwarded.map(|counter| counter.packets).sum();
    assert!(forwarded > 50, "the plane forwards: {forwarded}");
    found
}

/// As [`with_plane`], whatever the plane forwards. Returns what it counted too.
fn counted_with_plane<P: Plane + Send + 'static, T>(
    lab: &Lab,
    open: impl FnOnce() -> P + Send,
    work: impl FnOnce() -> T,
) -> (T, Vec<Counter>) {
    let queue = Arc::new(Queue::<Control<P>>::default());
    let thread = lab.inside("r", || {
        let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
        let control = Control::new(open(), settings);
        let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
        kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
        let queue = Arc::clone(&queue);
        thread::spawn(move || run(control, &queue))
    });
    for _ in 0..500 {
        let (sender, receiver) = mpsc::channel();
        queue.fill(|batch| {
            let ask = move |control: &mut Control<P>| sender.send(control.status().forwarding).unwrap();
            batch.requests.push(Box::new(ask));
        });
        if receiver.recv().unwrap() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let found = work();
    queue.fill(|batch| batch.is_last = true);
    let control = thread.join().unwrap();
    assert_eq!(control.counts().refused, 0);
    (found, control.plane().counters().unwrap())
}

/// Returns the packets that end otherwise, with what arrived in both cases.
fn differences(what: &str, kernel: &Arrived, plane: &Arrived) -> Vec<String> {
    let compared = |name: &String, list: &[String]| {
        let is_limited = LIMITED.iter().any(|to| name.ends_with(to));
        list.iter().filter(|frame| !is_limited || !frame.starts_with("c0")).cloned().collect::<Vec<_>>()
    };
    let differ = kernel.iter().filter(|(name, list)| {
        compared(name, &plane[*name]) != compared(name, list)
            && !INTENDED.iter().any(|intended| intended.0 == *name)
    });
    differ.map(|(name, list)| format!("{what}, {name}:\n  {list:?}\n  {:?}", plane[name])).collect()
}

#[test]
fn the_plane_does_what_the_kernel_does() {
    let Some(lab) = lab("conform") else { return };
    let packets = packets::packets();
    let outcome = || outcome(&lab, &packets);
    let kernel = outcome();
    let arrived = kernel.values().filter(|list| !list.is_empty()).count();
    assert!(kernel.len() >= 500 && arrived > 100, "{arrived} of {}", kernel.len());
    let mut wrong = differences("the kernel again", &kernel, &outcome());
    for mode in [Mode::Native, Mode::Generic] {
        let plane = with_plane(&lab, || lab.open(mode), outcome);
        lab.inside("r", || lab.detach());
        wrong.extend(differences(&mode.to_string(), &kernel, &plane));
    }
    // A kernel that looks at sources.
    lab.set("r", "net.ipv4.conf.r0.rp_filter=1");
    let strict = outcome();
    let is_dropped = |name: &str| !kernel[name].is_empty() && strict[name].is_empty();
    assert!(is_dropped("IPv4 from 10.3.0.7 to 198.51.100.9"), "it comes by another interface");
    let plane = with_plane(&lab, || lab.open(Mode::Native), outcome);
    lab.inside("r", || lab.detach());
    wrong.extend(differences("native with rp_filter", &strict, &plane));
    lab.set("r", "net.ipv4.conf.r0.rp_filter=0");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_the_kernel_is_told_the_plane_heeds() {
    let Some(lab) = lab("told") else { return };
    let packets = packets::packets();
    let outcome = || outcome(&lab, &packets);
    let native = || lab.open(Mode::Native);
    let mut wrong = Vec::new();
    // Returns what the kernel does, after the plane did the same.
    let mut compare = |what: &str| {
        let kernel = outcome();
        let plane = with_plane(&lab, native, outcome);
        lab.inside("r", || lab.detach());
        wrong.extend(differences(what, &kernel, &plane));
        kernel
    };
    let long = "IPv6 to 2001:db8:64::9: 1452 bytes";
    let arrives = |arrived: &Arrived, name: &str| arrived[name].iter().any(|frame| frame.starts_with('s'));
    let kernel = compare("as it is");
    let of_many = "IPv4 from 198.18.11.7 to 198.51.100.9";
    assert!(arrives(&kernel, long) && arrives(&kernel, of_many));
    lab.set("r", "net.ipv6.conf.r1.mtu=1280");
    assert!(!arrives(&compare("a smaller MTU of IPv6"), long), "the sender is told");
    lab.set("r", "net.ipv6.conf.r1.mtu=1500");
    // Addresses of many (AnyIP) are the router's own. The kernel looks at all sources from then on.
    lab.ip("r", "route add local 198.18.11.0/24 dev lo");
    assert!(!arrives(&compare("an address of many"), of_many));
    lab.ip("r", "route del local 198.18.11.0/24 dev lo");
    lab.ip("r", "route add local 198.18.11.0/24 dev lo table main");
    assert!(!arrives(&compare("an address of many in the main table"), of_many));
    // While a plane forwards, the kernel does not tell of these settings.
    lab.set("r", "net.ipv6.conf.r1.mtu=1280");
    let kernel = outcome();
    lab.set("r", "net.ipv6.conf.r1.mtu=1500");
    let is_heeded = with_plane(&lab, native, || {
        lab.set("r", "net.ipv6.conf.r1.mtu=1280");
        (0..30).any(|_| differences("later", &kernel, &outcome()).is_empty())
    });
    lab.inside("r", || lab.detach());
    assert!(is_heeded, "an MTU that is set while the plane forwards");
    lab.set("r", "net.ipv6.conf.r0.disable_ipv6=1");
    let kernel = compare("IPv6 disabled where packets come in");
    let ipv6 = kernel.iter().filter(|(name, _)| name.starts_with("IPv6"));
    assert!(ipv6.clone().count() > 50 && ipv6.flat_map(|(_, list)| list).next().is_none());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_a_tunnel_carries_arrives_without_it() {
    let Some(lab) = lab("tunnel") else { return };
    lab.ip("r", "route add 192.0.2.0/24 via 10.2.0.2");
    lab.forward_by_plane_alone();
    let flows = flows::flows(60);
    for mode in [Mode::Native, Mode::Generic] {
        let open = || {
            let tunnels = vec![Tunnel { local: [198, 18, 9, 9].into(), remote: [10, 1, 0, 2].into() }];
            let plain = xdp::Options::new(lab.name(), vec![Attachment::of("r0")], mode);
            Xdp::open(xdp::Options { tunnels, ..plain }).unwrap()
        };
        let arrived = with_plane(&lab, open, || outcome(&lab, &flows));
        lab.inside("r", || lab.detach());
        for (name, list) in arrived.iter().filter(|(name, _)| name.starts_with("IPIP")) {
            let [frame] = &list[..] else { panic!("{name} arrives once: {list:?}") };
            // UDP from the client to 192.0.2.7.
            let is_bare = frame.contains("11, 00, 00, 0a, 01, 00, 02, c0, 00, 02, 07");
            assert!(is_bare && frame.starts_with("s0 89 bytes"), "{name}: {frame}");
        }
    }
}
