//! A real zebra tells its routes, and every one is in the plane as the kernel has it.
//!
//! ```text
//!  namespace fibula-frr-PID
//!  ┌───────────────────────────────────────────────────────────────────┐
//!  │ staticd ──zapi──▶ zebra ◀──rtnetlink──▶ kernel ──rtnetlink─┐      │
//!  │ (50 routes)         │              (20,000 routes)         ▼      │
//!  │                     └──FPM, TCP──────────┬──────▶ feeds, control, │
//!  │                                          │        plane in memory │
//!  │              compared: ip route get ─────┘              ▲         │
//!  │                                    lookups ─────────────┘         │
//!  │ r0 10.99.255.254/16, fd99::ffff/64 ◀──veth──▶ p0                  │
//!  └───────────────────────────────────────────────────────────────────┘
//! ```
//! It takes root and Debian's package `frr`, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod daemons;

use daemons::{Frr, Shared, Space, ask, wait};
use fibula_router::control::{Control, RouteRow, Settings, Way, run};
use fibula_router::feed::{kernel, writer, zebra};
use fibula_router::plane::memory::Memory;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const ROUTES: u32 = 20_000;
/// Routes of staticd.
const STATIC: u32 = 50;
const QUIET: Duration = Duration::from_secs(2);

fn sizes(queue: &Shared<Memory>) -> (usize, usize) {
    ask(queue, |control| {
        let status = control.status();
        let main = status.tables.iter().find(|table| table.table == 254);
        main.map_or((0, 0), |table| (table.ipv4, table.ipv6))
    })
}

/// The prefix of the n-th route: a /24 that no other has, in every part of 20.0.0.0/6.
fn prefix4(n: u32) -> Ipv4Addr {
    Ipv4Addr::from((20 << 24) + ((n.wrapping_mul(40_503) & 0xFFFF) << 8) + ((n & 3) << 24))
}

fn prefix6(n: u32) -> Ipv6Addr {
    Ipv6Addr::from((0x2001_0DB8_u128 << 96) + (u128::from(n) << 64))
}

/// Commands of `ip` that make routes of every kind. zebra learns them from the kernel.
fn commands() -> String {
    let mut text = String::new();
    for n in 0..ROUTES {
        let (prefix, gateway) = (prefix4(n), 1 + n % 40);
        let _ = match n % 100 {
            98 => writeln!(text, "route add blackhole {prefix}/24"),
            99 => writeln!(text, "route add unreachable {prefix}/24"),
            7 | 57 => writeln!(
                text,
                "route add {prefix}/24 nexthop via 10.99.1.{gateway} weight 2 nexthop via 10.99.2.{gateway}"
            ),
            _ => writeln!(text, "route add {prefix}/24 via 10.99.1.{gateway}"),
        };
        if n.is_multiple_of(4) {
            let _ = writeln!(text, "route add {}/64 via fd99::{gateway:x}", prefix6(n));
        }
    }
    text
}

/// Routes that zebra has of staticd. Reading thousands of them takes staticd minutes.
fn configuration() -> String {
    let lines = (0..STATIC).map(|n| format!("ip route 192.0.2.{n}/32 10.99.3.{}", 1 + n % 7));
    lines.collect::<Vec<_>>().join("\n")
}

