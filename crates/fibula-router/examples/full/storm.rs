//! [`Storm`]: a thousand changes a second by BGP, and packets whose ways are known nevertheless.

use crate::bgp::Speaker;
use crate::churn::{Churn, paced};
use crate::network::{Network, PATIENCE, POLL};
use crate::table::{path, way};
use crate::traffic::{Report, Traffic};
use crate::{microseconds, say};
use anyhow::ensure;
use fibula::IpPrefix;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Changes a second.
const CHANGES: u32 = 1000;

/// The time between two packets.
const PACE: Duration = Duration::from_micros(250);

/// The longest time that a process lives before it is killed, in seconds.
const LONGEST_S: f64 = 5.0;

/// Of this number of processes, one is killed only after it has taken over.
const TAKES_OVER: u32 = 5;

/// The speakers and the routes that come and go, while they are not in a storm.
pub(crate) struct Calm {
    pub(crate) speakers: [Speaker; 2],
    pub(crate) churn: Churn,
}

/// Changes and packets, until it is over.
struct Storm {
    traffic: Traffic,
    stop: Arc<AtomicBool>,
    changes: JoinHandle<anyhow::Result<(Calm, u64)>>,
}

impl Storm {
    fn start(network: &Network, mut calm: Calm) -> Self {
        let traffic = Traffic::start(&network.lab, calm.churn.destinations.clone(), PACE);
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let changes = thread::spawn(move || {
            let mut result = Ok(());
            let count = paced(CHANGES, || {
                result = change(&mut calm);
                result.is_ok() && !until.load(Ordering::SeqCst)
            });
            result.map(|()| (calm, count))
        });
        Self { traffic, stop, changes }
    }

    /// Ends it. Returns what became of the packets, and the number of changes.
    fn finish(self) -> anyhow::Result<(Calm, Report, u64)> {
        self.stop.store(true, Ordering::SeqCst);
        let Ok(changes) = self.changes.join() else { anyhow::bail!("the speakers' thread panicked") };
        let (calm, count) = changes?;
        Ok((calm, self.traffic.finish(), count))
    }
}

/// Announces or withdraws a route.
fn change(calm: &mut Calm) -> anyhow::Result<()> {
    let (prefix, value, is_there) = calm.churn.change();
    let speaker = &mut calm.speakers[way(value)];
    let path = path(value, matches!(prefix, IpPrefix::V6(_)));
    let update = if is_there { speaker.announce(path, &[prefix])? } else { Speaker::withdraw(prefix)? };
    speaker.send(&update)
}

/// Announces what is gone, and waits until it is back in the plane.
pub(crate) fn restore(network: &Network, calm: &mut Calm, count: usize) -> anyhow::Result<()> {
    for (prefix, value) in calm.churn.restore() {
        let speaker = &mut calm.speakers[way(value)];
        let update = speaker.announce(path(value, matches!(prefix, IpPrefix::V6(_))), &[prefix])?;
        speaker.send(&update)?;
    }
    network.router.settle(count).map(drop)
}

/// Waits until the neighbours of all destinations are known.
pub(crate) fn resolve(network: &Network, churn: &Churn) -> anyhow::Result<()> {
    let addresses: Vec<IpAddr> = churn.destinations.iter().map(|destination| destination.address).collect();
    let start = Instant::now();
    while !network
        .router
        .lookup(&addresses)?
        .iter()
        .all(|row| row.route.as_ref().is_some_and(|route| route.ways.iter().all(|way| way.resolved)))
    {
        ensure!(start.elapsed() < PATIENCE, "not all neighbours are known");
        thread::sleep(POLL);
    }
    Ok(())
}

/// Forwards for minutes. Returns the packets that were lost or went wrong.
pub(crate) fn soak(network: &Network, calm: Calm, minutes: usize) -> anyhow::Result<(Calm, u64)> {
    let router = &network.router;
    let changes_before = router.status()?.counts.changes;
    let mut before = router.latencies()?;
    let storm = Storm::start(network, calm);
    let start = Instant::now();
    let (mut resident, mut shares) = (Vec::new(), Vec::new());
    for minute in 1..=minutes as u32 {
        thread::sleep((start + minute * Duration::from_mins(1)).saturating_duration_since(Instant::now()));
        let now = router.latencies()?;
        let mut share = now.clone();
        share.subtract(&before)?;
        before = now;
        shares.push(share);
        resident.push(router.memory()[0]);
    }
    let elapsed = start.elapsed().as_secs_f64();
    let (calm, report, count) = storm.finish()?;
    let applied = router.status()?.counts.changes - changes_before;
    say(
        "minutes of changes",
        format!(
            "{minutes}: {:.0} a second by BGP, {:.0} in the plane",
            count as f64 / elapsed,
            applied as f64 / elapsed
        ),
    );
    if let (Some(first), Some(worst)) =
        (shares.first(), shares.iter().max_by_key(|share| share.value_at_quantile(0.99)))
    {
        say("share of the router, first minute", microseconds(first));
        say("share of the router, worst minute", microseconds(worst));
    }
    if let (Some(first), Some(last)) = (resident.first(), resident.last()) {
        let least = resident.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = resident.iter().copied().fold(0.0, f64::max);
        say(
            "memory, each minute",
            format!("first {first:.1}, last {last:.1}, least {least:.1}, greatest {greatest:.1} MB"),
        );
    }
    Ok((calm, judge("packets in these minutes", &report)))
}

/// Kills the router's process at random moments. Returns the packets that were lost or went wrong.
pub(crate) fn kill(network: &mut Network, calm: Calm, kills: u32) -> anyhow::Result<(Calm, u64)> {
    let mut random = fastrand::Rng::with_seed(22);
    let storm = Storm::start(network, calm);
    let mut took_over = 0;
    for number in 1..=kills {
        if number % TAKES_OVER == 0 {
            network.router.until("another process takes over", |status| status.forwarding)?;
            took_over += 1;
        }
        thread::sleep(Duration::from_secs_f64(random.f64() * LONGEST_S));
        network.router.kill(&network.lab)?;
    }
    network.router.until("the last process takes over", |status| status.forwarding)?;
    let (calm, report, _) = storm.finish()?;
    say("processes killed", format!("{kills}, of which {took_over} had taken over"));
    Ok((calm, judge("packets meanwhile", &report)))
}

/// Says what became of packets. Returns the number of those that were lost or went wrong.
fn judge(what: &str, report: &Report) -> u64 {
    let (sent, lost, wrong) = (report.sent(), report.lost(), report.wrong());
    say(what, format!("{sent} sent, {lost} lost, {wrong} by a wrong way"));
    for row in report.faults().into_iter().take(5) {
        println!("  {row:?}");
    }
    lost + wrong
}
