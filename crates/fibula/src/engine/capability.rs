//! Optional capabilities of engines: traits beside [`Engine`], and their methods as values that an
//! engine returns.

use super::{Config, Engine};
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Error};

/// An engine whose memory readers may read while it changes.
///
/// Each address is then answered as before a change or as after it, and nothing that readers can
/// reach moves.
pub trait Share<A: Address>: Engine<A> {
    /// Returns a view of this engine's memory for readers on other threads; from now on
    /// [`apply`](Engine::apply) changes that memory while they read. Returns `None` if the present
    /// table cannot be shared; it is then double-buffered instead.
    fn share(&mut self) -> Option<Self::View>
    where
        Self: Sized;

    /// Ends a grace period: no reader still holds what was replaced before the previous call.
    fn readers_passed(&mut self);
}

/// An engine whose compiled tables can be stored in files.
pub trait Persist<A: Address>: Engine<A> {
    /// Passes everything that lookups read to a [snapshot](crate::snapshot).
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>);

    /// Returns the view whose arrays [`save`](Persist::save) wrote. Arrays are read in place.
    ///
    /// The sections are intact, but may be malicious. Whatever they hold, this may refuse them, and
    /// lookups may be wrong or panic. No lookup reads outside of them, and each ends. A walk that
    /// could follow a cycle is checked here, since a bound in the walk would cost every lookup.
    ///
    /// # Errors
    /// If a section is missing, or has another size than lookups rely on.
    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self::View, Error>
    where
        Self: Sized;
}

/// The methods of [`Share`].
#[derive(Debug)]
pub struct Sharing<E: Engine<A>, A: Address> {
    pub(crate) share: fn(&mut E) -> Option<E::View>,
    pub(crate) readers_passed: fn(&mut E),
}

impl<E: Share<A>, A: Address> Sharing<E, A> {
    /// Returns the methods of `E`.
    #[must_use]
    pub fn of_engine() -> Self {
        Self { share: E::share, readers_passed: E::readers_passed }
    }
}

/// The methods of [`Persist`].
pub struct Persistence<E: Engine<A>, A: Address> {
    pub(crate) save: for<'s, 'w> fn(&'s E, &'w mut SectionWriter<'s>),
    pub(crate) open: fn(&Sections<'_>, &Config) -> Result<E::View, Error>,
}

impl<E: Persist<A>, A: Address> Persistence<E, A> {
    /// Returns the methods of `E`.
    #[must_use]
    pub fn of_engine() -> Self {
        Self { save: |engine, sections| engine.save(sections), open: E::open }
    }
}
