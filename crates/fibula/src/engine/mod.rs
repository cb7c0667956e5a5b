//! The seam: what every lookup engine is, and nothing about how one works.
//!
//! An engine is two types in its own folder under `engines`. One answers: it implements [`Lookup`], two methods, and is
//! all that a reader thread, a snapshot or a pipeline has. The other compiles a table and follows its changes: it
//! implements [`Engine`] and hands the first one out. Where nothing but the engine reads its memory, one type may be both.
//! A constant [`About`] describes the engine, and one line of the [registry](crate::engine::ENGINES) makes it known.
//!
//! The framework around it ([`Fib`](crate::Fib)) owns what engines share: the width of the answers, the instruction set,
//! the rebuild where an engine cannot follow, and the old table where a new one does not fit.
//!
//! # Capabilities
//! What only some engines can do is a trait beside the seam. An engine that lacks one says nothing about it.
//!
//! | capability | trait | said by |
//! | --- | --- | --- |
//! | readers go on in the same memory while it changes | [`Share`] | [`Engine::sharing`] |
//! | a compiled table is kept in a file | [`Persist`] | [`Engine::persistence`] |
//! | a lookup is cut into stages for threads | [`Stages`](crate::parallel::Stages) | [`Lookup::staging`] |

mod about;
pub(crate) mod best;
mod capability;
mod config;
mod erased;
mod figure;
mod meter;
mod registry;
mod update;
mod view;
mod width;

pub use about::{About, LimitInfo, ParameterInfo, Shape, Updates};
pub use best::BEST;
pub use capability::{Persist, Persistence, Share, Sharing, Staging};
pub use config::Config;
pub use figure::Figure;
pub use meter::{Accesses, Meter, Unmetered};
pub use registry::{Builder, ENGINES, Entry, Makers, Opener, find};
pub use update::{Cost, Update};
pub use view::View;
pub use width::{Width, WidthBits};

pub use crate::arch::{Isa, Level};
pub use crate::memory::{Memory, Pages};
pub(crate) use erased::Whole;
#[doc(hidden)]
pub use erased::{boxed, opened};

use crate::{Address, Delta, Error, Rib};

/// What answers: the part of a compiled table that lookups read.
///
/// Answers are exact for every address. They are next-hop indices; 0 says that no route matches.
pub trait Lookup<A: Address>: Send + Sync + 'static {
    /// The integer that answers are kept in.
    type Width: Width;

    /// Returns the answer for one address and tells `meter` of each access to the table: the scalar lookup, written once.
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> Self::Width;

    /// Returns the answer for one address.
    #[inline(always)]
    fn lookup(&self, address: A) -> Self::Width {
        self.lookup_metered(address, &mut Unmetered)
    }

    /// Writes the answer for `addresses[i]` to `next_hops[i]`. The framework has checked that both are equally long.
    ///
    /// Implementations are `#[inline(always)]`, like all they call (see [`Kernel::run`](crate::arch::Kernel::run)), and
    /// overlap the memory accesses of neighbouring addresses.
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [Self::Width]);

    /// How a lookup is cut into stages, if it can be.
    #[must_use]
    fn staging() -> Option<Staging<Self, A>>
    where
        Self: Sized,
    {
        None
    }
}

/// What compiles a routing table and follows its changes.
///
/// `build` and `view` are called where the type is known; everything else also behind a pointer.
pub trait Engine<A: Address>: Send + Sync + 'static {
    /// What answers.
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

    /// Returns what answers for the table as it is now.
    fn view(&self) -> &Self::View
    where
        Self: Sized;

    /// Follows the table: `rib` has just changed by `deltas`, at most one a prefix, in any order.
    ///
    /// Unless the result is [`Update::Applied`], every lookup still gives what it gave before. Each `after` fits into the
    /// width of the answers. The default cannot follow.
    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let _ = (rib, deltas);
        Update::Rebuild
    }

    /// Returns the bytes it occupies, by part.
    fn memory(&self) -> Memory;

    /// Returns the numbers its paper prints of a compiled table, in the paper's own terms. May be slow.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks the structure itself (indices in range, counters equal to what they count, no block lost) against the table
    /// it was built from. For tests; may be slow.
    ///
    /// # Errors
    /// With the first contradiction found.
    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        let _ = rib;
        Ok(())
    }

    /// How readers share its memory while it changes, if they can.
    #[must_use]
    fn sharing() -> Option<Sharing<Self, A>>
    where
        Self: Sized,
    {
        None
    }

    /// How it is kept in a file, if it can be.
    #[must_use]
    fn persistence() -> Option<Persistence<Self, A>>
    where
        Self: Sized,
    {
        None
    }
}
