//! The IXP2800 of the TrieC paper: microengines of 8 threads, SRAM channels, DRAM behind one bus.
//!
//! A thread holds its microengine while it computes, and gives it away while memory answers. The
//! latencies are those of the paper's section 4, the bus that of its section 5.5. Two numbers are
//! fitted, each to one cell: the cycles of a packet's instructions to Table 6 without overlapping
//! (one microengine), and the cycles that a channel is held for an access to Table 4's 1-SRAM with
//! eight.

use super::{Machine, Outcome, Step, Thread, run};

/// Cycles a second.
pub(crate) const CLOCK: f64 = 1.4e9;

/// The threads of a microengine.
pub(crate) const THREADS: usize = 8;

/// The accesses of the worst case.
pub(crate) const WORST: usize = 8;

/// Fitted: the cycles of the instructions of a worst packet, and those that an access holds a
/// channel.
const INSTRUCTIONS: f64 = 170.5;
const CHANNEL: f64 = 5.2;

/// Section 4: the cycles until SRAM and DRAM answer.
const SRAM: f64 = 150.0;
const DRAM: f64 = 300.0;

/// Section 5.5: the bytes a cycle of the bus from DRAM, 2.8 gigabytes a second.
const BUS: f64 = 2.8e9 / CLOCK;

/// Section 5.7: the instructions that fill delay slots of a packet.
const DELAY_SLOTS: f64 = 20.0;

/// The cycles of the instructions that loop over the set bits of a word by FFS: find, clear, count
/// and branch. Of the processor's manual, not fitted.
const FFS_LOOP: f64 = 6.0;

/// The cycles of a scratch ring's latency, and of the instructions around a put or get; those of a
/// ring to the next neighbour. Of the processor's manual, not fitted.
const SCRATCH: f64 = 60.0;
const RING_INSTRUCTIONS: f64 = 10.0;

/// The cycles of the instructions to wait for a signal and to pass it on. Not fitted.
const SIGNAL: f64 = 5.0;

/// The packets of a run.
const PACKETS: usize = 3000;

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Access {
    /// A channel of SRAM.
    Sram(usize),
    /// This many bytes of DRAM.
    Dram(f64),
}

/// How a packet differs from the paper's own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variant {
    /// Without the instructions in delay slots.
    pub(crate) exposed: bool,
    /// The bits that loops over FFS count in a packet; none with POP_COUNT.
    pub(crate) ffs_bits: f64,
    /// Packets enter and leave in order.
    pub(crate) ordered: bool,
}

/// Returns the rate in million packets a second, and the busiest shares: of the most loaded channel
/// and of the bus. `packets` are the accesses of some packets, which threads take in turn.
pub(crate) fn rate(
    threads: usize,
    channels: usize,
    packets: &[Vec<Access>],
    variant: Variant,
) -> (f64, f64, f64) {
    let microengines = threads.div_ceil(THREADS);
    let bus = microengines + channels;
    let machine = Machine {
        stations: [vec![1; microengines], vec![1; channels], vec![1]].concat(),
        turns: 2,
        ..Machine::default()
    };
    let thread = |thread: usize| -> Thread {
        let mine = packets.iter().skip(thread % packets.len().max(1)).chain(packets).take(packets.len());
        let mut steps = Vec::new();
        for packet in mine {
            let turn = |steps: &mut Thread, turn| {
                steps.push(Step::Turn(turn));
                steps.push(Step::Hold { station: thread / THREADS, cycles: SIGNAL });
            };
            if variant.ordered {
                turn(&mut steps, 0);
            }
            steps.extend(one(packet, thread / THREADS, microengines, bus, variant));
            if variant.ordered {
                turn(&mut steps, 1);
            }
            steps.push(Step::Done);
        }
        steps
    };
    let all: Vec<Thread> = (0..threads).map(thread).collect();
    told(&run(&machine, &all, PACKETS), microengines, channels)
}

fn told(outcome: &Outcome, microengines: usize, channels: usize) -> (f64, f64, f64) {
    let most = |busy: &[f64]| busy.iter().copied().fold(0.0, f64::max);
    let (memory, bus) = outcome.busy[microengines..].split_at(channels);
    (outcome.rate * CLOCK / 1e6, 100.0 * most(memory), 100.0 * most(bus))
}

/// Returns the steps of one packet's accesses.
fn one(packet: &[Access], microengine: usize, microengines: usize, bus: usize, variant: Variant) -> Thread {
    let share = packet.len() as f64 / WORST as f64;
    let exposed = if variant.exposed { DELAY_SLOTS } else { 0.0 };
    // Instructions grow with the levels that a packet passes.
    let cycles = (INSTRUCTIONS + exposed) * share + FFS_LOOP * variant.ffs_bits;
    let each = cycles / packet.len().max(1) as f64;
    let steps = packet.iter().flat_map(|&access| {
        let compute = Step::Hold { station: microengine, cycles: each };
        let (station, held, latency) = match access {
            Access::Sram(channel) => (microengines + channel, CHANNEL, SRAM),
            Access::Dram(bytes) => (bus, bytes / BUS, DRAM),
        };
        [compute, Step::Hold { station, cycles: held }, Step::Wait(latency - held)]
    });
    steps.collect()
}

/// Returns the rate of a pipeline: the first half of the accesses by half of the threads, the
/// second by the others, with a ring between them.
pub(crate) fn pipeline(threads: usize, channels: usize, packet: &[Access], scratch: bool) -> f64 {
    let microengines = threads.div_ceil(THREADS);
    let bus = microengines + channels;
    let machine = Machine {
        stations: [vec![1; microengines], vec![1; channels], vec![1]].concat(),
        rings: vec![128],
        turns: 0,
    };
    let (first, second) = packet.split_at(packet.len() / 2);
    let thread = |thread: usize| -> Thread {
        let microengine = thread / THREADS;
        let instructions = Step::Hold { station: microengine, cycles: RING_INSTRUCTIONS };
        let latency = Step::Wait(if scratch { SCRATCH } else { 0.0 });
        let half = |half| one(half, microengine, microengines, bus, Variant::default());
        if thread < threads / 2 {
            [half(first), vec![instructions, latency, Step::Put(0)]].concat()
        } else {
            [vec![Step::Take(0), instructions, latency], half(second), vec![Step::Done]].concat()
        }
    };
    let all: Vec<Thread> = (0..threads).map(thread).collect();
    told(&run(&machine, &all, PACKETS), microengines, channels).0
}

/// Returns the accesses of the worst packet, with its tables on that number of channels.
pub(crate) fn worst(channels: usize) -> Vec<Access> {
    (0..WORST).map(|at| Access::Sram(at % channels)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fitted_cells_are_met() {
        let exposed = Variant { exposed: true, ..Variant::default() };
        for (channels, microengines, variant, paper) in
            [(4, 1, exposed, 7.34), (1, 8, Variant::default(), 33.62)]
        {
            let (rate, ..) = rate(THREADS * microengines, channels, &[worst(channels)], variant);
            assert!((rate / paper - 1.0).abs() < 0.01, "{rate} beside {paper}");
        }
    }
}
