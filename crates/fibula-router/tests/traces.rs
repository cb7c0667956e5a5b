//! Traces beside sockets that see all frames on both sides of the router.
//!
//! ```text
//!   client               router                      server
//!   c0: frames out ── r0 traced ─▶ forwarded ── r1 ── s0: frames in
//!                             ├──▶ denied
//!                             └──▶ the kernel, which forwards nothing
//! ```
#![cfg(target_os = "linux")]

mod common;

use common::lab::{Lab, open};
use fibula_router::acl::Acl;
use fibula_router::control::{Control, LookFor, Settings, TraceRow, run};
use fibula_router::feed::{Feed, Queue, kernel};
use fibula_router::plane::Outcome;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
use nix::sys::socket::{LinkAddr, recvfrom};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

type Shared = Arc<Queue<Control<Xdp>>>;

/// The kernel's marks of packets that come in for this host, and of those that it sends.
const HOST: u8 = 0;
const OUTGOING: u8 = 4;

/// Has the control do something.
fn ask<T: Send + 'static>(queue: &Shared, work: impl FnOnce(&mut Control<Xdp>) -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    queue.fill(|batch| batch.requests.push(Box::new(move |control| sender.send(work(control)).unwrap())));
    receiver.recv().unwrap()
}

/// Asks until something is so.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

/// Returns the frames of UDP to the server that a socket has seen in a direction.
fn seen(socket: &OwnedFd, direction: u8) -> Vec<Vec<u8>> {
    let (mut frames, mut frame) = (Vec::new(), vec![0; 2048]);
    while let Ok((length, Some(from))) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut frame) {
        let is_udp = length > 42 && frame[12..14] == [8, 0] && frame[23] == 17 && frame[30..32] == [10, 64];
        if from.pkttype() == direction && is_udp {
            frames.push(frame[..length].to_vec());
        }
    }
    frames.sort();
    frames
}

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Returns the names of the programs that run on an interface of the router.
fn program(lab: &Lab, interface: &str) -> &'static str {
    let link = lab.ip("r", &format!("-d link show {interface}"));
    ["router", "traced"].into_iter().find(|name| link.contains(&format!(" name {name} "))).unwrap_or("none")
}

/// Starts a router whose r0 denies UDP to port 7777, and forwards.
fn start(lab: &Lab) -> (Shared, thread::JoinHandle<()>) {
    let queue = Shared::default();
    let thread = lab.inside("r", || {
        let acls = vec![Acl::parse("edge", "deny udp from any to any port 7777").unwrap()];
        let interfaces = vec![Attachment { acl: Some(0), ..Attachment::of("r0") }, Attachment::of("r1")];
        let options = Options { acls, ..Options::new(lab.name(), interfaces, Mode::Native) };
        let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
        let control = Control::new(Xdp::open(options).unwrap(), settings);
        let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
        kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
        let queue = Arc::clone(&queue);
        thread::spawn(move || drop(run(control, &queue)))
    });
    wait("it forwards", || ask(&queue, |control| control.status().forwarding));
    (queue, thread)
}

