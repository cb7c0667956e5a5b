//! The router forwards while its routes change a thousand times a second.
//!
//! ```text
//!     client               router                         server
//!   ┌──────────┐       ┌───────────────────────┐       ┌──────────┐
//!   │ packets  c0 ── r0                        r1 ── s0 way 0     │
//!   └──────────┘       │ FPM ─▶ feeds ─▶ plane │       │ counted  │
//!                      │  ▲                    r2 ── s1 way 1     │
//!                      └──┼────────────────────┘       └──────────┘
//!                20,000 routes, 1,000 changes a second
//! ```
//! The router's kernel forwards nothing. Each destination has a known set of ways, and a route
//! that always stays. It takes root, and is skipped elsewhere. `common/lab.rs` draws all of the
//! namespaces. `FIBULA_SECONDS` is how long it runs (20); `cargo xtask router-full` does the same
//! with FRR and a full table.
#![cfg(target_os = "linux")]

mod churn;
mod common;
mod daemons;
mod traffic;

use churn::{Churn, paced};
use common::lab::Lab;
use daemons::{Shared, ask, memory, router, wait};
use fibula::{IpPrefix, NextHop};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_router::feed::writer::frame;
use fibula_router::message::{Event, Leg, Object, Target};
use fibula_router::plane::xdp::Mode;
use fibula_router::routes::TableSize;
use std::io::Write;
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};
use traffic::Traffic;

/// The routes of both families.
const SIZE: Size = Size { ipv4: 15_000, ipv6: 5000 };

/// Changes a second.
const CHANGES: u32 = 1000;

/// The time between two packets.
const PACE: Duration = Duration::from_micros(200);

/// What the least memory of the second half may be above that of the first, in kB. A batch that is
/// applied takes more for a moment.
const GROWTH: u64 = 16 << 10;

/// The gateways of each family, by ways.
const GATEWAYS: [[&str; 2]; 2] = [["10.2.0.2", "10.3.0.2"], ["fd02::2", "fd03::2"]];

fn way(next_hop: NextHop) -> usize {
    next_hop.0 as usize % 2
}

/// The id of the next-hop object of a family and a way.
fn id(is_ipv6: bool, way: usize) -> u32 {
    1 + 2 * u32::from(is_ipv6) + way as u32
}

/// A route, or its end.
fn event(prefix: IpPrefix, next_hop: Option<NextHop>) -> Event {
    let is_ipv6 = matches!(prefix, IpPrefix::V6(_));
    let target = next_hop.map(|next_hop| Target::Object(id(is_ipv6, way(next_hop))));
    Event::Route { table: 254, prefix, metric: 20, protocol: 186, target }
}

#[test]
fn a_thousand_changes_a_second_lose_no_packet_and_misdirect_none() {
    let seconds = std::env::var("FIBULA_SECONDS").map_or(20, |text| text.parse().expect("seconds"));
    let Some(lab) = Lab::new("soak") else { return };
    lab.take_all();
    lab.forward_by_plane_alone();
    let queue = Shared::default();
    let quiet = Duration::from_secs(1);
    let (server, applier) = lab.inside("r", || router(lab.open(Mode::Native), quiet, &queue));
    let mut feed = lab.inside("r", || TcpStream::connect(server.tcp_address().unwrap()).unwrap());
    feed.set_nodelay(true).unwrap();
    let mut tell = |event: Event| feed.write_all(&frame(&[event])).unwrap();

    let tables = internet(SIZE, NextHopModel::Near(20), 1).unwrap();
    for (is_ipv6, gateways) in [false, true].into_iter().zip(GATEWAYS) {
        for (way, gateway) in gateways.into_iter().enumerate() {
            let interface = lab.index("r", ["r1", "r2"][way]);
            let leg = Leg { interface, gateway: Some(gateway.parse().unwrap()), weight: 1 };
            tell(Event::Object { id: id(is_ipv6, way), object: Some(Object::Leg(leg)) });
        }
    }
    for route in &tables.ipv4 {
        tell(event(route.prefix.into(), Some(route.next_hop)));
    }
    for route in &tables.ipv6 {
        tell(event(route.prefix.into(), Some(route.next_hop)));
    }
    let are_all_there = || {
        let status = ask(&queue, |control| control.status());
        let is_whole = |table: &TableSize| table.ipv4 >= SIZE.ipv4 && table.ipv6 >= SIZE.ipv6;
        status.forwarding && status.tables.iter().any(is_whole)
    };
    wait("all routes are told", are_all_there);
    let mut churn = Churn::new(&tables, 2000, 256, way);
    let addresses: Vec<IpAddr> = churn.destinations.iter().map(|destination| destination.address).collect();
    wait("all neighbours are known", || {
        let addresses = addresses.clone();
        ask(&queue, move |control| {
            let routes = addresses.iter().map(|&address| control.lookup(254, address).route.unwrap());
            routes.into_iter().all(|route| route.ways[0].resolved)
        })
    });

    let traffic = Traffic::start(&lab, churn.destinations.clone(), PACE);
    let start = Instant::now();
    let mut least = [u64::MAX; 2];
    let mut sample_at = Duration::ZERO;
    let changes = paced(CHANGES, || {
        let (prefix, next_hop, is_there) = churn.change();
        tell(event(prefix, is_there.then_some(next_hop)));
        if start.elapsed() > sample_at {
            sample_at += Duration::from_millis(200);
            let half = usize::from(start.elapsed() > Duration::from_secs(seconds) / 2);
            least[half] = least[half].min(memory(std::process::id(), "VmRSS"));
        }
        start.elapsed() < Duration::from_secs(seconds)
    });
    let report = traffic.finish();
    let status = ask(&queue, |control| control.status());
    println!(
        "{changes} changes and {} packets in {seconds} s; at least {least:?} kB resident; latency p50 {:.0} us, \
         p99 {:.0} us",
        report.sent(),
        status.latency_p50_us,
        status.latency_p99_us
    );
    assert_eq!((report.wrong(), report.lost()), (0, 0), "{:?}", report.faults());
    assert!(
        report.sent() > 100 * seconds && changes > 100 * seconds,
        "{} packets, {changes} changes",
        report.sent()
    );
    assert!(least[1] < least[0] + GROWTH, "{least:?} kB");
    assert_eq!((status.counts.refused, status.counts.malformed), (0, 0));
    let gone = churn.restore();
    for &(prefix, next_hop) in &gone {
        tell(event(prefix, Some(next_hop)));
    }
    wait("all routes are back", are_all_there);
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
    lab.detach();
}
