//! [`Attached`]: one compiled table of a live table, and how it follows changes.

use super::quiescent::Publisher;
use super::waiting::{Stuck, Waiting};
use crate::View;
use crate::engine::Updates;
use crate::fib::Origin;
use crate::memory::Memory;
use crate::rib::Deltas;
use crate::{Address, Applied, Delta, Error, Fib, Rib};
use std::sync::Arc;
use std::time::Duration;

/// How long a writer that cannot postpone a publication sleeps for readers before it builds another
/// copy: many batches.
const MOMENT: Duration = Duration::from_millis(10);

/// How many tables may wait for a grace period.
const MOST_RETIRED: usize = 4;

/// A compiled table that readers look up in while it follows changes.
#[derive(Debug)]
pub(super) struct Attached<A: Address> {
    pub(super) published: Publisher<Published<A>>,
    way: Way<A>,
    /// Whether readers may share the memory of a table that changes.
    may_share: bool,
    stuck: Stuck,
}

/// A published table.
#[derive(Debug)]
pub(super) struct Published<A: Address> {
    pub(super) view: Box<dyn View<A>>,
    /// How it was compiled, where the view has its engine.
    origin: Option<Origin>,
    /// The bytes of its memory where the view has no engine that could report them.
    bytes: usize,
}

impl<A: Address> Published<A> {
    /// Creates a view of the memory of a table that follows in place.
    fn shared(view: Box<dyn View<A>>, writer: &Fib<A>) -> Arc<Self> {
        Arc::new(Self { view, origin: None, bytes: writer.memory().total() })
    }

    /// Creates a table that does not change.
    fn whole(fib: Fib<A>) -> Arc<Self> {
        let (view, origin) = fib.into_parts();
        Arc::new(Self { view, origin: Some(origin), bytes: 0 })
    }

    /// Reverses [`whole`](Self::whole). Returns `None` if the view has no engine.
    fn into_fib(self) -> Option<Fib<A>> {
        Fib::from_parts(self.view, self.origin?)
    }

    pub(super) fn memory(&self) -> Memory {
        self.view.whole().map(|whole| whole.engine().memory()).unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.view.whole().map_or(self.bytes, |whole| whole.engine().memory().total())
    }
}

/// How a table follows changes.
#[derive(Debug)]
enum Way<A: Address> {
    /// Readers have a view of this table's memory.
    InPlace {
        writer: Fib<A>,
        /// Whether `writer` was built again and is about to be published.
        is_rebuilt: bool,
        /// The epoch in which the replacements that the engine was last told about ended.
        told: u64,
    },
    /// Double-buffered: a copy that nobody reads is changed and published.
    DoubleBuffered(DoubleBuffered<A>),
    /// Rebuilt: another table is built and published.
    Rebuilt { origin: Origin, next: Option<Fib<A>> },
}

/// The copy that nobody reads.
#[derive(Debug)]
struct DoubleBuffered<A: Address> {
    /// How a new copy is compiled.
    origin: Origin,
    /// The copy, unless that is still the previously published table.
    spare: Option<Arc<Published<A>>>,
    /// The changes it has not applied yet.
    behind: Vec<Delta<A>>,
    /// The copy when it is up to date and about to be published.
    next: Option<Fib<A>>,
    /// Whether `next` was built, and may therefore be one that can be shared.
    is_built: bool,
}

impl<A: Address> DoubleBuffered<A> {
    /// Notes what the table has missed that is about to be replaced.
    fn fall_behind(&mut self, deltas: &[Delta<A>]) {
        self.behind.clear();
        self.behind.extend_from_slice(deltas);
    }
}

impl<A: Address> Way<A> {
    /// Returns the way of a table that readers cannot share.
    fn by_copies(fib: &Fib<A>) -> Self {
        let origin = fib.origin();
        match fib.entry().about.updates {
            Updates::InPlace => Self::DoubleBuffered(DoubleBuffered {
                origin,
                spare: None,
                behind: Vec::new(),
                next: None,
                is_built: false,
            }),
            Updates::Rebuild => Self::Rebuilt { origin, next: None },
        }
    }
}

