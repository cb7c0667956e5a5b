//! The first session of FPM, from the first update of BGP on, and a replay.

use crate::bgp::Speaker;
use crate::network::{Network, SILENCE};
use crate::table::updates;
use crate::{latency, say};
use anyhow::ensure;
use fibula_io::table::Tables;
use fibula_router::feed::Feed;
use std::thread;
use std::time::Instant;

/// The messages of a poll from which on they are a replay, and not neighbours that are asked for.
const BURST: u64 = 200;

/// Announces the tables. Waits until the plane has all routes and forwards.
pub(crate) fn load(network: &Network, speakers: &mut [Speaker; 2], tables: &Tables) -> anyhow::Result<()> {
    let count = tables.ipv4.len() + tables.ipv6.len();
    let messages = [updates(tables, &speakers[0], 0)?, updates(tables, &speakers[1], 1)?];
    let before = network.router.latencies()?;
    let start = Instant::now();
    let last = thread::scope(|scope| {
        let senders = speakers.iter_mut().zip(&messages);
        let threads: Vec<_> =
            senders.map(|(speaker, messages)| scope.spawn(move || speaker.send(messages))).collect();
        let last = network.router.settle(count);
        for thread in threads {
            ensure!(thread.join().is_ok_and(|sent| sent.is_ok()), "a speaker lost its session");
        }
        last
    });
    let (plane, zebra) = (last? - start, network.zebra_sent()? - start);
    say("first update to the last route in the plane", format!("{:.2} s", plane.as_secs_f64()));
    say("first update to zebra's last send", format!("{:.2} s", zebra.as_secs_f64()));
    say("routes a second", format!("{:.0}", count as f64 / plane.as_secs_f64()));
    say("share of the router", latency(&network.router.latencies()?, &before)?);
    network.router.until("the plane forwards", |status| status.forwarding)?;
    memory(network);
    Ok(())
}

/// Cuts FPM, so that zebra tells everything again.
pub(crate) fn replay(network: &Network) -> anyhow::Result<()> {
    let router = &network.router;
    let before = router.latencies()?;
    let at_first = router.status()?;
    network.cut_fpm();
    let (mut messages, mut first, mut last) = (at_first.counts.messages, None, Instant::now());
    router.until("the replay is over", |status| {
        let now = Instant::now();
        if status.counts.messages >= messages + BURST {
            first.get_or_insert(now);
            last = now;
        }
        messages = status.counts.messages;
        first.is_some() && now - last > SILENCE
    })?;
    let zebra = network.zebra_sent()?;
    let start = first.unwrap_or(last);
    let told = messages - at_first.counts.messages;
    say("replay: first message to the last in the plane", format!("{:.2} s", (last - start).as_secs_f64()));
    say("replay: first message to zebra's last send", format!("{:.2} s", (zebra - start).as_secs_f64()));
    say("replay: messages a second", format!("{:.0}", told as f64 / (last - start).as_secs_f64()));
    say("replay: share of the router", latency(&router.latencies()?, &before)?);
    router.until("the replay is complete", |status| {
        status.feeds.iter().all(|feed| feed.feed != Feed::Fpm || (feed.complete && feed.connected))
    })?;
    thread::sleep(SILENCE);
    memory(network);
    Ok(())
}

fn memory(network: &Network) {
    let [now, peak] = network.router.memory();
    say("memory of the router, and its peak", format!("{now:.0} MB, {peak:.0} MB"));
}
