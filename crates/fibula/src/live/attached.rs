//! [`Attached`]: one compiled table of a live table, and how it follows.

use super::quiescent::Publisher;
use crate::engine::Updates;
use crate::memory::Memory;
use crate::rib::Deltas;
use crate::{Address, Applied, Delta, Error, Fib, Rib};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a writer that cannot put off a publication lets readers go on: many batches.
const MOMENT: Duration = Duration::from_millis(10);

/// How many tables may wait for readers to pass.
const MOST_RETIRED: usize = 4;

/// A compiled table that readers look up in while it follows.
#[derive(Debug)]
pub(super) struct Attached<A: Address> {
    pub(super) published: Publisher<Fib<A>>,
    /// A copy that nobody reads, and whose answers are those of the published table.
    spare: Option<Arc<Fib<A>>>,
    /// Brought up to date, and about to be published.
    next: Option<Fib<A>>,
    /// What the copy that was published before the published table does not know yet.
    behind: Vec<Delta<A>>,
}

impl<A: Address> Attached<A> {
    pub(super) fn new(fib: Fib<A>, rib: &Rib<A>) -> Result<Self, Error> {
        let spare = if follows(&fib) { Some(Arc::new(fib.rebuilt(rib)?)) } else { None };
        Ok(Self { published: Publisher::new(Arc::new(fib)), spare, next: None, behind: Vec::new() })
    }

    /// Whether a change had better wait: readers may still be at the copy that it needs, or at too many tables.
    pub(super) fn is_waiting(&self) -> bool {
        if follows(self.published.current()) {
            let keeps = self.published.retired().next().is_some() && !self.published.is_passed();
            keeps && self.spare.is_none()
        } else {
            self.is_full()
        }
    }

    /// Gives readers a moment to pass. Says whether even then no other table may be added to those that wait for them.
    pub(super) fn is_held_up(&mut self) -> bool {
        let start = Instant::now();
        while self.is_waiting() && start.elapsed() < MOMENT {
            std::thread::yield_now();
            self.tidy();
        }
        self.tidy();
        self.is_full()
    }

    /// Whether as many tables wait for readers as may.
    fn is_full(&self) -> bool {
        self.published.retired().count() > MOST_RETIRED
    }

    /// Lets go of tables that nobody reads and that are not needed.
    pub(super) fn tidy(&mut self) {
        self.published.drop_passed(usize::from(follows(self.published.current())));
    }

    /// Makes the next table, whose answers are those of `rib` after `deltas`. Nobody sees it yet, and after an error
    /// nothing has changed.
    pub(super) fn prepare(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Applied, Error> {
        let (next, applied) = match self.copy() {
            Some(mut fib) => {
                let applied = if self.behind.is_empty() {
                    fib.apply(rib, deltas)
                } else {
                    fib.apply(rib, &merged(&self.behind, deltas))
                };
                match applied {
                    Ok(applied) => (fib, applied),
                    Err(error) => {
                        self.spare = Some(Arc::new(fib));
                        return Err(error);
                    }
                }
            }
            None => (self.published.current().rebuilt(rib)?, Applied::Rebuilt),
        };
        self.next = Some(next);
        Ok(applied)
    }

    /// Publishes what was prepared by `deltas`.
    pub(super) fn publish(&mut self, deltas: &[Delta<A>]) {
        if let Some(next) = self.next.take() {
            self.published.publish(Arc::new(next));
            self.behind.clear();
            if follows(self.published.current()) {
                self.behind.extend_from_slice(deltas);
            }
        }
    }

    /// Drops what was prepared.
    pub(super) fn cancel(&mut self) {
        self.next = None;
    }

    /// The copy to change, if there is one that nobody reads.
    fn copy(&mut self) -> Option<Fib<A>> {
        if !follows(self.published.current()) {
            return None;
        }
        let copy = self.spare.take().or_else(|| self.published.take_back())?;
        Arc::into_inner(copy)
    }

    pub(super) fn memory(&self) -> Memory {
        let fib = self.published.current();
        let others = self.published.retired().chain(self.spare.as_deref());
        let others = others.map(|other| other.memory().total()).sum();
        fib.memory().off_chip("other copies", others)
    }
}

/// Whether an engine changes the parts that a change touches.
fn follows<A: Address>(fib: &Fib<A>) -> bool {
    fib.entry().about.updates == Updates::InPlace
}

fn merged<A: Address>(first: &[Delta<A>], then: &[Delta<A>]) -> Vec<Delta<A>> {
    let mut deltas = Deltas::default();
    first.iter().chain(then).for_each(|&delta| deltas.push(delta));
    deltas.into_effective()
}
