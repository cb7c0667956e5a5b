//! A route is withdrawn on the wire: how long until packets go the other way?
//!
//! ```text
//!  10.64.0.0/10 by way 1 stays;  10.64.n.0/24 by way 0 is withdrawn, one n after the other
//! ```
//! A packet goes to 10.64.n.1 each 100 microseconds and carries its time. The first one that came
//! the other way says when the plane had changed.

use crate::bgp::Speaker;
use crate::network::{Network, PATIENCE, POLL};
use crate::table::path;
use crate::traffic::{Destination, Traffic};
use crate::{latency, microseconds, say};
use anyhow::{Context, ensure};
use fibula::{IpPrefix, NextHop, Prefix};
use hdrhistogram::Histogram;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

/// How many routes are withdrawn.
const WITHDRAWN: u8 = 200;

/// The time between two packets.
const PACE: Duration = Duration::from_micros(100);

/// Values that lead way 0 and way 1.
const VALUES: [NextHop; 2] = [NextHop(2), NextHop(3)];

fn address(n: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 64, n, host)
}

fn prefix(n: u8, length: u8) -> IpPrefix {
    Prefix::containing(address(n, 0).to_bits(), length).into()
}

/// Withdraws routes one after the other. Returns the packets that were lost.
pub(crate) fn withdraw(network: &Network, speakers: &mut [Speaker; 2]) -> anyhow::Result<u64> {
    let more_specific: Vec<IpPrefix> = (0..WITHDRAWN).map(|n| prefix(n, 24)).collect();
    let updates = [
        speakers[0].announce(path(VALUES[0], false), &more_specific)?,
        speakers[1].announce(path(VALUES[1], false), &[prefix(0, 10)])?,
    ];
    for (speaker, updates) in speakers.iter_mut().zip(updates) {
        speaker.send(&updates)?;
    }
    let gateways = VALUES.map(|value| path(value, false).gateway);
    let asked = [address(WITHDRAWN - 1, 1), address(WITHDRAWN, 1)].map(Into::into);
    let start = Instant::now();
    while !network.router.lookup(&asked)?.iter().zip(gateways).all(|(row, gateway)| {
        row.route
            .as_ref()
            .is_some_and(|route| route.ways[0].gateway == Some(gateway) && route.ways[0].resolved)
    }) {
        ensure!(start.elapsed() < PATIENCE, "the routes to withdraw are not in the plane");
        thread::sleep(POLL);
    }

    let before = network.router.latencies()?;
    let (mut took, mut lost) = (Histogram::<u64>::new(3)?, 0);
    for n in 0..WITHDRAWN {
        let to = Destination { address: address(n, 1).into(), may: [true, true] };
        let traffic = Traffic::start(&network.lab, vec![to], PACE);
        until(&traffic, 0)?;
        let start = Instant::now();
        speakers[0].send(&Speaker::withdraw(prefix(n, 24))?)?;
        until(&traffic, 1)?;
        let report = traffic.finish();
        let changed = report.rows[0].first[1].context("packets came by way 1")?;
        took.record(changed.saturating_duration_since(start).as_nanos() as u64)?;
        lost += report.lost();
    }
    say("withdraw on the wire to the first packet elsewhere", microseconds(&took));
    say("of which the router's share", latency(&network.router.latencies()?, &before)?);
    say("packets lost in these withdraws", lost.to_string());
    Ok(lost)
}

/// Waits until packets come by a way.
fn until(traffic: &Traffic, way: usize) -> anyhow::Result<()> {
    let start = Instant::now();
    while traffic.report().rows[0].came[way] < 20 {
        ensure!(start.elapsed() < PATIENCE, "no packet comes by way {way}");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
