//! Run to completion behind a dispatcher, thread 0, which hands out addresses or chunks in turn
//! over one ring for each worker.

use super::completion::places;
use super::models::{Answer, Job, Order, Work};
use super::team::{self, Member, Patience, Team};
use fibula::Address;
use rtrb::{Consumer, Producer, RingBuffer};
use std::time::Duration;

/// The number of addresses or answers that a ring holds: a few chunks that still fit in a core's
/// own cache.
const RING: usize = 4096;

/// The number of chunks that a ring holds.
const CHUNKS: usize = 64;

pub(super) fn by_batch<A: Address, W: Answer>(
    Job { work, next_hops, threads, begin }: Job<'_, A, W>,
) -> Duration {
    let places = &places(next_hops, work.chunk);
    let (mut rings, ends): (Vec<_>, Vec<_>) = (1..threads).map(|_| RingBuffer::<usize>::new(CHUNKS)).unzip();
    let dispatch: Member<'_> = Box::new(move |team| {
        let mut patience = Patience::default();
        for chunk in 0..places.len() {
            let ring = chunk % rings.len();
            while rings[ring].push(chunk).is_err() {
                patience.wait(team);
            }
            patience.renew();
        }
    });
    let worker = |mut ring: Consumer<usize>| -> Member<'_> {
        Box::new(move |team| {
            let mut patience = Patience::default();
            loop {
                if let Ok(chunk) = ring.pop() {
                    work.complete(
                        chunk,
                        &mut places[chunk].lock().expect("nobody else has this chunk"),
                        team,
                    );
                    patience.renew();
                } else if ring.is_abandoned() && ring.is_empty() {
                    break;
                } else {
                    patience.wait(team);
                }
            }
        })
    };
    team::run(std::iter::once(dispatch).chain(ends.into_iter().map(worker)).collect(), begin)
}

/// The dispatcher's ends of the rings of one worker.
struct Lane<A, W> {
    addresses: Producer<A>,
    answers: Consumer<W>,
    /// The number of answers that have arrived.
    delivered: usize,
}

pub(super) fn by_address<A: Address, W: Answer>(
    Job { work, next_hops, threads, begin }: Job<'_, A, W>,
) -> Duration {
    let (mut lanes, mut members): (Vec<Lane<A, W>>, Vec<Member<'_>>) = (Vec::new(), Vec::new());
    for _ in 1..threads {
        let (addresses, asked) = RingBuffer::new(RING);
        let (answered, answers) = RingBuffer::new(RING);
        lanes.push(Lane { addresses, answers, delivered: 0 });
        members.push(Box::new(move |team| answer(work, asked, answered, team)));
    }
    members.insert(0, Box::new(move |team| dispatch(work, lanes, next_hops, team)));
    team::run(members, begin)
}

/// Hands out addresses and collects answers until all have arrived.
fn dispatch<A: Address, W: Answer>(
    work: Work<'_, A>,
    mut lanes: Vec<Lane<A, W>>,
    next_hops: &mut [W],
    team: &Team,
) {
    let workers = lanes.len();
    let (mut sent, mut delivered) = (0, 0);
    let mut patience = Patience::default();
    while delivered < next_hops.len() {
        let before = sent + delivered;
        while let Some(&address) = work.addresses.get(sent)
            && lanes[sent % workers].addresses.push(address).is_ok()
        {
            sent += 1;
        }
        match work.order {
            Order::Kept => {
                while delivered < next_hops.len()
                    && let Ok(answer) = lanes[delivered % workers].answers.pop()
                {
                    next_hops[delivered] = answer;
                    delivered += 1;
                }
            }
            Order::Free => {
                for (number, lane) in lanes.iter_mut().enumerate() {
                    while let Ok(answer) = lane.answers.pop() {
                        next_hops[lane.delivered * workers + number] = answer;
                        lane.delivered += 1;
                        delivered += 1;
                    }
                }
            }
        }
        if sent + delivered == before {
            patience.wait(team);
        } else {
            patience.renew();
        }
    }
}

/// Runs a worker: looks up whatever has arrived, at most a chunk at once.
fn answer<A: Address, W: Answer>(
    work: Work<'_, A>,
    mut asked: Consumer<A>,
    mut answered: Producer<W>,
    team: &Team,
) {
    let mut answers = vec![W::default(); work.chunk.min(RING)];
    let mut patience = Patience::default();
    loop {
        let count = asked.slots().min(answered.slots()).min(answers.len());
        if count == 0 {
            if asked.is_abandoned() && asked.is_empty() {
                return;
            }
            patience.wait(team);
            continue;
        }
        patience.renew();
        let Ok(addresses) = asked.read_chunk(count) else { continue };
        let (first, second) = addresses.as_slices();
        W::look_up(work.view, first, &mut answers[..first.len()]);
        W::look_up(work.view, second, &mut answers[first.len()..count]);
        addresses.commit_all();
        if let Ok(room) = answered.write_chunk_uninit(count) {
            room.fill_from_iter(answers[..count].iter().copied());
        }
    }
}
