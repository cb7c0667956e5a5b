//! The engine interface: what every lookup engine provides, and nothing about how one works.
//!
//! An engine is two types in its own folder under `engines`. One looks up: it implements
//! [`Lookup`], two methods, and is all that a reader thread, a snapshot or a thread pipeline needs.
//! The other compiles a table and follows its changes: it implements [`Engine`] and returns the
//! first one. If only the engine reads its memory, one type may be both. A constant [`About`]
//! describes the engine, and one line of the [registry](crate::engine::ENGINES) adds it to the
//! library.
//!
//! The framework around it ([`Fib`](crate::Fib)) provides what engines share: the width of the
//! answers, the instruction set, the rebuild where an engine cannot follow, and the old table where
//! a new one does not fit.
//!
//! # Capabilities
//! A capability that only some engines have is a trait of its own. An engine that lacks one says
//! nothing about it.
//!
//! | capability | trait | returned by |
//! | --- | --- | --- |
//! | readers read the same memory while it changes | [`Share`] | [`Engine::sharing`] |
//! | a compiled table is stored in a file | [`Persist`] | [`Engine::persistence`] |
//! | a lookup is divided into stages for threads | [`Stages`] | [`Lookup::staging`] |

mod about;
mod capability;
mod choice;
mod config;
mod erased;
mod figure;
mod lengths;
mod meter;
mod registry;
mod run_off;
#[cfg(any(test, feature = "engines"))]
mod stages;
mod survey;
mod update;
pub(crate) mod view;
mod width;

pub use about::{About, LimitInfo, ParameterInfo, Updates};
pub use capability::{Persist, Persistence, Share, Sharing};
pub use choice::{BEST, costs};
pub use config::Config;
pub use figure::Figure;
pub use lengths::Lengths;
pub use meter::{Accesses, Meter, Unmetered};
pub use registry::{Builder, ENGINES, Entry, Makers, Opener, find};
#[cfg(any(test, feature = "engines"))]
pub use stages::{Stages, Staging};
pub(crate) use survey::Shape;
pub use survey::{Estimate, Routes, Survey};
pub use update::{Cost, Update};
pub use width::{Width, WidthBits};

pub use crate::arch::{Isa, Level, Sets};
pub use crate::memory::{Memory, Pages};
pub(crate) use choice::Choice;
pub(crate) use erased::{Whole, look_up_inside};
#[doc(hidden)]
pub use erased::{boxed, opened};
pub(crate) use view::View;

use crate::{Address, Delta, Error, Rib};

/// The part of a compiled table that lookups read.
///
/// Answers are exact for every address. They are next-hop indices; 0 says that no route matches.
pub trait Lookup<A: Address>: Send + Sync + 'static {
    /// The integer type of the answers.
    type Width: Width;

    /// The instruction sets that lookups are compiled for: all, unless an engine has no vector code
    /// and was measured to gain nothing from the others.
    const SETS: Sets = Sets::All;

    /// Whether batches are compiled for the baseline of a processor that has others: x86-64 without
    /// AVX2. Where not, a batch is a loop there, and a tenth of the engine's code is saved.
    const ON_BASELINE: bool = true;

    /// The longest call that is a loop of lookups. A pipeline has to be filled and emptied: on a
    /// Xeon and on an EPYC that takes longer than four lookups, or as long, in each engine, and in
    /// some longer than twenty.
    const FEW: usize = 4;

    /// Returns the answer for one address, and reports each access to the table to `meter`. This is
    /// the scalar lookup, written once.
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> Self::Width;

    /// Returns the answer for one address.
    #[inline(always)]
    fn lookup(&self, address: A) -> Self::Width {
        self.lookup_metered(address, &mut Unmetered)
    }

    /// As [`lookup`](Lookup::lookup), with the instructions of `isa`. The framework compiles it for
    /// every instruction set. Only an engine that has vector code for one address overrides it.
    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: A) -> Self::Width {
        let _ = isa;
        self.lookup(address)
    }

    /// Writes the answer for `addresses[i]` to `next_hops[i]`. The framework has checked that both
    /// have the same length.
    ///
    /// Implementations are `#[inline(always)]`, like all they call (see
    /// `Kernel::run`), and overlap the memory accesses of neighbouring
    /// addresses.
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [Self::Width]);

    /// Returns the methods that run a lookup in stages, if it can be divided.
    #[cfg(any(test, feature = "engines"))]
    #[must_use]
    fn staging() -> Option<Staging<Self, A>>
    where
        Self: Sized,
    {
        None
    }
}

/// A compiler of routing tables that also follows their changes.
///
/// `build` and `view` are called where the type is known; everything else also through a trait
/// object.
pub trait Engine<A: Address>: Send + Sync + 'static {
    /// The type that looks up.
    type View: Lookup<A>
    where
        Self: Sized;

    /// Compiles a table. The caller chooses a width that holds every next-hop index of it.
    ///
    /// # Errors
    /// If the table exceeds one of the engine's limits, or a parameter is out of its range.
    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error>
    where
        Self: Sized;

    /// Returns the view that answers for the table as it is now.
    fn view(&self) -> &Self::View
    where
        Self: Sized;

    /// Follows the table: `rib` has just changed by `deltas`, at most one a prefix, in any order.
    ///
    /// Unless the result is [`Update::Applied`], every lookup still returns its previous answer.
    /// Each `after` fits into the width of the answers. The default cannot follow.
    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let _ = (rib, deltas);
        Update::Rebuild
    }

    /// Returns a copy that changes by itself, where copying takes less time than a build.
    #[must_use]
    fn copied(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the bytes it occupies, by part.
    fn memory(&self) -> Memory;

    /// Returns the figures that its paper prints of a compiled table, in the paper's own terms. May
    /// be slow.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks the structure itself (indices in range, counters equal to what they count, no block
    /// lost) against the table it was built from. For tests; may be slow.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    fn validate(&self, rib: &Rib<A>) -> Result<(), String>
    where
        Self: Sized,
    {
        let _ = rib;
        Ok(())
    }

    /// Returns the methods to share its memory with readers while it changes, if it can.
    #[must_use]
    fn sharing() -> Option<Sharing<Self, A>>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the methods to store it in a file, if it can.
    #[must_use]
    fn persistence() -> Option<Persistence<Self, A>>
    where
        Self: Sized,
    {
        None
    }
}
