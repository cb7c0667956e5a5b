//! The thread that hands changes in.

use super::watch::Watch;
use super::{ReplayOptions, before_and_after};
use crate::Error;
use crate::live_table::LiveTable;
use fibula::{Address, Change};
use std::time::{Duration, Instant};

/// The least time between two states for readers: computing the right answers costs as much as some
/// changes.
const BETWEEN_SIGHTS: Duration = Duration::from_micros(20);

/// The last part of a wait, spent spinning: the system's timers wake up late by about this time.
const NEAR: Duration = Duration::from_micros(60);

/// The writer and its pending changes.
pub(super) struct Writer<'w, A: Address, L> {
    live: &'w mut L,
    watch: &'w Watch,
    options: &'w ReplayOptions,
    start: Instant,
    /// The changes handed in and not published, and when each was to be handed in.
    pending: Vec<Change<A>>,
    handed_in: Vec<Duration>,
    last_sight: Duration,
    times: Times,
}

/// The times measured.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// From the first change until all were visible.
    pub(super) elapsed: Duration,
    visible: Vec<Duration>,
}

impl Times {
    /// Returns the time until visible that this share of the changes did not exceed, in
    /// microseconds.
    pub(super) fn visible_us(&self, share: f64) -> f64 {
        let last = self.visible.len().saturating_sub(1);
        self.visible.get((last as f64 * share) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }
}

impl<'w, A: Address, L: LiveTable<A>> Writer<'w, A, L> {
    pub(super) fn new(live: &'w mut L, watch: &'w Watch, options: &'w ReplayOptions) -> Self {
        Self {
            live,
            watch,
            options,
            start: Instant::now(),
            pending: Vec::new(),
            handed_in: Vec::new(),
            last_sight: Duration::ZERO,
            times: Times::default(),
        }
    }

    /// Hands in all changes and waits until they are published.
    pub(super) fn run(&mut self, changes: &[Change<A>]) -> Result<(), Error> {
        self.times.visible.reserve(changes.len());
        let most = self.options.settings.most_changes.max(1);
        self.start = Instant::now();
        for (index, &change) in changes.iter().enumerate() {
            let moment = match &self.options.pace {
                Some(pace) => pace[index],
                None => self.start.elapsed(),
            };
            while self.pending.len() >= most || self.start.elapsed() < moment {
                self.wait_for(moment);
                self.poll()?;
            }
            self.hand_in(change, moment)?;
        }
        while !self.pending.is_empty() {
            std::thread::yield_now();
            self.poll()?;
        }
        self.times.elapsed = self.start.elapsed();
        Ok(())
    }

    /// Returns the times.
    pub(super) fn finish(mut self) -> Times {
        self.watch.hide();
        self.times.visible.sort_unstable();
        self.times
    }

    fn hand_in(&mut self, change: Change<A>, moment: Duration) -> Result<(), Error> {
        self.pending.push(change);
        self.handed_in.push(moment);
        self.tell();
        self.live.change(change, self.start.elapsed())?;
        self.note();
        Ok(())
    }

    /// Waits a little: until readers have moved on, or until `moment` is near. A thread that yields
    /// or spins uses up its share of the core. Where other programs want the core too, it is late
    /// by their whole time slices; a thread that has slept gets the core at once.
    fn wait_for(&self, moment: Duration) {
        let left = moment.saturating_sub(self.start.elapsed());
        if !self.pending.is_empty() {
            std::thread::yield_now();
        } else if let Some(far) = left.checked_sub(NEAR) {
            std::thread::sleep(far);
        } else {
            std::hint::spin_loop();
        }
    }

    fn poll(&mut self) -> Result<(), Error> {
        if !self.pending.is_empty() {
            self.live.poll(self.start.elapsed())?;
            self.note();
        }
        Ok(())
    }

    /// Tells readers what they may see from now on. Nothing may be published before that.
    fn tell(&mut self) {
        let now = self.start.elapsed();
        if now < self.last_sight + BETWEEN_SIGHTS {
            self.watch.hide();
            return;
        }
        self.last_sight = now;
        let change = self.pending[self.pending.len() / 2];
        let prefix = change.prefix();
        let address = if self.pending.len().is_multiple_of(2) { prefix.first() } else { prefix.last() };
        let (before, after) = before_and_after(self.live.rib(), &self.pending, address);
        self.watch.show(address, before, after);
    }

    /// Records the changes that have become visible.
    fn note(&mut self) {
        if self.live.pending() > 0 || self.pending.is_empty() {
            return;
        }
        let now = self.start.elapsed();
        self.watch.done();
        self.times.visible.extend(self.handed_in.drain(..).map(|moment| now.saturating_sub(moment)));
        self.pending.clear();
    }
}
