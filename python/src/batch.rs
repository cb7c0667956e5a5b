//! Lookups of many addresses, with the interpreter released.

use crate::mapped::Mapped;
use crate::owned::Owned;
use crate::shared::{Body, Shared};
use fibula::engine::WidthBits;
use fibula::{Address, NextHop, View};
use std::thread;

/// The addresses that are looked up under one lock: some tens of microseconds.
const BLOCK: usize = 1 << 13;

/// The addresses whose answers are widened at a time. They fit in the first-level cache.
const CHUNK: usize = 512;

/// The family of a batch: where a table has its engine.
pub(crate) trait BatchAddress: Address {
    fn of_owned(owned: &Owned) -> Option<&dyn View<Self>>;
    fn of_mapped(mapped: &Mapped) -> Option<&dyn View<Self>>;
}

impl BatchAddress for u32 {
    fn of_owned(owned: &Owned) -> Option<&dyn View<u32>> {
        owned.ipv4.fib().map(|fib| &**fib)
    }

    fn of_mapped(mapped: &Mapped) -> Option<&dyn View<u32>> {
        mapped.ipv4()
    }
}

impl BatchAddress for u128 {
    fn of_owned(owned: &Owned) -> Option<&dyn View<u128>> {
        owned.ipv6.fib().map(|fib| &**fib)
    }

    fn of_mapped(mapped: &Mapped) -> Option<&dyn View<u128>> {
        mapped.ipv6()
    }
}

/// Writes the next-hop index of each address, 0 where no route matches. The answers of one block
/// are those of one moment. To be called detached from the interpreter.
pub(crate) fn indices<A: BatchAddress>(shared: &Shared, addresses: &[A], indices: &mut [u32]) {
    for (addresses, indices) in addresses.chunks(BLOCK).zip(indices.chunks_mut(BLOCK)) {
        let body = shared.read_detached();
        look_up(view_of(&body), addresses, indices);
    }
}

/// Writes the answer for each address, all of one moment. To be called detached from the
/// interpreter.
pub(crate) fn answers<A: BatchAddress>(shared: &Shared, addresses: &[A], answers: &mut [NextHop]) {
    match view_of(&shared.read_detached()) {
        Some(view) => view.lookup_batch(addresses, answers),
        None => answers.fill(NextHop::NONE),
    }
}

fn view_of<A: BatchAddress>(body: &Body) -> Option<&dyn View<A>> {
    match body {
        Body::Owned(owned) => A::of_owned(owned),
        Body::Mapped(mapped) => A::of_mapped(mapped),
    }
}

fn look_up<A: Address>(view: Option<&dyn View<A>>, addresses: &[A], indices: &mut [u32]) {
    match view {
        None => indices.fill(0),
        Some(view) if view.width() == WidthBits::U32 => view.lookup_batch_into(addresses, indices),
        Some(view) => widened(view, addresses, indices),
    }
}

/// The answers of an engine whose indices have fewer bits.
fn widened<A: Address>(view: &dyn View<A>, addresses: &[A], indices: &mut [u32]) {
    let mut answers = [NextHop::NONE; CHUNK];
    for (addresses, indices) in addresses.chunks(CHUNK).zip(indices.chunks_mut(CHUNK)) {
        let answers = &mut answers[..addresses.len()];
        view.lookup_batch(addresses, answers);
        for (index, answer) in indices.iter_mut().zip(answers) {
            *index = answer.0;
        }
    }
}

/// Divides a batch into parts of almost equal length for `threads` threads.
pub(crate) fn on_threads<A: Sync>(
    threads: usize,
    addresses: &[A],
    answers: &mut [u32],
    run: impl Fn(&[A], &mut [u32]) + Sync,
) {
    let part = addresses.len().div_ceil(threads.max(1)).max(BLOCK);
    if part >= addresses.len() {
        return run(addresses, answers);
    }
    let run = &run;
    thread::scope(|scope| {
        for (addresses, answers) in addresses.chunks(part).zip(answers.chunks_mut(part)) {
            scope.spawn(move || run(addresses, answers));
        }
    });
}
