//! [`Fib`]: a compiled table that answers, whatever engine is inside.

pub(crate) mod erased;
mod slice;

pub use slice::NextHopSlice;

use crate::arch::Level;
use crate::engine::best::candidates;
use crate::engine::{
    About, Accesses, AnyEngine, BEST, Config, Cost, ENGINES, Entry, Figure, Source, Update, WidthBits, find,
};
use crate::memory::Memory;
use crate::snapshot::{SectionWriter, Sections};
use crate::{Address, Delta, Error, ErrorKind, Limit, NextHop, Rib};

/// A forwarding table: a [`Rib`] compiled by an engine.
///
/// It follows its table by [`Fib::apply`]. Lookups take `&self` and may run on any number of threads.
pub struct Fib<A: Address> {
    engine: Box<dyn AnyEngine<A>>,
    entry: Entry,
    config: Config,
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
    /// Compiles a table with the engine of a specification: its name, then any parameters, as in
    /// `dxr/k=20`. [`BEST`] leaves the choice to fibula; [`Fib::entry`] says what was chosen.
    ///
    /// # Errors
    /// If there is no such engine, it does not do this family, a parameter is not its own or out of range, or the
    /// table exceeds a limit of the engine.
    pub fn build(specification: &str, rib: &Rib<A>) -> Result<Self, Error> {
        Self::build_from(ENGINES, specification, rib, Config::default())
    }

