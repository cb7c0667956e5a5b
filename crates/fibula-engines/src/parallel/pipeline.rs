//! Thread pipeline: every thread runs some stages of all lookups and passes its results to the
//! next.

use super::models::{Answer, Job, Work};
use super::team::{self, Member, Patience, Team};
use fibula::{Address, NextHop};
use rtrb::{Consumer, Producer, RingBuffer};
use std::ops::Range;
use std::time::Duration;

/// The number of results that a ring holds: a few chunks that still fit in a core's own cache.
const RING: usize = 8192;

/// Where a thread's results go.
enum Out<'n, W> {
    Ring(Producer<u64>),
    Answers(&'n mut [W]),
}

/// Runs pipelines side by side, each for an equal part of the addresses. The threads are a multiple
/// of the pipelines.
pub(super) fn side_by_side<A: Address, W: Answer>(
    Job { work, next_hops, threads, begin }: Job<'_, A, W>,
    pipelines: usize,
) -> Duration {
    let part = work.addresses.len().div_ceil(pipelines).max(1);
    let mut members = Vec::new();
    let mut rest = next_hops;
    for pipeline in 0..pipelines {
        let first = (pipeline * part).min(work.addresses.len());
        let addresses = &work.addresses[first..work.addresses.len().min(first + part)];
        let (next_hops, after) = rest.split_at_mut(addresses.len());
        rest = after;
        members.extend(pipeline_of(Work { addresses, ..work }, next_hops, threads / pipelines));
    }
    team::run(members, begin)
}

/// Returns the threads of one pipeline.
fn pipeline_of<'w, A: Address, W: Answer>(
    work: Work<'w, A>,
    next_hops: &'w mut [W],
    threads: usize,
) -> Vec<Member<'w>> {
    let stages = work.view.stages();
    let share = move |thread: usize| thread * stages / threads..(thread + 1) * stages / threads;
    let mut members: Vec<Member<'w>> = Vec::new();
    let mut input = None;
    for thread in 0..threads - 1 {
        let (out, next) = RingBuffer::new(RING);
        let taken = input.replace(next);
        members.push(Box::new(move |team| run(work, share(thread), taken, Out::<W>::Ring(out), team)));
    }
    let out = Out::Answers(next_hops);
    members.push(Box::new(move |team| run(work, share(threads - 1), input, out, team)));
    members
}

/// Runs one thread: its stages for all addresses, in order. Only the first thread has no input.
fn run<A: Address, W: Answer>(
    work: Work<'_, A>,
    stages: Range<usize>,
    mut input: Option<Consumer<u64>>,
    mut out: Out<'_, W>,
    team: &Team,
) {
    let mut found = vec![0; work.chunk.min(RING)];
    let mut done = 0;
    let mut patience = Patience::default();
    while done < work.addresses.len() {
        let mut count = found.len().min(work.addresses.len() - done);
        if let Some(input) = &mut input {
            count = count.min(input.slots());
        }
        if let Out::Ring(ring) = &out {
            count = count.min(ring.slots());
        }
        if count == 0 {
            patience.wait(team);
            continue;
        }
        patience.renew();
        let found = &mut found[..count];
        match &mut input {
            None => found.fill(0),
            Some(input) => {
                let Ok(chunk) = input.read_chunk(count) else { continue };
                let (first, second) = chunk.as_slices();
                found[..first.len()].copy_from_slice(first);
                found[first.len()..].copy_from_slice(second);
                chunk.commit_all();
            }
        }
        for stage in stages.clone() {
            work.view.run_stage(stage, &work.addresses[done..done + count], found);
        }
        match &mut out {
            Out::Ring(ring) => {
                if let Ok(room) = ring.write_chunk_uninit(count) {
                    room.fill_from_iter(found.iter().copied());
                }
            }
            Out::Answers(next_hops) => {
                for (next_hop, &found) in next_hops[done..].iter_mut().zip(found.iter()) {
                    *next_hop = W::narrow(NextHop(found as u32));
                }
            }
        }
        done += count;
    }
}