#[test]
fn a_trace_tells_the_packets_that_both_sides_see() {
    let Some(lab) = Lab::new("traces") else { return };
    for (by, end, to, address) in [("r0", "c", "c0", "10.1.0.2"), ("r1", "s", "s0", "10.2.0.2")] {
        let mac = lab.address(end, to).map(|byte| format!("{byte:02x}")).join(":");
        lab.ip("r", &format!("neigh replace {address} lladdr {mac} dev {by} nud permanent"));
    }
    lab.forward_by_plane_alone();
    let (queue, thread) = start(&lab);
    assert_eq!(program(&lab, "r0"), "router");
    let what = LookFor {
        filter: Some("udp from any to 10.64.0.0/10".into()),
        interface: Some("r0".into()),
        reasons: Vec::new(),
    };
    let look = |what: &LookFor| {
        let what = what.clone();
        ask(&queue, move |control| control.trace(&what, Instant::now())).unwrap()
    };
    assert!(look(&what).packets.is_empty());
    assert_eq!([program(&lab, "r0"), program(&lab, "r1")], ["traced"; 2]);
    let other = LookFor { filter: None, ..what.clone() };
    let error = ask(&queue, move |control| control.trace(&other, Instant::now()).unwrap_err().to_string());
    assert_eq!(error, "another trace runs: the router tells one at a time");

    let sockets = [("c", "c0"), ("s", "s0")].map(|(end, name)| lab.inside(end, || open(name)));
    let client = lab.inside("c", || UdpSocket::bind("10.1.0.2:4000").unwrap());
    let mut sent = 0;
    for at in 0..40_u16 {
        client.set_ttl(if at % 4 == 3 { 1 } else { 64 }).unwrap();
        let port = if at % 4 == 2 { 7777 } else { 9000 + at };
        client.send_to(&vec![at as u8; 20 + usize::from(at)], ("10.64.0.9", port)).unwrap();
        sent += 1;
    }
    let mut rows: Vec<TraceRow> = Vec::new();
    wait("all packets are told", || {
        let traces = look(&what);
        assert_eq!(traces.lost, 0);
        rows.extend(traces.packets);
        rows.len() >= sent
    });
    let [client_side, server_side] =
        [(&sockets[0], OUTGOING), (&sockets[1], HOST)].map(|(socket, direction)| seen(socket, direction));
    let mut told: Vec<Vec<u8>> = rows.iter().map(|row| bytes(&row.frame)).collect();
    told.sort();
    assert_eq!(told, client_side, "as they came");
    // What leaves has other MAC addresses, one hop less and another checksum.
    let rest = |frame: &[u8]| [&frame[14..22], &frame[26..]].concat();
    let forwarded = rows.iter().filter(|row| row.outcome == Outcome::Forwarded);
    let mut forwarded: Vec<_> = forwarded.map(|row| rest(&bytes(&row.frame))).collect();
    forwarded.sort();
    let mut arrived: Vec<_> = server_side.iter().map(|frame| rest(frame)).collect();
    arrived.sort();
    assert_eq!(forwarded, arrived);

    let of = |reason: &str| rows.iter().filter(|row| row.reason == reason).collect::<Vec<_>>();
    assert_eq!(["forwarded", "denied", "expired"].map(|reason| of(reason).len()), [20, 10, 10]);
    for row in &rows {
        assert_eq!((row.interface.as_str(), row.table), ("r0", 254));
        let packet = row.packet.as_ref().unwrap();
        assert_eq!((packet.source.to_string().as_str(), packet.ports.unwrap()[0]), ("10.1.0.2", 4000));
    }
    let denied = of("denied")[0];
    let acl = denied.acl.as_ref().unwrap();
    assert_eq!((acl.acl.as_str(), acl.number, acl.permits), ("edge", Some(1), false));
    assert!(denied.route.is_none() && denied.next_hop.is_none() && denied.sent.is_none());
    let left = of("forwarded")[0];
    assert_eq!(left.route.as_ref().unwrap().prefix, "10.64.0.0/10");
    let way = left.sent.as_ref().unwrap();
    let mac = lab.address("s", "s0").map(|byte| format!("{byte:02x}")).join(":");
    assert_eq!((way.interface.as_deref(), way.neighbour.as_deref()), (Some("r1"), Some(mac.as_str())));

    ask(&queue, |control| control.end_trace().unwrap());
    assert_eq!([program(&lab, "r0"), program(&lab, "r1")], ["router"; 2]);
    // Who goes without a word is forgotten.
    look(&what);
    assert_eq!(program(&lab, "r0"), "traced");
    wait("the trace is forgotten", || program(&lab, "r0") == "router");
    queue.fill(|batch| batch.is_last = true);
    thread.join().unwrap();
    lab.inside("r", || lab.detach());
}
