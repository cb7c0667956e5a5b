//! Run to completion without a dispatcher: chunks in turn, or to whichever thread is free first.

use super::models::{Answer, Job, Order, Work};
use super::team::{self, Member, Team};
use fibula::Address;
use std::sync::Mutex;
use std::time::Duration;

impl<A: Address> Work<'_, A> {
    /// Returns the addresses of a chunk.
    fn addresses_of(&self, chunk: usize) -> &[A] {
        let start = chunk * self.chunk;
        &self.addresses[start..self.addresses.len().min(start + self.chunk)]
    }

    /// Looks up a chunk and delivers it.
    pub(super) fn complete<W: Answer>(&self, chunk: usize, next_hops: &mut [W], team: &Team) {
        W::look_up(self.view, self.addresses_of(chunk), next_hops);
        match self.order {
            Order::Kept => team.deliver_in_turn(chunk),
            Order::Free => team.deliver(),
        }
    }
}

/// Every thread takes its own chunks, and calls `take` before each.
pub(super) fn own<A: Address, W: Answer>(
    Job { work, next_hops, threads, begin }: Job<'_, A, W>,
    take: fn(&Team, usize),
) -> Duration {
    let mut shares: Vec<Vec<(usize, &mut [W])>> = (0..threads).map(|_| Vec::new()).collect();
    for (chunk, next_hops) in next_hops.chunks_mut(work.chunk).enumerate() {
        shares[chunk % threads].push((chunk, next_hops));
    }
    let mut members: Vec<Member<'_>> = Vec::new();
    for share in shares {
        members.push(Box::new(move |team| {
            for (chunk, next_hops) in share {
                take(team, chunk);
                work.complete(chunk, next_hops, team);
            }
        }));
    }
    team::run(members, begin)
}

pub(super) fn dynamic<A: Address, W: Answer>(
    Job { work, next_hops, threads, begin }: Job<'_, A, W>,
) -> Duration {
    let places = &places(next_hops, work.chunk);
    let member = |_| -> Member<'_> {
        Box::new(move |team| {
            let take = || {
                let chunk = team.take();
                places.get(chunk).map(|place| (chunk, place))
            };
            while let Some((chunk, place)) = take() {
                work.complete(chunk, &mut place.lock().expect("nobody else takes this chunk"), team);
            }
        })
    };
    team::run((0..threads).map(member).collect(), begin)
}

/// The answers of each chunk; the thread that takes the chunk locks it once.
pub(super) type Places<'n, W> = Vec<Mutex<&'n mut [W]>>;

pub(super) fn places<W>(next_hops: &mut [W], chunk: usize) -> Places<'_, W> {
    next_hops.chunks_mut(chunk).map(Mutex::new).collect()
}
