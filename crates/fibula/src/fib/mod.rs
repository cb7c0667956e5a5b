//! [`Fib`]: a compiled table, whatever engine is inside.

mod slice;
mod views;

pub use slice::NextHopSlice;
pub use views::Views;

use crate::View;
use crate::arch::Level;
use crate::engine::{
    BEST, Choice, Config, Cost, ENGINES, Entry, Figure, Makers, Update, Whole, WidthBits, find,
};
use crate::memory::Memory;
#[cfg(any(test, feature = "snapshot"))]
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Delta, Error, ErrorKind, Limit, Rib};
use std::ops::Deref;

/// A forwarding table: a [`Rib`] compiled by an engine.
///
/// It follows its table by [`Fib::apply`]. Lookups are those of its [`View`], to which it
/// dereferences. They take `&self` and may run on any number of threads.
///
/// ```
/// use fibula::{Fib, NextHop, Rib};
/// use std::net::Ipv4Addr;
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("198.51.100.0/24".parse()?, NextHop(1));
/// let mut fib = Fib::new(&rib)?;
/// assert_eq!(fib.lookup(Ipv4Addr::new(198, 51, 100, 7)), Some(NextHop(1)));
/// if let Some(delta) = rib.remove("198.51.100.0/24".parse()?) {
///     fib.apply(&rib, &[delta])?;
/// }
/// assert_eq!(fib.lookup(Ipv4Addr::new(198, 51, 100, 7)), None);
/// # Ok::<(), fibula::Error>(())
/// ```
pub struct Fib<A: Address> {
    whole: Box<dyn Whole<A>>,
    entry: Entry,
    config: Config,
    /// If `best` chose the engine: how it chooses another when the table has changed.
    choice: Option<Box<Choice>>,
    /// The number of routes of the table.
    routes: usize,
}

/// How a [`Fib`] followed a change of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The engine changed the touched parts, at this cost.
    InPlace(Cost),
    /// A new engine was built.
    Rebuilt,
}

impl<A: Address> Fib<A> {
    /// Compiles a table with the engine that suits it best.
    ///
    /// # Errors
    /// See [`Fib::build`].
    pub fn new(rib: &Rib<A>) -> Result<Self, Error> {
        Self::build(BEST, rib)
    }

    /// Compiles a table with the engine of a specification: its name, then any parameters, as in
    /// `dxr/k=20`. [`BEST`] leaves the choice to fibula; [`Fib::entry`] says what was chosen.
    ///
    /// # Errors
    /// If there is no such engine, it does not support this family, a parameter is unknown or out
    /// of range, or the table exceeds a limit of the engine.
    pub fn build(specification: &str, rib: &Rib<A>) -> Result<Self, Error> {
        Self::build_from(ENGINES, specification, rib, Config::default())
    }

    /// As [`Fib::build`], with an engine from `engines` and an initial configuration.
    ///
    /// # Errors
    /// See [`Fib::build`].
    pub fn build_from(
        engines: &'static [Entry],
        specification: &str,
        rib: &Rib<A>,
        config: Config,
    ) -> Result<Self, Error> {
        let (name, config) = config.with_all_of(specification)?;
        if name != BEST {
            let entry = *find(engines, name)?;
            let whole = compile(&entry, rib, &config)?;
            return Ok(Self { whole, entry, config, choice: None, routes: rib.len() });
        }
        let choice = Choice::among(engines, &config, rib)?;
        let config = config.without_parameters();
        let (whole, entry) = choice.compile(rib, |entry| compile(entry, rib, &config))?;
        Ok(Self { whole, entry, config, choice: Some(Box::new(choice)), routes: rib.len() })
    }

