//! The papers' machines in model: closed queueing networks, run event by event.
//!
//! A thread takes packets over and over. A packet is a list of [`Step`]s: it holds a station (a
//! core, a memory channel) that other threads wait for in order of arrival, or it waits for
//! something that nobody else needs (a latency). Rings hand packets on from thread to thread, and
//! turns keep threads in order. What a packet reads comes from an engine's own metered accesses;
//! what the machine takes for it is the machine's description ([`ixp2800`], [`tilepro64`],
//! [`shared`]).
//!
//! Times are cycles. All is deterministic: of events at the same time the one that was made first
//! comes first.

pub(crate) mod ixp2800;
pub(crate) mod shared;
pub(crate) mod tilepro64;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parts of a cycle in which time is kept.
const PARTS: f64 = 1000.0;

/// The share of packets before the rate is taken.
const WARM_UP: usize = 4;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Waits for a server of a station and holds it.
    Hold { station: usize, cycles: f64 },
    /// Passes time.
    Wait(f64),
    /// Puts a token into a ring, when there is room.
    Put(usize),
    /// Takes a token from a ring, when there is one.
    Take(usize),
    /// Waits for its turn among the threads, and passes it on.
    Turn(usize),
    /// A packet is finished.
    Done,
}

/// The stations, rings and turns of a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The servers of each station.
    pub(crate) stations: Vec<usize>,
    /// The tokens that each ring holds.
    pub(crate) rings: Vec<usize>,
    /// How many turns there are.
    pub(crate) turns: usize,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Packets finished in a cycle.
    pub(crate) rate: f64,
    /// The share of time in which the servers of each station were held.
    pub(crate) busy: Vec<f64>,
}

/// A thread's packets, one after the other and again.
pub(crate) type Thread = Vec<Step>;

/// A ring: its tokens, and who waits to take and to put.
#[derive(Clone, Debug, Default)]
struct Ring {
    tokens: usize,
    takers: VecDeque<usize>,
    putters: VecDeque<usize>,
}

/// Runs the threads until `packets` are finished. Each begins at the start of its steps.
///
/// Stops early if all threads wait for each other.
pub(crate) fn run(machine: &Machine, threads: &[Thread], packets: usize) -> Outcome {
    let mut free: Vec<Vec<u64>> = machine.stations.iter().map(|&servers| vec![0; servers]).collect();
    let mut held = vec![0_u64; machine.stations.len()];
    let mut rings = vec![Ring::default(); machine.rings.len()];
    let mut turns = vec![0_usize; machine.turns];
    let mut waits: Vec<Option<usize>> = vec![None; threads.len()]; // the turn that a thread waits for
    let mut at = vec![0_usize; threads.len()];
    let mut events: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
    let mut made = 0;
    let mut push = |events: &mut BinaryHeap<_>, time: u64, thread: usize| {
        made += 1;
        events.push(Reverse((time, made, thread)));
    };
    (0..threads.len()).for_each(|thread| push(&mut events, 0, thread));
    let (mut done, mut now, mut warm) = (0, 0, (0, 0));
    while let Some(Reverse((time, _, thread))) = events.pop() {
        now = time;
        if done >= packets {
            break;
        }
        let steps = &threads[thread];
        let step = steps[at[thread] % steps.len()];
        let mut next = Some(time);
        match step {
            Step::Wait(cycles) => next = Some(time + parts(cycles)),
            Step::Hold { station, cycles } => {
                let Some(server) = free[station].iter_mut().min() else { break };
                *server = time.max(*server) + parts(cycles);
                held[station] += parts(cycles);
                next = Some(*server);
            }
            Step::Put(ring) => {
                let capacity = machine.rings[ring];
                let ring = &mut rings[ring];
                if let Some(taker) = ring.takers.pop_front() {
                    at[taker] += 1;
                    push(&mut events, time, taker);
                } else if ring.tokens < capacity {
                    ring.tokens += 1;
                } else {
                    ring.putters.push_back(thread);
                    next = None;
                }
            }
            Step::Take(ring) => {
                let ring = &mut rings[ring];
                if let Some(putter) = ring.putters.pop_front() {
                    at[putter] += 1;
                    push(&mut events, time, putter);
                } else if ring.tokens > 0 {
                    ring.tokens -= 1;
                } else {
                    ring.takers.push_back(thread);
                    next = None;
                }
            }
            Step::Turn(turn) => {
                if turns[turn] % threads.len() == thread {
                    turns[turn] += 1;
                    let follower = turns[turn] % threads.len();
                    if waits[follower] == Some(turn) {
                        waits[follower] = None;
                        push(&mut events, time, follower);
                    }
                } else {
                    waits[thread] = Some(turn);
                    next = None;
                }
            }
            Step::Done => {
                done += 1;
                if done == packets / WARM_UP {
                    warm = (done, time);
                }
            }
        }
        if let Some(next) = next {
            at[thread] += 1;
            push(&mut events, next, thread);
        }
    }
    let rate = (done - warm.0) as f64 * PARTS / now.saturating_sub(warm.1).max(1) as f64;
    let capacity = |station: usize| now.max(1) as f64 * machine.stations[station] as f64;
    // What is held past the end of the run is no part of it.
    let past = |station: usize| free[station].iter().map(|&until| until.saturating_sub(now)).sum::<u64>();
    let busy = |(station, &held)| (held - past(station)) as f64 / capacity(station);
    let busy = held.iter().enumerate().map(busy).collect();
    Outcome { rate, busy }
}

