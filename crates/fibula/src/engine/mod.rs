//! The seam: what every lookup engine is, and nothing about how one works.
//!
//! An engine is one type in its own folder under [`engines`](crate::engines) that implements [`Engine`], an
//! [`About`] that describes it, and one line in the [registry](crate::engine::ENGINES). The framework around it
//! ([`Fib`](crate::Fib)) owns what engines share: choosing the width of the answers and the instruction set,
//! rebuilding where an engine cannot update, and keeping the old table when a new one does not fit.

mod about;
pub(crate) mod best;
mod config;
mod figure;
mod meter;
mod registry;
mod update;
mod width;

pub use about::{About, LimitInfo, ParameterInfo, Updates};
pub use best::BEST;
pub use config::Config;
pub use figure::Figure;
pub use meter::{Accesses, Meter, Unmetered};
pub use registry::{Builder, ENGINES, Entry, Source, find};
pub use update::{Cost, Update};
pub use width::{Width, WidthBits};

#[doc(hidden)]
pub use crate::fib::erased::{AnyEngine, make_boxed};

use crate::arch::Isa;
use crate::memory::Memory;
use crate::snapshot::{SectionWriter, Sections};
use crate::{Address, Delta, Error, ErrorKind, Rib};

/// A compiled form of a routing table that answers longest-prefix matches with indices of type `W`.
///
/// Every implementation gives the exact answer, the [`Rib`]'s own, for every address and every table that
/// [`build`](Engine::build) accepts. Answers are next-hop indices; 0 says that no route matches. The caller
/// chooses a `W` that holds every index of the table.
pub trait Engine<A: Address, W: Width>: Sized + Send + Sync + 'static {
    /// Compiles a table.
    ///
    /// # Errors
    /// If the table exceeds one of the engine's limits, or a parameter is out of its range.
    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error>;

    /// The answer for one address, its accesses to the table told to a meter: the scalar lookup, written once.
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W;

    /// The answer for one address.
    #[inline(always)]
    fn lookup(&self, address: A) -> W {
        self.lookup_metered(address, &mut Unmetered)
    }

    /// The answers for many addresses: `next_hops[i]` for `addresses[i]`. The framework has checked that the
    /// two are equally long. Implementations are `#[inline(always)]`, like all they call (see
    /// [`Kernel::run`](crate::arch::Kernel::run)), and overlap the memory accesses of neighbouring addresses.
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [W]);

    /// Follows the table: `rib` has just changed by `deltas`, at most one a prefix, in any order.
    ///
    /// Unless the answer is [`Update::Applied`], every lookup still gives what it gave before. Each `after`
    /// fits into `W`. The default cannot update.
    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let _ = (rib, deltas);
        Update::Rebuild
    }

    /// Into how many stages a lookup can be cut for a [pipeline](crate::parallel) of threads; 1 if into none.
    fn stages(&self) -> usize {
        1
    }

    /// Stage `stage`, less than [`stages`](Engine::stages), of many lookups. `found[i]` is what the stage before has left of
    /// `addresses[i]`, 0 before the first; what this one leaves takes its place, after the last stage the answer.
    fn run_stage<I: Isa>(&self, isa: I, stage: usize, addresses: &[A], found: &mut [u64]) {
        let _ = (isa, stage, addresses, found);
    }

    /// Hands everything that lookups read to a [snapshot](crate::snapshot). What only updates need may be left out: an
    /// engine that comes out of a snapshot is built anew by the first change. The default keeps no snapshots.
    ///
    /// # Errors
    /// If this engine keeps none.
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        let _ = sections;
        Err(Error::new(ErrorKind::Unsupported, "this engine keeps no snapshots"))
    }

    /// The engine that [`save`](Engine::save) handed over, its arrays read where they lie.
    ///
    /// The sections have been found whole, but somebody may have made them with bad intent: whatever they hold, lookups may
    /// be wrong, panic or go on for ever, and never read outside of them.
    ///
    /// # Errors
    /// If a section is missing or has another size than lookups rely on.
    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let _ = (sections, config);
        Err(Error::new(ErrorKind::Unsupported, "this engine keeps no snapshots"))
    }

    /// From now on readers on other threads look up in the same memory, by the engine that this returns, while
    /// [`apply`](Engine::apply) changes it: each address is answered as before a change or as after it, nothing moves, and what is no longer
    /// needed is used again only as [`readers_passed`](Engine::readers_passed) allows. An engine that reads several places for one answer may ask
    /// for readers to pass between two changes ([`Update::Waiting`]). The default cannot: the framework keeps two copies instead.
    fn share(&mut self) -> Option<Self> {
        None
    }

    /// Of a shared engine: since this was called the last time, every reader has ended the batch it was at then. So nobody is at what had
    /// been replaced by then; at what has been replaced since, somebody may be.
    fn readers_passed(&mut self) {}

    /// What it occupies, by part.
    fn memory(&self) -> Memory;

    /// The numbers its paper prints of a compiled table, in the paper's own terms. May be slow.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks the structure itself (pointers in range, counters equal to what they count, no block lost),
    /// against the table it was built from. For tests; may be slow.
    ///
    /// # Errors
    /// With the first contradiction found.
    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        let _ = rib;
        Ok(())
    }
}
