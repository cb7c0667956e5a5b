//! [`Team`]: threads that start together, wait for each other, and stop together if one of them
//! fails.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A value on cache lines of its own: two, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// The state that the threads of one run share.
#[derive(Debug)]
pub(super) struct Team {
    barrier: Barrier,
    failed: Line<AtomicBool>,
    /// The chunk whose turn it is to be delivered, or the number delivered.
    ticket: Line<AtomicUsize>,
    /// The next chunk that nobody has taken.
    next: Line<AtomicUsize>,
}

/// Tells the other threads, which may be waiting for it, that a thread has panicked.
struct Guard<'t>(&'t Team);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The work of a member, which gets the team as its argument.
pub(super) type Member<'m> = Box<dyn FnOnce(&Team) + Send + 'm>;

/// Runs every member on a thread of its own, all from one moment on, and returns the time until the
/// last one ended.
pub(super) fn run(members: Vec<Member<'_>>, begin: &(dyn Fn(usize) + Sync)) -> Duration {
    let team = Team {
        barrier: Barrier::new(members.len()),
        failed: Line::default(),
        ticket: Line::default(),
        next: Line::default(),
    };
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let team = &team;
        let mut threads = Vec::new();
        for (number, member) in members.into_iter().enumerate() {
            threads.push(scope.spawn(move || {
                begin(number);
                team.barrier.wait();
                let guard = Guard(team);
                let start = Instant::now();
                member(team);
                drop(guard);
                (start, Instant::now())
            }));
        }
        threads.into_iter().map(|thread| thread.join().expect("a lookup panicked")).collect()
    });
    let start = times.iter().map(|&(start, _)| start).min();
    let end = times.iter().map(|&(_, end)| end).max();
    start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start)
}

impl Team {
    /// Takes the next chunk that no thread has.
    pub(super) fn take(&self) -> usize {
        self.next.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a chunk once all before it were taken.
    pub(super) fn take_in_turn(&self, chunk: usize) {
        self.pass_on(&self.next, chunk);
    }

    /// Delivers a chunk whatever was delivered before.
    pub(super) fn deliver(&self) {
        self.ticket.0.fetch_add(1, Ordering::Release);
    }

    /// Delivers a chunk once all before it were delivered.
    pub(super) fn deliver_in_turn(&self, chunk: usize) {
        self.pass_on(&self.ticket, chunk);
    }

    /// Waits for the turn of a chunk, and gives it to the next.
    fn pass_on(&self, turn: &Line<AtomicUsize>, chunk: usize) {
        let mut patience = Patience::default();
        while turn.0.load(Ordering::Acquire) != chunk {
            patience.wait(self);
        }
        turn.0.store(chunk + 1, Ordering::Release);
    }
}

/// Waits a little: by spinning at first, then by yielding the core, because there may be more
/// threads than cores.
#[derive(Debug, Default)]
pub(super) struct Patience(u32);

impl Patience {
    const IN_PLACE: u32 = 128;

    /// # Panics
    /// If another thread of the team has panicked.
    pub(super) fn wait(&mut self, team: &Team) {
        if self.0 < Self::IN_PLACE {
            self.0 += 1;
            std::hint::spin_loop();
        } else {
            assert!(!team.failed.0.load(Ordering::Relaxed), "another thread has panicked");
            thread::yield_now();
        }
    }

    /// Starts from spinning again: what was waited for has arrived.
    pub(super) fn renew(&mut self) {
        self.0 = 0;
    }
}