/// Has `ip` do what several lines say, which must succeed. Returns what it printed.
fn ip(lines: &str) -> String {
    let mut child = Command::new("ip")
        .args(["-o", "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = format!("{lines}\n");
    let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "ip -batch");
    String::from_utf8(output.stdout).unwrap()
}

/// Asks the kernel for addresses, all of which have routes that forward.
fn kernel_answers(addresses: &[IpAddr]) -> Vec<(Option<IpAddr>, String)> {
    let lines: Vec<String> = addresses.iter().map(|address| format!("route get {address}")).collect();
    let text = ip(&lines.join("\n"));
    let after = |line: &str, word: &str| {
        let mut words = line.split_whitespace().skip_while(|other| *other != word);
        words.nth(1).map(str::to_owned)
    };
    let answers = text.lines().filter(|line| line.contains(" dev "));
    answers
        .map(|line| (after(line, "via").map(|via| via.parse().unwrap()), after(line, "dev").unwrap()))
        .collect()
}

/// Compares 10,000 addresses with the kernel.
fn compare(queue: &Shared<Memory>) {
    let mut random = fastrand::Rng::with_seed(7);
    let addresses: Vec<IpAddr> = (0..10_000)
        .map(|_| {
            let n = random.u32(..ROUTES);
            let host = random.u8(1..);
            if n.is_multiple_of(4) && random.bool() {
                IpAddr::from(Ipv6Addr::from(prefix6(n).to_bits() + u128::from(host)))
            } else {
                // Those that do not forward are compared elsewhere.
                let n = if n % 100 >= 98 { n - 2 } else { n };
                Ipv4Addr::from(prefix4(n).to_bits() + u32::from(host)).into()
            }
        })
        .collect();
    let kernel = kernel_answers(&addresses);
    assert_eq!(kernel.len(), addresses.len(), "the kernel has a route for each");
    let asked = addresses.clone();
    let rows: Vec<Option<RouteRow>> =
        ask(queue, move |control| asked.iter().map(|&address| control.lookup(254, address).route).collect());
    for ((address, (gateway, interface)), row) in addresses.iter().zip(kernel).zip(rows) {
        let ways = row.unwrap_or_else(|| panic!("{address}: no route")).ways;
        let is_one =
            ways.iter().any(|way| way.gateway == gateway && way.interface.as_ref() == Some(&interface));
        assert!(is_one, "{address}: the kernel takes {gateway:?} {interface}, the plane {ways:?}");
    }
    let kinds = ask(queue, |control| {
        [98, 99].map(|n| control.lookup(254, prefix4(n).into()).route.unwrap().ways[0].kind)
    });
    assert_eq!(kinds, [Way::Blackhole, Way::Unreachable]);
}

/// With next-hop groups, which are zebra's default, and without.
#[test]
fn zebras_routes_are_the_planes() {
    for groups in [true, false] {
        thread::spawn(move || follow(groups)).join().unwrap();
    }
}

fn follow(groups: bool) {
    let name = format!("fibula-frr-{}", std::process::id());
    let Some(mut frr) = Frr::new(&name) else { return };
    let Some(_space) = Space::new(&name) else { return };
    let queue = Shared::default();
    let filter = kernel::Filter { routes: false, tables: Vec::new(), protocols: Vec::new() };
    kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
    let any = zebra::Place::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let server = zebra::Server::listen(&any, zebra::Options::default(), Arc::clone(&queue)).unwrap();
    let settings = Settings { quiet: QUIET, ..Settings::default() };
    let control = Control::new(Memory::default(), settings);
    let applier = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || run(control, &queue))
    };

    let address = server.tcp_address().unwrap();
    let port = address.port();
    let mut zebra = format!("fpm address 127.0.0.1 port {port}\n");
    if !groups {
        zebra += "no fpm use-next-hop-groups\n";
    }
    frr.start_zebra(&zebra);
    ip(&commands());
    frr.start("staticd", &configuration(), &[]);
    let are_all_there = || {
        let (ipv4, ipv6) = sizes(&queue);
        ipv4 >= (ROUTES + STATIC) as usize && ipv6 >= ROUTES as usize / 4
    };
    wait("all routes are told", are_all_there);
    wait("the plane is started", || ask(&queue, |control| control.plane().has_started()));
    compare(&queue);

    // A route goes, and comes back.
    let without = sizes(&queue).0 - 1;
    let gone = "ip route 192.0.2.0/32 10.99.3.1";
    frr.configure(&format!("no {gone}"));
    wait("a route is gone", || sizes(&queue).0 == without);
    frr.configure(gone);
    wait("a route is back", || sizes(&queue).0 == without + 1);

    // Another connection comes, and is refused. zebra's goes on.
    let sessions = ask(&queue, |control| control.status().feeds[0].session);
    let mut other = TcpStream::connect(address).unwrap();
    let _ = other.write_all(&writer::frame(&[])).and_then(|()| other.read(&mut [0]));
    wait("it is refused", || ask(&queue, |control| control.counts().strangers) == 1);
    assert_eq!(ask(&queue, |control| control.status().feeds[0].session), sessions);
    assert!(are_all_there(), "no route is lost meanwhile");
    wait("the session is complete", || ask(&queue, |control| control.deadline().is_none()));
    compare(&queue);

    // zebra dies. The routes stay until a new one has had time to tell them again.
    frr.kill("zebra");
    assert!(are_all_there(), "routes stay when zebra dies");
    frr.start_zebra(&zebra);
    wait("the new session is complete", || ask(&queue, |control| control.deadline().is_none()));
    wait("all routes are told again", are_all_there);
    compare(&queue);
    let counts = ask(&queue, |control| control.counts());
    assert_eq!(counts.refused, 0);
    assert_eq!(counts.malformed, 0);
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}
