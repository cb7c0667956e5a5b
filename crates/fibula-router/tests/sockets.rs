//! The plane in user space on real interfaces.
//!
//! ```text
//!     client               router                         server
//!   ┌──────────┐       ┌───────────────────────┐       ┌──────────┐
//!   │ 10.1.0.2 c0 ── r0 ─▶ socket     socket ─▶ r1 ── s0 10.2.0.2 │
//!   └──────────┘       │      │  thread   ▲    │       │          │
//!                      │      └─▶ engine ─┘     r2 ── s1 10.3.0.2 │
//!                      └───────────────────────┘       └──────────┘
//! ```
//! `common/lab.rs` draws all of the namespaces. It takes root, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod common;
mod crossing;
mod traffic;

use common::checksum;
use common::lab::Lab;
use crossing::{
    BY_EITHER, PATIENCE, Router, SERVER, SERVER_TOO, ask_the_kernel, change_under_traffic, prefix, transfer,
};
use fibula::NextHop;
use fibula_router::plane::xdp::sockets::{AfXdp, Options};
use fibula_router::plane::xdp::{Attachment, Ecmp, Mode, Reason, check_sockets};
use fibula_router::plane::{Action, AdjacencyId, Plane};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use std::io::{BufRead, BufReader};
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;
use traffic::{Destination, Traffic};

/// A next hop with two legs.
const BOTH: u32 = 7;

/// Returns a plane on all interfaces of the router that is started and knows the routes.
fn started(lab: &Lab, mode: Mode, engine: &str) -> Router<AfXdp> {
    started_on(lab, &["r0", "r1", "r2"], mode, engine)
}

/// As [`started`], for packets that come in by these interfaces.
fn started_on(lab: &Lab, names: &[&str], mode: Mode, engine: &str) -> Router<AfXdp> {
    lab.inside("r", || {
        let interfaces = names.iter().copied().map(Attachment::of);
        let (interfaces, ecmp) = (interfaces.collect(), Ecmp::default());
        let options = Options { interfaces, mode, engine: engine.into(), ecmp };
        let mut router = Router::new(lab, AfXdp::open(options).unwrap());
        router.plane.start().unwrap();
        router
    })
}

/// Has the client send echo requests to an address and take the replies.
fn ping(lab: &Lab, address: &str) {
    let address: IpAddr = address.parse().unwrap();
    let (family, protocol, kinds, header) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp, [8, 0], 20),
        // The kernel computes the checksum, and gives no header.
        IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6, [128, 129], 0),
    };
    let open = || socket(family, SockType::Raw, SockFlag::empty(), protocol).unwrap();
    let socket = UdpSocket::from(lab.inside("c", open));
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    for number in 0..5 {
        let mut request = [kinds[0], 0, 0, 0, 0x46, 0x49, 0, number];
        let check = checksum(&request);
        request[2..4].copy_from_slice(&check.to_be_bytes());
        socket.send_to(&request, (address, 0)).unwrap();
        let mut reply = [0; 64];
        let is_reply =
            |reply: &[u8; 64]| reply[header] == kinds[1] && reply[header + 4..][..4] == request[4..];
        while !is_reply(&reply) {
            socket.recv(&mut reply).unwrap();
        }
    }
}

#[test]
fn tcp_and_ping_cross_the_router_by_any_engine_in_both_modes() {
    let Some(lab) = Lab::new("xsk") else { return };
    let ways = [
        (Mode::Native, "best"),
        (Mode::Generic, "dir24-8"),
        (Mode::Native, "poptrie"),
        (Mode::Generic, "mosaic6"),
    ];
    for (mode, engine) in ways {
        let router = started(&lab, mode, engine);
        assert_eq!(lab.attached(), 3, "{engine}");
        assert_eq!(router.plane.facts()[1], format!("r0 queue 0: {mode} XDP, copies"));
        transfer(&lab, "10.2.0.2", 2 << 20);
        transfer(&lab, "fd02::2", 2 << 20);
        let packets = 2 * (2 << 20) / 1500;
        assert!(router.count(Reason::Forwarded) > packets, "{engine}: {}", router.count(Reason::Forwarded));
        ping(&lab, "10.64.0.1");
        // The router's own addresses: the program lets their packets through.
        let local = router.count(Reason::Local);
        ping(&lab, "10.1.0.1");
        ping(&lab, "fd02::1");
        assert!(router.count(Reason::Local) >= local + 10, "{engine}");
        assert_eq!((router.count(Reason::Malformed), router.count(Reason::NoRoute)), (0, 0), "{engine}");
        drop(router);
        assert!(lab.settles_at(0), "{engine}");
    }
    // The kernel forwards again.
    transfer(&lab, "10.2.0.2", 1 << 20);
}

