//! A gateway whose BFD session fails carries no packets, though its routes are still there.
//!
//! ```text
//!                 ┌─ r1 ─── s0 server: bfdd
//!  client ─▶ router
//!   c0     r0     └─ r2 ─── t0 server: bfdd
//!      zebra, bfdd
//! ```
//! (See the drawing in `common/lab.rs`; r2 leads to a server of its own.) The router's kernel has
//! one route to 10.64.0.0/10 over both, which nobody withdraws, and forwards nothing. It takes root
//! and Debian's package `frr`, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod common;
mod daemons;

use common::lab::Lab;
use daemons::{Frr, Shared, ask, wait};
use fibula_router::control::{Control, Settings, run};
use fibula_router::feed::bfd::{self, Gateways};
use fibula_router::feed::{Feed, Queue, kernel};
use fibula_router::plane::Plane;
use fibula_router::plane::memory::Memory;
use fibula_router::plane::xdp::{Mode, Xdp};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Three packets of one session, in milliseconds.
const DETECTION: Duration = Duration::from_millis(3 * INTERVAL);
const INTERVAL: u64 = 200;

/// How long anything may take beside BFD, on a machine with other work.
const SLACK: Duration = Duration::from_secs(10);

/// A peer of bfdd's configuration.
fn peer(name: &str) -> String {
    format!(
        " peer {name}\n  detect-multiplier 3\n  receive-interval {INTERVAL}\n  \
         transmit-interval {INTERVAL}\n exit\n"
    )
}

/// Starts bfdd in a namespace.
fn start_bfdd(lab: &Lab, frr: &mut Frr, end: &str, peers: &[&str]) {
    let socket = frr.folder().join("bfdd.sock");
    let peers: String = peers.iter().map(|name| peer(name)).collect();
    let options = ["--bfdctl", socket.to_str().unwrap()];
    lab.inside(end, || frr.start("bfdd", &format!("bfd\n{peers}exit\n"), &options));
}

/// Packets of many flows, each with a number, and how many came to each server.
struct Flows {
    client: UdpSocket,
    came: [Arc<AtomicU64>; 2],
}

impl Flows {
    fn new(lab: &Lab) -> Self {
        let came = ["s", "t"].map(|end| {
            let server = lab.inside(end, || UdpSocket::bind("0.0.0.0:7").unwrap());
            let count = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&count);
            thread::spawn(move || {
                while server.recv(&mut [0; 8]).is_ok() {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            });
            count
        });
        Self { client: lab.inside("c", || UdpSocket::bind("0.0.0.0:0").unwrap()), came }
    }

    /// Sends a packet of each of 64 flows. Returns how many came to each server.
    fn send(&self) -> [u64; 2] {
        let before = self.came.each_ref().map(|count| count.load(Ordering::SeqCst));
        for last in 0..64 {
            self.client.send_to(&[7; 8], (Ipv4Addr::new(10, 64, 0, last), 7)).unwrap();
        }
        let now = || [0, 1].map(|end| self.came[end].load(Ordering::SeqCst) - before[end]);
        let end = Instant::now() + Duration::from_millis(100);
        while now()[0] + now()[1] < 64 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        now()
    }

    /// Sends until packets come to these servers alone, and none is lost. Returns how long it took.
    fn wait(&self, what: &str, expected: [bool; 2]) -> Duration {
        let start = Instant::now();
        wait(what, || {
            let came = self.send();
            came[0] + came[1] == 64 && came.map(|count| count > 0) == expected
        });
        start.elapsed()
    }
}

fn gateways<P: Plane + 'static>(queue: &Shared<P>) -> Gateways {
    ask(queue, |control| control.status().bfd).unwrap_or_default()
}

