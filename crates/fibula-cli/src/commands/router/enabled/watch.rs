//! `fibula router watch`: a router's state, drawn again and again.

use super::super::Watch;
use super::rows::glance;
use super::{connect, unexpected};
use crate::exit::Verdict;
use fibula_router::plane::Counter;
use fibula_router::service::{Answer, Ask};
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

/// Moves to the first line and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Looks until it is interrupted, or the reader of the output has gone.
pub(super) fn run(watch: &Watch) -> anyhow::Result<Verdict> {
    let interval = Duration::try_from_secs_f64(watch.interval)?;
    let mut client = connect(&watch.socket)?;
    let mut out = io::stdout();
    let clear = if out.is_terminal() { CLEAR } else { "" };
    let mut before: Option<(Instant, u64, u64, HashMap<String, Counter>)> = None;
    for look in 1.. {
        let Answer::Status(status) = client.ask(&Ask::Status)? else { return unexpected() };
        let Answer::Counters(counters) = client.ask(&Ask::Counters)? else { return unexpected() };
        let now = Instant::now();
        let counters: HashMap<String, Counter> =
            counters.into_iter().map(|counter| (title(&counter), counter)).collect();
        write!(out, "{clear}{}", glance(&status))?;
        if let Some((then, messages, changes, old)) = &before {
            let seconds = (now - *then).as_secs_f64();
            let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
            let (messages, changes) =
                (rate(status.counts.messages, *messages), rate(status.counts.changes, *changes));
            writeln!(out, "{:<12} {messages:.0} messages, {changes:.0} changes", "a second")?;
            let mut names: Vec<&String> = counters.keys().collect();
            names.sort();
            for name in names {
                let packets = old.get(name).map_or(0, |counter| counter.packets);
                let per_second = rate(counters[name].packets, packets);
                writeln!(
                    out,
                    "{name:<32} {:>16} packets {per_second:>12.0} a second",
                    counters[name].packets
                )?;
            }
        }
        out.flush()?;
        if Some(look) == watch.count {
            break;
        }
        before = Some((now, status.counts.messages, status.counts.changes, counters));
        thread::sleep(interval);
    }
    Ok(Verdict::Good)
}

fn title(counter: &Counter) -> String {
    match &counter.label {
        Some(label) => format!("{} {label}", counter.name),
        None => counter.name.to_string(),
    }
}