#[test]
fn an_interface_whose_frames_come_in_by_others_is_refused() {
    let Some(lab) = Lab::new("xskbr") else { return };
    for line in ["link add b0 type bridge", "link set r0 master b0", "link set b0 up"] {
        lab.ip("r", line);
    }
    for (interface, wrong) in [
        ("b0", "its frames come in by other interfaces"),
        ("r0", "it is a port of b0, which has its packets"),
    ] {
        let (interfaces, ecmp) = (vec![Attachment::of(interface)], Ecmp::default());
        let options = Options { interfaces, mode: Mode::Native, engine: "best".into(), ecmp };
        let findings = lab.inside("r", || check_sockets(&options));
        let found = findings.into_iter().find(|finding| finding.what == format!("interface {interface}"));
        assert_eq!(found.unwrap().wrong.as_deref(), Some(wrong));
        let error = lab.inside("r", || AfXdp::open(options).unwrap_err().to_string());
        assert_eq!(error, format!("interface {interface}: {wrong}"));
    }
}

#[test]
fn the_kernel_answers_for_what_user_space_hands_up() {
    for (mode, name) in [(Mode::Native, "xskup"), (Mode::Generic, "xskupg")] {
        let Some(lab) = Lab::new(name) else { return };
        lab.inside("r", || ask_the_kernel(&lab, &mut started(&lab, mode, "best")));
    }
}

#[test]
fn changes_lose_no_packet_and_misdirect_none() {
    for engine in ["best", "dir24-8"] {
        let Some(lab) = Lab::new("xskch") else { return };
        let mut router = started(&lab, Mode::Native, engine);
        lab.forward_by_plane_alone();
        router.add_groups();
        lab.inside("r", || change_under_traffic(&lab, &mut router));
    }
}

#[test]
fn flows_share_the_legs_and_each_keeps_to_one() {
    let Some(lab) = Lab::new("xskleg") else { return };
    // By the others packets only leave.
    let mut router = started_on(&lab, &["r0"], Mode::Native, "best");
    lab.forward_by_plane_alone();
    let legs = [SERVER, SERVER_TOO].map(AdjacencyId).to_vec();
    router.plane.set_action(NextHop(BOTH), &Action::Forward(legs)).unwrap();
    router.announce((0..64).map(|number| (prefix(BY_EITHER, number), BOTH)));
    let to = |number| Ipv4Addr::new(10, BY_EITHER, number, 1).into();
    let destinations = (0..64).map(|number| Destination { address: to(number), may: [true; 2] }).collect();
    let traffic = Traffic::start(&lab, destinations, Duration::ZERO);
    std::thread::sleep(Duration::from_millis(300));
    let report = traffic.finish();
    assert_eq!((report.wrong(), report.lost()), (0, 0), "{:?}", report.faults());
    let by_first = report.rows.iter().filter(|row| row.came[0] > 0).count();
    let by_second = report.rows.iter().filter(|row| row.came[1] > 0).count();
    assert_eq!(by_first + by_second, 64, "a flow takes one way");
    assert!(by_first >= 16 && by_second >= 16, "{by_first} and {by_second}");
}

/// Set in a process that is to be a router in this lab until it is killed.
const AS_ROUTER: &str = "FIBULA_TEST_SOCKETS";

#[test]
fn the_kernel_forwards_when_the_process_is_killed() {
    const TEST: &str = "the_kernel_forwards_when_the_process_is_killed";
    if let Ok(name) = std::env::var(AS_ROUTER) {
        // The process that made the lab removes it.
        let lab = ManuallyDrop::new(Lab::made(name));
        let _router = started(&lab, Mode::Native, "best");
        println!("started");
        loop {
            std::thread::park();
        }
    }
    let Some(lab) = Lab::new("xskkill") else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", TEST, "--nocapture"]).env(AS_ROUTER, lab.name());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("started")), "the process ended");
    assert_eq!(lab.attached(), 3);
    transfer(&lab, "10.2.0.2", 1 << 20);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lab.settles_at(0));
    transfer(&lab, "10.2.0.2", 1 << 20);
}