fn parts(cycles: f64) -> u64 {
    (cycles * PARTS).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts a rate within a thousandth.
    fn assert_rate(machine: &Machine, threads: &[Thread], expected: f64) {
        let Outcome { rate, .. } = run(machine, threads, 20_000);
        assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} beside {expected}");
    }

    fn one_station(servers: usize) -> Machine {
        Machine { stations: vec![servers], ..Machine::default() }
    }

    #[test]
    fn threads_that_think_and_hold_one_server_reach_the_closed_form() {
        // N deterministic customers that think for Z and hold for S: min(N / (Z + S), 1 / S).
        let thread = vec![Step::Wait(90.0), Step::Hold { station: 0, cycles: 10.0 }, Step::Done];
        for (threads, expected) in [(1, 0.01), (5, 0.05), (10, 0.1), (20, 0.1)] {
            assert_rate(&one_station(1), &vec![thread.clone(); threads], expected);
        }
        // Two servers: twice the bound.
        assert_rate(&one_station(2), &vec![thread; 30], 0.2);
    }

    #[test]
    fn a_station_is_busy_as_its_rate_says() {
        let thread = vec![Step::Wait(90.0), Step::Hold { station: 0, cycles: 10.0 }, Step::Done];
        let outcome = run(&one_station(1), &vec![thread; 5], 20_000);
        assert!((outcome.busy[0] - outcome.rate * 10.0).abs() < 1e-3, "{outcome:?}");
    }

    #[test]
    fn a_station_that_many_wait_for_is_busy_all_the_time_and_no_longer() {
        let thread = vec![Step::Hold { station: 0, cycles: 10.0 }, Step::Done];
        let outcome = run(&one_station(1), &vec![thread; 50], 1000);
        assert!((outcome.busy[0] - 1.0).abs() < 1e-9, "{outcome:?}");
    }

    #[test]
    fn a_pipeline_is_as_fast_as_its_slowest_stage() {
        let machine = Machine { rings: vec![4], ..Machine::default() };
        let first = vec![Step::Wait(30.0), Step::Put(0)];
        for (second, expected) in [(20.0, 30.0), (50.0, 50.0)] {
            let last = vec![Step::Take(0), Step::Wait(second), Step::Done];
            assert_rate(&machine, &[first.clone(), last], 1.0 / expected);
        }
        // Two of the slow stage: the first is slowest.
        let last = vec![Step::Take(0), Step::Wait(50.0), Step::Done];
        assert_rate(&machine, &[first, last.clone(), last], 1.0 / 30.0);
    }

    #[test]
    fn a_turn_passes_from_thread_to_thread() {
        let machine = Machine { turns: 1, ..Machine::default() };
        // The slow thread is waited for: each has one packet a round.
        let packet = |cycles| vec![Step::Wait(cycles), Step::Turn(0), Step::Done];
        assert_rate(&machine, &[packet(10.0), packet(70.0), packet(10.0)], 3.0 / 70.0);
    }

    #[test]
    fn threads_that_wait_for_each_other_end_the_run() {
        let machine = Machine { rings: vec![1], ..Machine::default() };
        let outcome = run(&machine, &[vec![Step::Take(0), Step::Done]], 10);
        assert!(outcome.rate.abs() < 1e-9);
    }
}