impl<A: Address> Attached<A> {
    /// Publishes a table, of which readers share the memory where it and they can.
    pub(super) fn new(mut fib: Fib<A>, rib: &Rib<A>, may_share: bool) -> Result<Self, Error> {
        if may_share && let Some(view) = fib.share() {
            let mut published = Publisher::new(Published::shared(view, &fib));
            let told = published.advance();
            let way = Way::InPlace { writer: fib, is_rebuilt: false, told };
            return Ok(Self { published, way, may_share, stuck: Stuck::default() });
        }
        let mut way = Way::by_copies(&fib);
        if let Way::DoubleBuffered(twice) = &mut way {
            twice.spare = Some(Published::whole(twice.origin.compile(rib)?));
        }
        let published = Publisher::new(Published::whole(fib));
        Ok(Self { published, way, may_share, stuck: Stuck::default() })
    }

    /// Keeps the table from being changed in place, which it is not now.
    pub(super) fn never_share(&mut self) {
        debug_assert!(!self.is_in_place(), "readers have a view of it");
        self.may_share = false;
    }

    /// Returns whether readers see changes as soon as they are prepared.
    pub(super) fn is_in_place(&self) -> bool {
        matches!(self.way, Way::InPlace { .. })
    }

    /// Returns whether a change should wait: readers may still hold the copy that it needs, or too
    /// many tables.
    pub(super) fn is_waiting(&self) -> bool {
        match &self.way {
            Way::DoubleBuffered(twice) => {
                let is_read = self.published.retired().next().is_some() && !self.published.is_passed();
                is_read && twice.spare.is_none()
            }
            Way::InPlace { .. } | Way::Rebuilt { .. } => self.is_full(),
        }
    }

    /// Gives readers a moment to pass a quiescent state; where no other table may be added to those
    /// that wait for a grace period, `stuck_after`. Returns whether that is so even then.
    pub(super) fn is_held_up(&mut self, stuck_after: Duration) -> bool {
        Waiting::at_most(MOMENT).until(|| {
            self.tidy();
            !self.is_waiting()
        });
        if self.is_full() {
            let mut waiting = self.stuck.patience(self.published.oldest_retired(), stuck_after);
            waiting.until(|| {
                self.tidy();
                !self.is_full()
            });
        }
        if self.is_full() {
            self.stuck.remember(self.published.oldest_retired());
        } else {
            self.stuck.forget();
        }
        self.is_full()
    }

    /// Returns whether the greatest allowed number of tables wait for a grace period.
    fn is_full(&self) -> bool {
        self.published.retired().count() > MOST_RETIRED
    }

    /// Drops what nobody reads and what is not needed.
    pub(super) fn tidy(&mut self) {
        let kept = usize::from(matches!(self.way, Way::DoubleBuffered(_)));
        self.published.drop_passed(kept);
        if let Way::InPlace { writer, told, .. } = &mut self.way
            && self.published.has_passed(*told)
        {
            writer.readers_passed();
            *told = self.published.advance();
        }
    }

