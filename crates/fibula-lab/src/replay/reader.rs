//! The threads that look up.

use super::watch::Watch;
use super::{ReplayOptions, pin};
use crate::Error;
use crate::live_table::{LiveTable, TableReader};
use core_affinity::CoreId;
use fibula::Address;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// One reader's counters, on their own cache lines.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Told {
    looked_up: AtomicU64,
}

/// The readers' findings about the answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    pub(super) compared: u64,
    pub(super) wrong: u64,
}

/// All readers, at work until they are stopped.
pub(super) struct Readers<'scope> {
    threads: Vec<ScopedJoinHandle<'scope, Result<Judged, Error>>>,
    told: std::sync::Arc<Vec<Told>>,
    stop: std::sync::Arc<AtomicBool>,
}

/// The number of addresses that had been looked up at a moment.
pub(super) struct Count {
    at: Instant,
    looked_up: u64,
}

impl<'scope> Readers<'scope> {
    /// Starts the readers, each at another offset of the addresses.
    pub(super) fn start<'env, A: Address, L: LiveTable<A>>(
        scope: &'scope Scope<'scope, 'env>,
        live: &L,
        addresses: &'env [A],
        options: &ReplayOptions,
        watch: &'env Watch,
        cores: &[CoreId],
    ) -> Result<Self, Error> {
        let batch = options.reader_batch.min(addresses.len());
        let made = (0..options.readers).map(|number| live.reader(number, batch));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let told: std::sync::Arc<Vec<Told>> =
            std::sync::Arc::new((0..options.readers).map(|_| Told::default()).collect());
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let threads = made.into_iter().enumerate().map(|(index, reader)| {
            let (told, stop, core) = (told.clone(), stop.clone(), cores.get(index).copied());
            let from = addresses.len() / options.readers * index;
            scope.spawn(move || {
                pin(core.as_ref());
                look_up(reader, addresses, from, batch, watch, &told[index].looked_up, &stop)
            })
        });
        Ok(Self { threads: threads.collect(), told, stop })
    }

    pub(super) fn count(&self) -> Count {
        let looked_up = self.told.iter().map(|told| told.looked_up.load(Ordering::Relaxed)).sum();
        Count { at: Instant::now(), looked_up }
    }

    /// Returns the million lookups a second since a count.
    pub(super) fn speed_since(&self, before: &Count) -> f64 {
        let now = self.count();
        let seconds = (now.at - before.at).as_secs_f64().max(1e-9);
        (now.looked_up - before.looked_up) as f64 / seconds / 1e6
    }

    /// Lets them work for some time and returns their speed.
    pub(super) fn speed_for(&self, span: Duration) -> f64 {
        let count = self.count();
        std::thread::sleep(span);
        self.speed_since(&count)
    }

    pub(super) fn stop(self) -> Result<Judged, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let judged = self.threads.into_iter().map(|thread| thread.join().expect("a reader panicked"));
        judged.collect::<Vec<_>>().into_iter().try_fold(Judged::default(), |all, one| {
            let one = one?;
            Ok(Judged { compared: all.compared + one.compared, wrong: all.wrong + one.wrong })
        })
    }
}

fn look_up<A: Address>(
    mut reader: impl TableReader<A>,
    addresses: &[A],
    from: usize,
    batch: usize,
    watch: &Watch,
    looked_up: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Judged, Error> {
    let mut judged = Judged::default();
    let (later, earlier) = (&addresses[from..], &addresses[..from]);
    let batches = || later.chunks(batch).chain(earlier.chunks(batch));
    let mut done = 0;
    for batch in std::iter::repeat_with(batches).flatten() {
        reader.look_up(batch)?;
        done += batch.len() as u64;
        looked_up.store(done, Ordering::Relaxed);
        if let Some(sight) = watch.sight::<A>() {
            let answer = reader.look_up_one(sight.address)?;
            if watch.still_shows(&sight) {
                judged.compared += 1;
                judged.wrong += u64::from(answer != sight.before && answer != sight.after);
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(judged)
}
