//! [`Fib`]: a compiled table, whatever engine is inside.

mod slice;

pub use slice::NextHopSlice;

use crate::arch::Level;
use crate::engine::best::candidates;
use crate::engine::{
    BEST, Config, Cost, ENGINES, Entry, Figure, Makers, Update, Updates, View, Whole, WidthBits, find,
};
use crate::memory::Memory;
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
    /// If `best` chose an engine that is rebuilt for each change: the engines that follow in place,
    /// in the order in which it tries them. Otherwise empty.
    for_changes: Vec<Entry>,
}

/// The most routes of a table that is built again in a millisecond. For a larger one that changes,
/// `best` takes an engine that follows in place.
const REBUILT_MOST: usize = 1 << 12;

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
        engines: &[Entry],
        specification: &str,
        rib: &Rib<A>,
        config: Config,
    ) -> Result<Self, Error> {
        let (name, config) = config.with_all_of(specification)?;
        let candidates = if name == BEST { candidates(engines, rib) } else { vec![find(engines, name)?] };
        let mut refused = Error::new(ErrorKind::UnknownEngine, format!("no engine does {}", A::FAMILY));
        for (at, &entry) in candidates.iter().enumerate() {
            match compile(entry, rib, &config) {
                Ok(whole) => {
                    let follows = |entry: &&&Entry| entry.about.updates == Updates::InPlace;
                    let others = if follows(&&entry) { &[] } else { &candidates[at + 1..] };
                    let for_changes = others.iter().filter(follows).map(|&&other| other).collect();
                    return Ok(Self { whole, entry: *entry, config, for_changes });
                }
                // The next may hold it.
                Err(error) if error.limit().is_some() => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }

    /// Follows the table: `rib` has changed by `deltas`, at most one a prefix. If the engine cannot
    /// do that in place, it is rebuilt. If it never can and was chosen by [`BEST`], a large table
    /// gets the best engine that can.
    ///
    /// # Errors
    /// If the new table exceeds a limit. This table then answers as before, and the caller undoes
    /// the deltas in its `rib` (see [`Delta::inverse`]).
    pub fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Applied, Error> {
        match self.follow(rib, deltas)? {
            Some(applied) => Ok(applied),
            None => self.rebuild(rib),
        }
    }

    /// As [`Fib::apply`]. Returns `None` if a grace period has to end first; the caller then passes
    /// the same changes again.
    pub(crate) fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Option<Applied>, Error> {
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        self.entry.about.check_next_hop(greatest)?;
        if greatest > self.whole.width().max() {
            return self.rebuild(rib).map(Some); // at a greater width
        }
        match self.whole.engine_mut().apply(rib, deltas) {
            Update::Applied(cost) => Ok(Some(Applied::InPlace(cost))),
            Update::Limit(limit) => Err(limit.into()),
            Update::Rebuild => self.rebuild(rib).map(Some),
            Update::Waiting => Ok(None),
        }
    }

    /// Replaces an engine that `best` chose and that is rebuilt for each change, unless the table
    /// is small. Returns whether it did.
    pub(crate) fn prepare_for_changes(&mut self, rib: &Rib<A>) -> bool {
        if rib.len() <= REBUILT_MOST {
            return false;
        }
        for entry in std::mem::take(&mut self.for_changes) {
            if let Ok(whole) = compile(&entry, rib, &self.config) {
                (self.whole, self.entry) = (whole, entry);
                return true;
            }
        }
        false
    }

    /// Builds a new engine and replaces this one.
    pub(crate) fn rebuild(&mut self, rib: &Rib<A>) -> Result<Applied, Error> {
        if self.prepare_for_changes(rib) {
            return Ok(Applied::Rebuilt);
        }
        self.whole = compile(&self.entry, rib, &self.config)?;
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
    pub(crate) fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        let name = self.entry.about.name;
        self.whole.save(sections).map_err(|error| Error::new(error.kind(), format!("{name}: {error}")))
    }

    /// Builds another table by the same engine and configuration.
    ///
    /// # Errors
    /// If `rib` exceeds a limit of the engine.
    pub fn rebuilt(&self, rib: &Rib<A>) -> Result<Self, Error> {
        self.origin().compile(rib)
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
        Origin { entry: self.entry, config: self.config.clone() }
    }

    /// Returns the view, and what is needed to turn it into a table again.
    pub(crate) fn into_parts(self) -> (Box<dyn View<A>>, Origin) {
        (self.whole, Origin { entry: self.entry, config: self.config })
    }

    /// Reverses [`into_parts`](Self::into_parts). Returns `None` if the view has no engine.
    pub(crate) fn from_parts(view: Box<dyn View<A>>, Origin { entry, config }: Origin) -> Option<Self> {
        Some(Self { whole: view.into_whole()?, entry, config, for_changes: Vec::new() })
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

    /// Sets the instruction set of later batches; the answers stay the same. For tests and
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
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.whole.engine().validate(rib)
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
}

impl Origin {
    /// Compiles another table in the same way.
    ///
    /// # Errors
    /// If `rib` exceeds a limit of the engine.
    pub(crate) fn compile<A: Address>(&self, rib: &Rib<A>) -> Result<Fib<A>, Error> {
        let whole = compile(&self.entry, rib, &self.config)?;
        Ok(Fib { whole, entry: self.entry, config: self.config.clone(), for_changes: Vec::new() })
    }
}

fn compile<A: Address>(entry: &Entry, rib: &Rib<A>, config: &Config) -> Result<Box<dyn Whole<A>>, Error> {
    let needed = rib.max_next_hop();
    let width = config.width.unwrap_or(WidthBits::holding(needed));
    Limit::check(Limit::NEXT_HOPS, needed.0.into(), width.max().0.into())?;
    entry.about.check_next_hop(needed)?;
    (makers(entry)?.build)(rib, &config.resolved(entry.about)?, width)
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
pub(crate) fn open<A: Address>(
    engines: &[Entry],
    specification: &str,
    width: WidthBits,
    sections: &Sections<'_>,
) -> Result<Box<dyn View<A>>, Error> {
    let (name, config) = Config::default().with_all_of(specification)?;
    let entry = find(engines, name)?;
    (makers(entry)?.open)(sections, &config.resolved(entry.about)?, width)
}