    /// Follows `rib`, which has just changed by `deltas`: in place, or in a table that nobody sees
    /// before [`publish`](Self::publish). On an error nothing has changed.
    ///
    /// A table that follows in place cannot be [cancelled](Self::cancel), because readers see it.
    pub(super) fn prepare(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Applied, Error> {
        match &mut self.way {
            Way::InPlace { writer, is_rebuilt, .. } => {
                let applied = writer.apply(rib, deltas)?;
                *is_rebuilt = applied == Applied::Rebuilt;
                Ok(applied)
            }
            Way::Rebuilt { origin, next } => {
                *next = Some(origin.compile(rib)?);
                Ok(Applied::Rebuilt)
            }
            Way::DoubleBuffered(twice) => {
                if twice.spare.is_none() {
                    twice.spare = self.published.take_back();
                }
                // `None` also if somebody keeps it frozen.
                let spare = twice.spare.take().and_then(Arc::into_inner).and_then(Published::into_fib);
                let Some(mut fib) = spare else {
                    twice.next = Some(twice.origin.compile(rib)?);
                    twice.is_built = true;
                    return Ok(Applied::Rebuilt);
                };
                let applied = if twice.behind.is_empty() {
                    fib.apply(rib, deltas)
                } else {
                    fib.apply(rib, &merged(&twice.behind, deltas))
                };
                match applied {
                    Ok(applied) => (twice.next, twice.is_built) = (Some(fib), applied == Applied::Rebuilt),
                    Err(_) => twice.spare = Some(Published::whole(fib)),
                }
                applied
            }
        }
    }

    /// Publishes what was prepared by `deltas`.
    pub(super) fn publish(&mut self, deltas: &[Delta<A>]) {
        match &mut self.way {
            Way::InPlace { is_rebuilt: false, .. } => {}
            Way::InPlace { writer, is_rebuilt, told } => {
                if let Some(view) = writer.share() {
                    self.published.publish(Published::shared(view, writer));
                    *told = self.published.advance();
                    *is_rebuilt = false;
                    return;
                }
                let by_copies = Way::by_copies(writer);
                if let Way::InPlace { writer, .. } = std::mem::replace(&mut self.way, by_copies) {
                    self.published.publish(Published::whole(writer));
                }
            }
            Way::Rebuilt { next, .. } => {
                if let Some(next) = next.take() {
                    self.publish_built(next, deltas);
                }
            }
            Way::DoubleBuffered(twice) => {
                let Some(next) = twice.next.take() else { return };
                if twice.is_built {
                    self.publish_built(next, deltas);
                } else {
                    twice.fall_behind(deltas);
                    self.published.publish(Published::whole(next));
                }
            }
        }
    }

    /// Compiles another table in the same way, which nobody sees before
    /// [`publish_built`](Self::publish_built).
    pub(super) fn compile(&self, rib: &Rib<A>) -> Result<Fib<A>, Error> {
        match &self.way {
            Way::InPlace { writer, .. } => writer.rebuilt(rib),
            Way::Rebuilt { origin, .. } | Way::DoubleBuffered(DoubleBuffered { origin, .. }) => {
                origin.compile(rib)
            }
        }
    }

    /// Publishes a table that was built, and differs by `deltas` from the published one. It goes on
    /// in the way of its engine, which may be another than before.
    pub(super) fn publish_built(&mut self, mut built: Fib<A>, deltas: &[Delta<A>]) {
        if self.may_share
            && let Some(view) = built.share()
        {
            self.published.publish(Published::shared(view, &built));
            let told = self.published.advance();
            self.way = Way::InPlace { writer: built, is_rebuilt: false, told };
            return;
        }
        self.way = Way::by_copies(&built);
        if let Way::DoubleBuffered(twice) = &mut self.way {
            twice.fall_behind(deltas);
        }
        self.published.publish(Published::whole(built));
    }

    /// Undoes what was prepared by `deltas`, which nobody has seen; `rib` is as it was before.
    pub(super) fn cancel(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) {
        match &mut self.way {
            Way::InPlace { .. } => unreachable!("a table that follows in place is prepared last"),
            Way::Rebuilt { next, .. } => *next = None,
            Way::DoubleBuffered(twice) => {
                let Some(mut fib) = twice.next.take().filter(|_| !twice.is_built) else { return };
                // The copy is kept: to build another would take longer than to change it back.
                let inverse: Vec<_> = deltas.iter().map(|delta| delta.inverse()).collect();
                if fib.apply(rib, &inverse).is_ok() {
                    twice.behind.clear();
                    twice.spare = Some(Published::whole(fib));
                }
            }
        }
    }

    /// Returns a table that does not change.
    pub(super) fn frozen(&self, rib: &Rib<A>) -> Result<Arc<Published<A>>, Error> {
        match &self.way {
            Way::InPlace { .. } => Ok(Published::whole(self.compile(rib)?)),
            Way::DoubleBuffered(_) | Way::Rebuilt { .. } => Ok(Arc::clone(self.published.current())),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        let (own, spare) = match &self.way {
            Way::InPlace { writer, .. } => (writer.memory(), None),
            Way::DoubleBuffered(twice) => (self.published.current().memory(), twice.spare.as_deref()),
            Way::Rebuilt { .. } => (self.published.current().memory(), None),
        };
        let others = self.published.retired().chain(spare).map(Published::bytes).sum();
        own.off_chip("other copies", others)
    }
}

/// Merges two sequences of deltas into one with at most one a prefix.
pub(crate) fn merged<A: Address>(first: &[Delta<A>], then: &[Delta<A>]) -> Vec<Delta<A>> {
    let mut deltas = Deltas::default();
    first.iter().chain(then).for_each(|&delta| deltas.push(delta));
    deltas.into_effective()
}