    /// As [`Fib::build`], with an engine out of `engines` and a configuration to begin with.
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
        let mut candidates = if name == BEST { candidates(engines, rib) } else { vec![find(engines, name)?] };
        let last = candidates
            .pop()
            .ok_or_else(|| Error::new(ErrorKind::UnknownEngine, format!("no engine does {}", A::FAMILY)))?;
        for entry in candidates {
            match compile(entry, rib, &config) {
                Ok(engine) => return Ok(Self { engine, entry: *entry, config }),
                Err(error) if error.limit().is_some() => {} // does not fit here: the next may hold it
                Err(error) => return Err(error),
            }
        }
        Ok(Self { engine: compile(last, rib, &config)?, entry: *last, config })
    }

    /// The answer for one address; [`NextHop::NONE`] if no route matches.
    #[must_use]
    #[inline]
    pub fn lookup(&self, address: A) -> NextHop {
        self.engine.lookup(address)
    }

    /// As [`Fib::lookup`], adding what it touches to `accesses`.
    ///
    /// ```
    /// use fibula::{Fib, Rib, engine::Accesses};
    /// let fib = Fib::build("dir24-8", &Rib::<u32>::new()).unwrap();
    /// let mut accesses = Accesses::new();
    /// fib.lookup_counted(0x0808_0808, &mut accesses);
    /// assert_eq!((accesses.loads(), accesses.lines()), (1, 1));
    /// ```
    pub fn lookup_counted(&self, address: A, accesses: &mut Accesses) -> NextHop {
        self.engine.lookup_counted(address, accesses)
    }

    /// The answers for many addresses, `next_hops[i]` for `addresses[i]`: several times as fast as one by one.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn lookup_batch(&self, addresses: &[A], next_hops: &mut [NextHop]) {
        self.engine.lookup_batch_widened(self.config.isa, addresses, next_hops);
    }

    /// As [`Fib::lookup_batch`], into an array of the engine's own [`width`](Fib::width): the fastest way.
    ///
    /// # Panics
    /// If the two differ in length, or the array is of another width.
    pub fn lookup_batch_into<'s>(&self, addresses: &[A], next_hops: impl Into<NextHopSlice<'s>>) {
        self.engine.lookup_batch(self.config.isa, addresses, next_hops.into());
    }

    /// Into how many stages its lookup can be cut, each for a thread of its own ([`parallel`](crate::parallel)); 1 if into
    /// none.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.engine.stages()
    }

    /// One stage of many lookups, less than [`Fib::stages`]: `found[i]` is what the stage before has left of
    /// `addresses[i]`, 0 before the first, and then what this one leaves: after the last the next hop's index.
    ///
    /// ```
    /// use fibula::{Fib, NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(7));
    /// let fib = Fib::build("sail-l", &rib).unwrap();
    /// let (addresses, mut found) = ([0xC000_0201, 1], [0; 2]);
    /// for stage in 0..fib.stages() {
    ///     fib.run_stage(stage, &addresses, &mut found);
    /// }
    /// assert_eq!((fib.stages(), found), (3, [7, 0]));
    /// ```
    pub fn run_stage(&self, stage: usize, addresses: &[A], found: &mut [u64]) {
        self.engine.run_stage(self.config.isa, stage, addresses, found);
    }

    /// Follows the table: `rib` has changed by `deltas`, at most one a prefix. Where the engine cannot do
    /// that in place, it is built anew.
    ///
    /// # Errors
    /// If the new table exceeds a limit; this table answers as before then, and the caller takes the deltas
    /// back from its `rib` (see [`Delta::inverse`]).
    pub fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Applied, Error> {
        match self.follow(rib, deltas)? {
            Some(applied) => Ok(applied),
            None => self.rebuild(rib),
        }
    }

    /// As [`Fib::apply`]; `None` if readers have to pass first, then the same changes are handed in again.
    pub(crate) fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<Option<Applied>, Error> {
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        self.entry.about.check_next_hop(greatest)?;
        match self.engine.apply(rib, deltas) {
            Update::Applied(cost) => Ok(Some(Applied::InPlace(cost))),
            Update::Limit(limit) => Err(limit.into()),
            Update::Rebuild => self.rebuild(rib).map(Some),
            Update::Waiting => Ok(None),
        }
    }

    /// Builds a new engine in the place of this one.
    pub(crate) fn rebuild(&mut self, rib: &Rib<A>) -> Result<Applied, Error> {
        self.engine = compile(&self.entry, rib, &self.config)?;
        Ok(Applied::Rebuilt)
    }

    /// The specification of the engine inside and of its parameters, as [`Fib::build`] takes it.
    #[must_use]
    pub fn specification(&self) -> String {
        self.config.specification(self.entry.about.name)
    }

    /// The table of a snapshot's sections, as [`Fib::save`] handed them over.
    ///
    /// # Errors
    /// If the engine is not among `engines`, or its sections are not sound.
    pub(crate) fn open(
        engines: &[Entry],
        specification: &str,
        width: WidthBits,
        sections: &Sections<'_>,
    ) -> Result<Self, Error> {
        let (name, config) = Config::default().with_all_of(specification)?;
        let entry = find(engines, name)?;
        let engine = make(entry, Source::Snapshot(sections), &config, width)?;
        Ok(Self { engine, entry: *entry, config })
    }

    /// Hands the engine's arrays to a snapshot.
    ///
    /// # Errors
    /// If the engine keeps none.
    pub(crate) fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        let name = self.entry.about.name;
        self.engine.save(sections).map_err(|error| Error::new(error.kind(), format!("{name}: {error}")))
    }

    /// Another table like this one, by the same engine and configuration.
    ///
    /// # Errors
    /// If `rib` exceeds a limit of the engine.
    pub fn rebuilt(&self, rib: &Rib<A>) -> Result<Self, Error> {
        let engine = compile(&self.entry, rib, &self.config)?;
        Ok(Self { engine, entry: self.entry, config: self.config.clone() })
    }

    /// A table that answers from the memory of this one while it changes; see [`Engine::share`](crate::engine::Engine::share).
    pub(crate) fn share(&mut self) -> Option<Self> {
        let engine = self.engine.share()?;
        Some(Self { engine, entry: self.entry, config: self.config.clone() })
    }

    /// See [`Engine::readers_passed`](crate::engine::Engine::readers_passed).
    pub(crate) fn readers_passed(&mut self) {
        self.engine.readers_passed();
    }

    /// The engine inside.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The configuration it was built with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Makes later batches run on another instruction set; the answers stay the same. For tests and measurements:
    /// a table is built for the processor's best.
    pub fn set_isa(&mut self, isa: Level) {
        self.config.isa = isa;
    }

    /// The width of the answers it keeps.
    #[must_use]
    pub fn width(&self) -> WidthBits {
        self.engine.width()
    }

    /// What it occupies, by part.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }

    /// The numbers that the engine's paper prints of a compiled table. May be slow.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.engine.figures()
    }

    /// Checks the structure against the table it was built from; for tests.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.engine.validate(rib)
    }
}

impl<A: Address> std::fmt::Debug for Fib<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fib").field("engine", &self.entry.about.name).field("config", &self.config).finish()
    }
}

fn compile<A: Address>(entry: &Entry, rib: &Rib<A>, config: &Config) -> Result<Box<dyn AnyEngine<A>>, Error> {
    let needed = rib.max_next_hop();
    let width = config.width.unwrap_or(WidthBits::holding(needed));
    Limit::check(About::NEXT_HOPS, needed.0.into(), width.max().0.into())?;
    entry.about.check_next_hop(needed)?;
    make(entry, Source::Table(rib), config, width)
}

fn make<A: Address>(
    entry: &Entry,
    source: Source<'_, A>,
    config: &Config,
    width: WidthBits,
) -> Result<Box<dyn AnyEngine<A>>, Error> {
    let name = entry.about.name;
    let resolved = config.resolved(entry.about)?;
    let make = A::builder(entry);
    let make = make
        .ok_or_else(|| Error::new(ErrorKind::Family, format!("engine {name} does not do {}", A::FAMILY)))?;
    make(source, &resolved, width)
}
