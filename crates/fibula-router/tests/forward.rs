//! From a routing daemon to packets: zebra tells its routes, the router resolves neighbours, and
//! the XDP program forwards.
//!
//! ```text
//!     client               router                        server
//!   ┌──────────┐       ┌──────────────────────┐       ┌──────────┐
//!   │ 10.1.0.2 c0 ── r0 10.1.0.1     10.2.0.1 r1 ── s0 10.2.0.2  │
//!   └──────────┘       │ staticd ▶ zebra      │       │ 10.64/10 │
//!                      │  └FPM▶ feeds ▶ plane │       └──────────┘
//!                      └──────────────────────┘
//! ```
//! The router's kernel forwards nothing (`forward_by_plane_alone`), so what arrives was forwarded
//! by the plane. All takes root, and zebra takes Debian's package `frr`. Elsewhere tests are
//! skipped.
//! `common/lab.rs` draws all of the namespaces.
#![cfg(target_os = "linux")]

mod common;
mod daemons;

use common::lab::Lab;
use daemons::{Frr, Shared, ask, router, wait};
use fibula::{IpPrefix, Prefix};
use fibula_router::feed::{Feed, writer};
use fibula_router::message::{Event, Leg, Target};
use fibula_router::plane::xdp::Mode;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

const QUIET: Duration = Duration::from_secs(1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 64, 1, 2);
/// How much is sent over TCP, in bytes.
const SENT: usize = 8 << 20;