    /// Follows the table: `rib` has changed by `deltas`, at most one a prefix. If the engine cannot
    /// do that in place, it is rebuilt.
    ///
    /// If [`BEST`] chose the engine, it builds a table again in three cases: when a quarter of the
    /// routes has changed and another engine costs clearly less; when the table has four times the
    /// routes of its last build; and when one build costs less than applying all `deltas`.
    ///
    /// # Errors
    /// If the new table exceeds a limit, or has not as many routes as the one that was compiled has
    /// after the deltas, so that it is another one. This table then answers as before, and the
    /// caller undoes the deltas in its `rib` (see [`Delta::inverse`]).
    pub fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Applied, Error> {
        let routes = self.routes_after(deltas);
        if routes != Some(rib.len()) {
            let (before, now) = (self.routes, rib.len());
            let what = format!("{} changes of {before} routes do not lead to {now}", deltas.len());
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        self.entry.about.check_next_hop(greatest)?;
        if greatest > self.whole.width().max() || self.is_outdated(rib, deltas.len()) {
            return self.rebuild(rib);
        }
        match self.whole.engine_mut().apply(rib, deltas) {
            Update::Applied(cost) => {
                self.routes = rib.len();
                if let Some(choice) = &mut self.choice {
                    choice.follow(deltas);
                }
                Ok(Applied::InPlace(cost))
            }
            Update::Limit(limit) => Err(limit.into()),
            Update::Rebuild => self.rebuild(rib),
        }
    }

    /// Returns the number of routes after some changes; `None` if there are fewer than the changes
    /// remove.
    fn routes_after(&self, deltas: &[Delta<A>]) -> Option<usize> {
        let count = |is: fn(&Delta<A>) -> bool| deltas.iter().filter(|delta| is(delta)).count();
        let added = count(|delta| delta.after.is_some());
        (self.routes + added).checked_sub(count(|delta| delta.before.is_some()))
    }

    /// Returns whether `best` chose the engine and would now rather build.
    fn is_outdated(&mut self, rib: &Rib<A>, deltas: usize) -> bool {
        self.choice.as_mut().is_some_and(|choice| choice.is_outdated(&self.entry, rib, deltas))
    }

    /// Builds a new engine, at the width that the table needs, and replaces this one.
    pub(crate) fn rebuild(&mut self, rib: &Rib<A>) -> Result<Applied, Error> {
        *self = self.origin().compile(rib)?;
        Ok(Applied::Rebuilt)
    }

    /// Returns the specification of the engine inside with its parameters, as [`Fib::build`] takes
    /// it.
    #[must_use]
    pub fn specification(&self) -> String {
        self.config.specification(self.entry.about.name)
    }

    /// Passes the engine's arrays to a snapshot.
    ///
    /// # Errors
    /// If the engine cannot be stored in snapshots.
    #[cfg(any(test, feature = "snapshot"))]
    pub(crate) fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        let name = self.entry.about.name;
        self.whole.save(sections).map_err(|error| Error::new(error.kind(), format!("{name}: {error}")))
    }

    /// Builds another table by the same engine and configuration. If [`BEST`] chose the engine, it
    /// chooses again.
    ///
    /// # Errors
    /// If `rib` exceeds a limit of the engine.
    pub fn rebuilt(&self, rib: &Rib<A>) -> Result<Self, Error> {
        self.origin().compile(rib)
    }

    /// Returns a copy that changes by itself; `rib` is the table. An engine that cannot be copied
    /// is [built again](Self::rebuilt).
    ///
    /// # Errors
    /// If it is built again, and `rib` exceeds a limit of the engine.
    pub fn copied(&self, rib: &Rib<A>) -> Result<Self, Error> {
        let copy = self.whole.copied().and_then(|whole| Self::from_parts(whole, self.origin()));
        copy.map_or_else(|| self.rebuilt(rib), Ok)
    }

    /// Returns a view of this table's memory for readers while it changes; see
    /// [`Share`](crate::engine::Share).
    pub(crate) fn share(&mut self) -> Option<Box<dyn View<A>>> {
        self.whole.share()
    }

    /// See [`Share::readers_passed`](crate::engine::Share::readers_passed).
    pub(crate) fn readers_passed(&mut self) {
        self.whole.readers_passed();
    }

    /// Returns how this table was compiled.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            entry: self.entry,
            config: self.config.clone(),
            choice: self.choice.clone(),
            routes: self.routes,
        }
    }

    /// Returns the view, and what is needed to turn it into a table again.
    pub(crate) fn into_parts(self) -> (Box<dyn View<A>>, Origin) {
        let Self { whole, entry, config, choice, routes } = self;
        (whole, Origin { entry, config, choice, routes })
    }

    /// Reverses [`into_parts`](Self::into_parts). Returns `None` if the view has no engine.
    pub(crate) fn from_parts(view: Box<dyn View<A>>, origin: Origin) -> Option<Self> {
        let Origin { entry, config, choice, routes } = origin;
        Some(Self { whole: view.into_whole()?, entry, config, choice, routes })
    }

    /// Returns the registry entry of the engine inside.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the configuration it was built with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sets the instruction set of later lookups; the answers stay the same. For tests and
    /// measurements: a table is built for the processor's best.
    pub fn set_isa(&mut self, isa: Level) {
        self.config.isa = isa;
        self.whole.set_isa(isa);
    }

    /// Returns the bytes it occupies, by part.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.whole.engine().memory()
    }

    /// Returns the figures that the engine's paper prints of a compiled table. May be slow.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.whole.engine().figures()
    }

    /// Checks the structure against the table it was built from; for tests.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    #[cfg(any(test, feature = "engines"))]
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.whole.validate(rib)
    }
}