#[test]
fn packets_leave_a_gateway_whose_bfdd_is_gone_and_come_back() {
    let Some(lab) = Lab::new("bfd") else { return };
    let all = ["r", "s", "t"].map(|end| Frr::new(&lab.end(end)));
    let [Some(mut near), Some(mut far), Some(mut other)] = all else { return };
    lab.add_server();
    lab.ip("r", "route del 10.64.0.0/10");
    lab.ip("r", "route add 10.64.0.0/10 nexthop via 10.2.0.2 nexthop via 10.3.0.2");
    lab.forward_by_plane_alone();
    lab.inside("r", || near.start_zebra(""));
    start_bfdd(&lab, &mut far, "s", &["10.2.0.1"]);
    start_bfdd(&lab, &mut other, "t", &["10.3.0.1"]);
    // One session names its interface, one is never up, and one goes over several hops.
    let peers = ["10.2.0.2 interface r1", "10.3.0.2", "10.1.0.2", "10.9.9.9 multihop local-address 10.2.0.1"];
    start_bfdd(&lab, &mut near, "r", &peers);

    let queue = Shared::<Xdp>::new(Queue::default());
    let applier = lab.inside("r", || {
        let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
        let mut control = Control::new(lab.open(Mode::Native), settings);
        control.set_asker(kernel::asker().unwrap(), Instant::now());
        let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
        kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
        let queue = Arc::clone(&queue);
        thread::spawn(move || drop(run(control, &queue)))
    });
    bfd::follow(near.folder().join("bfdd.sock"), Arc::clone(&queue)).unwrap();
    let mut told = Gateways::default();
    wait("both sessions are up", || {
        told = gateways(&queue);
        told.up == 2
    });
    assert_eq!((told.connected, told.down, told.multihop, told.held.len()), (true, 1, 1, 0));
    let flows = Flows::new(&lab);
    flows.wait("packets take both ways", [true, true]);

    // A server's bfdd is killed, and the other one's later.
    other.kill("bfdd");
    let took = flows.wait("packets take the first way", [true, false]);
    eprintln!("packets took the other way {took:?} after bfdd was killed ({DETECTION:?} of detection)");
    assert!(took < DETECTION + SLACK, "{took:?}");
    assert!(lab.ip("r", "route show 10.64.0.0/10").contains("10.3.0.2"), "the route is still there");
    let status = ask(&queue, |control| control.status());
    assert_eq!(status.bfd.unwrap().held, [("10.3.0.2".parse().unwrap(), None)].into());
    assert!(status.held_down > 0);
    start_bfdd(&lab, &mut other, "t", &["10.3.0.1"]);
    flows.wait("packets take both ways again", [true, true]);
    far.kill("bfdd");
    flows.wait("packets take the second way", [false, true]);
    assert_eq!(gateways(&queue).held, [("10.2.0.2".parse().unwrap(), Some("r1".into()))].into());

    // With the router's own bfdd nothing is known any more.
    near.kill("bfdd");
    flows.wait("packets take both ways without bfdd", [true, true]);
    assert!(!gateways(&queue).connected);
    // One that comes again has never heard of the peer that is away.
    start_bfdd(&lab, &mut near, "r", &peers);
    wait("the new bfdd is followed", || gateways(&queue).up == 1);
    assert_eq!(flows.send().map(|count| count > 0), [true, true]);
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    lab.detach();
}

/// Returns a message of bfdd, of type 4.
fn message(json: &str) -> Vec<u8> {
    let mut bytes = (json.len() as u32).to_be_bytes().to_vec();
    bytes.extend([0, 0, 4, 1]);
    bytes.extend(json.as_bytes());
    bytes
}

/// Takes a connection, and what it asks for.
fn accept(listener: &UnixListener) -> UnixStream {
    let mut stream = listener.accept().unwrap().0;
    let mut question = [0; 16];
    stream.read_exact(&mut question).unwrap();
    let mask = 3_u64.to_ne_bytes();
    assert_eq!(
        (&question[..4], &question[6..8], &question[8..]),
        (&[0, 0, 0, 8][..], &[4, 1][..], &mask[..])
    );
    stream
}

#[test]
fn a_socket_that_ends_or_lies_leaves_no_gateway_held_down() {
    let path = std::env::temp_dir().join(format!("fibula-bfd-{}", std::process::id()));
    let queue = Shared::<Memory>::default();
    let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
    let control = Control::new(Memory::with_engine("oracle"), settings);
    let shared = Arc::clone(&queue);
    let applier = thread::spawn(move || run(control, &shared));
    assert!(bfd::check(&path).wrong.is_none(), "bfdd may start later");
    bfd::follow(path.clone(), Arc::clone(&queue)).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let down =
        message(r#"{"op":"status","peer-address":"10.2.0.2","state":"down","diagnostics":1,"new":[{}]}"#);
    for (number, end) in [&[][..], &[0xFF; 64][..], &message("{}")[..]].into_iter().enumerate() {
        let mut stream = accept(&listener);
        stream.write_all(&down).unwrap();
        wait("the gateway is held down", || gateways(&queue).held.len() == 1);
        stream.write_all(end).unwrap();
        if number == 0 {
            drop(stream);
        }
        wait("it is not", || gateways(&queue).held.is_empty());
    }
    let malformed = ask(&queue, |control| control.counts().malformed);
    assert_eq!(malformed, 2);
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    drop(listener);
    std::fs::remove_file(path).unwrap();
}