/// Has the server send back every datagram, as long as the process lives.
fn echo(lab: &Lab) {
    let socket = lab.inside("s", || UdpSocket::bind((SERVER, 7)).unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            // The client may be out of reach.
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
}

/// Returns whether the server answers the client within half a second.
fn answers(lab: &Lab) -> bool {
    let client = lab.inside("c", || UdpSocket::bind((CLIENT, 0)).unwrap());
    client.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let sent = client.send_to(b"here", (SERVER, 7));
    sent.is_ok() && client.recv(&mut [0; 64]).is_ok_and(|length| length == 4)
}

/// Sends bytes to the server, which must all arrive, while something is done in the middle.
fn transfer(lab: &Lab, meanwhile: impl FnOnce()) {
    let bytes: Vec<u8> = (0..SENT).map(|at| ((at * 2_654_435_761) >> 7) as u8).collect();
    let listener = lab.inside("s", || TcpListener::bind((SERVER, 7)).unwrap());
    let reader = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut stream = lab.inside("c", || TcpStream::connect((SERVER, 7)).unwrap());
    stream.write_all(&bytes[..SENT / 2]).unwrap();
    meanwhile();
    stream.write_all(&bytes[SENT / 2..]).unwrap();
    drop(stream);
    assert!(reader.join().unwrap() == bytes, "other bytes came than were sent");
}

#[test]
fn packets_follow_zebras_routes() {
    let Some(lab) = Lab::new("forward") else { return };
    let Some(mut frr) = Frr::new(lab.name()) else { return };
    lab.ip("r", "route del 10.64.0.0/10");
    echo(&lab);
    let queue = Shared::default();
    let (server, applier) = lab.inside("r", || router(lab.open(Mode::Native), QUIET, &queue));
    let zebra = format!("fpm address 127.0.0.1 port {}\n", server.tcp_address().unwrap().port());
    lab.inside("r", || {
        frr.start_zebra(&zebra);
        frr.start("staticd", "ip route 10.64.0.0/10 10.2.0.2\n", &[]);
    });
    lab.forward_by_plane_alone();
    wait("the plane is started", || ask(&queue, |control| control.status().forwarding));
    wait("the server answers", || answers(&lab));
    let row = ask(&queue, |control| control.lookup(254, IpAddr::from(SERVER)).route.unwrap());
    assert_eq!((row.prefix.as_str(), row.ways[0].resolved), ("10.64.0.0/10", true));

    // A more specific blackhole drops, and its end lets packets through again.
    frr.configure("ip route 10.64.1.0/24 blackhole");
    wait("the server answers no more", || !answers(&lab));
    frr.configure("no ip route 10.64.1.0/24 blackhole");
    wait("the server answers again", || answers(&lab));

    // zebra dies in the middle of a transfer, and another tells the routes again.
    transfer(&lab, || frr.kill("zebra"));
    assert!(answers(&lab), "the plane forwards without zebra");
    transfer(&lab, || lab.inside("r", || frr.start_zebra(&zebra)));
    wait("the new session is complete", || {
        let feeds = ask(&queue, |control| control.status().feeds);
        feeds.iter().all(|feed| {
            feed.connected && feed.complete && (feed.session == 2 || feed.feed.to_string() != "fpm")
        })
    });
    wait("the server answers still", || answers(&lab));

    // The neighbour has another MAC address.
    lab.ip("s", "link set s0 down");
    lab.ip("s", "link set s0 address 02:00:00:00:00:99");
    lab.ip("s", "link set s0 up");
    lab.ip("s", "route add default via 10.2.0.1");
    wait("the server answers with its new address", || answers(&lab));
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    lab.detach();
}

/// Tells a router by FPM of `count` routes that no packet takes, and of those that packets take.
fn tell(lab: &Lab, mut zebra: &TcpStream, count: u32, has_theirs: bool) {
    let route = |prefix: IpPrefix, by: &str, gateway: Ipv4Addr| {
        let leg = Leg { interface: lab.index("r", by), gateway: Some(gateway.into()), weight: 1 };
        let target = Some(Target::Legs([leg].into()));
        writer::frame(&[Event::Route { table: 254, prefix, metric: 20, protocol: 186, target }])
    };
    let others = (0..count).map(|n| Prefix::<u32>::containing(100 << 24 | n << 8, 24).into());
    let to_client = ("10.1.0.0/24".parse().unwrap(), "r0", CLIENT);
    let to_server = ("10.64.0.0/10".parse().unwrap(), "r1", Ipv4Addr::new(10, 2, 0, 2));
    let theirs = [to_client, to_server].into_iter().filter(|_| has_theirs);
    let all = others.map(|prefix| (prefix, "r1", to_server.2)).chain(theirs);
    let frames: Vec<u8> = all.flat_map(|(prefix, by, gateway)| route(prefix, by, gateway)).collect();
    zebra.write_all(&frames).unwrap();
}

#[test]
fn ten_routes_of_a_zebra_and_a_router_that_both_began_again_replace_no_full_table() {
    let Some(lab) = Lab::new("both") else { return };
    lab.ip("r", "route del 10.64.0.0/10");
    echo(&lab);
    lab.forward_by_plane_alone();
    let begin = || {
        let queue = Shared::default();
        let (server, applier) = lab.inside("r", || router(lab.open(Mode::Native), QUIET, &queue));
        let zebra = lab.inside("r", || TcpStream::connect(server.tcp_address().unwrap()).unwrap());
        (queue, applier, zebra)
    };
    let (queue, applier, zebra) = begin();
    tell(&lab, &zebra, 500, true);
    wait("the server answers", || answers(&lab));
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    drop(zebra);

    let (queue, applier, zebra) = begin();
    tell(&lab, &zebra, 10, false);
    thread::sleep(5 * QUIET);
    let status = ask(&queue, |control| control.status());
    let fpm = status.feeds.iter().find(|feed| feed.feed == Feed::Fpm).unwrap();
    assert_eq!((status.forwarding, fpm.heard, fpm.wanted), (false, 10, 251));
    assert!(answers(&lab), "by the table before");
    tell(&lab, &zebra, 500, true);
    wait("the plane is started", || ask(&queue, |control| control.status().forwarding));
    assert!(answers(&lab), "by the new table");
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    lab.detach();
}