impl<A: Address> std::fmt::Debug for Fib<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fib")
            .field("engine", &self.entry.about.name)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl<A: Address> Deref for Fib<A> {
    type Target = dyn View<A>;

    #[inline(always)]
    fn deref(&self) -> &(dyn View<A> + 'static) {
        &*self.whole
    }
}

/// Keeps only the view.
impl<A: Address> From<Fib<A>> for Box<dyn View<A>> {
    fn from(fib: Fib<A>) -> Self {
        fib.whole
    }
}

/// The engine and configuration that a table was compiled with.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    entry: Entry,
    config: Config,
    choice: Option<Box<Choice>>,
    routes: usize,
}

impl Origin {
    /// Compiles a table in the same way. If [`BEST`] chose the engine, it chooses again, for a
    /// table that changes.
    ///
    /// # Errors
    /// If `rib` exceeds a limit of the engine.
    pub(crate) fn compile<A: Address>(&self, rib: &Rib<A>) -> Result<Fib<A>, Error> {
        let choice = self.choice.as_ref().map(|choice| Box::new(choice.again(rib)));
        let (whole, entry) = match &choice {
            Some(choice) => choice.compile(rib, |entry| compile(entry, rib, &self.config))?,
            None => (compile(&self.entry, rib, &self.config)?, self.entry),
        };
        Ok(Fib { whole, entry, config: self.config.clone(), choice, routes: rib.len() })
    }
}

/// Checks that an engine of the library has this name and looks up this family.
///
/// # Errors
/// If not, or if the specification does not read as one.
pub(crate) fn check_name<A: Address>(specification: &str) -> Result<(), Error> {
    let (name, _) = Config::default().with_all_of(specification)?;
    if name != BEST {
        makers::<A>(find(ENGINES, name)?)?;
    }
    Ok(())
}

fn compile<A: Address>(entry: &Entry, rib: &Rib<A>, config: &Config) -> Result<Box<dyn Whole<A>>, Error> {
    let (makers, needed) = (makers(entry)?, rib.max_next_hop());
    let width = Ord::max(entry.about.least_width, WidthBits::holding(needed));
    let width = makers.one_width.or(config.width).unwrap_or(width);
    Limit::check(Limit::NEXT_HOPS, needed.0.into(), width.max().0.into())?;
    entry.about.check_next_hop(needed)?;
    (makers.build)(rib, &config.resolved(entry.about)?, width)
}

fn makers<A: Address>(entry: &Entry) -> Result<Makers<A>, Error> {
    let name = entry.about.name;
    let error = || Error::new(ErrorKind::Family, format!("engine {name} does not do {}", A::FAMILY));
    A::makers(entry).ok_or_else(error)
}

/// Opens the table of a snapshot, as [`Fib::save`] wrote it.
///
/// # Errors
/// If the engine is not among `engines`, or its sections are unsound.
#[cfg(any(test, feature = "snapshot"))]
pub(crate) fn open<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    width: WidthBits,
    sections: &Sections<'_>,
) -> Result<Box<dyn View<A>>, Error> {
    let (name, config) = Config::default().with_all_of(specification)?;
    let entry = find(engines, name)?;
    let makers = makers(entry)?;
    if let Some(one) = makers.one_width.filter(|&one| one != width) {
        let text = format!("{name} in this file has answers of {width} bits; this build reads {one}");
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    (makers.open)(sections, &config.resolved(entry.about)?, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NextHop;
    use crate::testing::rib;

    #[test]
    fn changes_of_another_table_are_refused() {
        let mut table = rib::<u32>(&[("10.0.0.0/8", 1), ("10.1.0.0/16", 2)]);
        let mut fib = Fib::new(&table).unwrap();
        let mut other = rib::<u32>(&[("10.1.0.0/16", 2)]);
        let delta = other.remove("10.1.0.0/16".parse().unwrap()).unwrap();
        let error = fib.apply(&other, &[delta]).unwrap_err();
        assert_eq!(error.to_string(), "1 changes of 2 routes do not lead to 0");
        assert_eq!(fib.lookup(0x0A01_0000_u32), Some(NextHop(2)));
        // And those of its own that it gets next are followed.
        let delta = table.remove("10.1.0.0/16".parse().unwrap()).unwrap();
        fib.apply(&table, &[delta]).unwrap();
        assert_eq!(fib.lookup(0x0A01_0000_u32), Some(NextHop(1)));
    }
}
