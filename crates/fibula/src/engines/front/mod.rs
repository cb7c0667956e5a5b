//! [`Front`]: a part that answers many addresses of a table by itself, before an engine that has
//! the other routes.
//!
//! A front is an engine. Two parts make one: [`exact`] makes `ledger`, and [`window`] makes
//! `casement`. A part says 0 for an address that is not its own, and the inner engine is asked. The
//! inner engine follows changes in place, and so does the front.
//!
//! # Lookups
//! One address is looked up in the part, then in the inner engine. A batch goes through the part,
//! [`AT_ONCE`] addresses at a time. Those without an answer are collected, and go through the batch
//! path of the inner engine together. Where few of the first [`SAMPLE`] may be the part's own, as
//! in traffic that takes a default route past a table of hosts, the inner engine answers all first.
//!
//! # Updates
//! The part changes first, because some of what it no longer has room for is a change of the other
//! routes. Then the inner engine follows. Where it cannot, the part takes its changes back.
//!
//! # Snapshots
//! The sections of the part, then those of the inner engine.

pub(crate) mod exact;
pub(crate) mod window;

use crate::arch::{Isa, Scalar};
use crate::blocks::unanswered::look_up_unanswered;
use crate::engine::{
    Config, Cost, Engine, Figure, Lookup, Meter, Persist, Persistence, Unmetered, Update, look_up_inside,
};
use crate::memory::Memory;
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Change, Delta, Error, Rib, Route};
use std::fmt::Debug;

/// The addresses after which those without an answer are looked up: few enough that they are in the
/// second cache still.
const AT_ONCE: usize = 4096;

/// The most addresses by which it is judged whether the part has few of a batch. In a short call it
/// is one of [`SHARE`].
const SAMPLE: usize = 64;

/// The share of them up to which it has few.
const SHARE: usize = 4;

/// The part of a table that answers before the inner engine.
pub(crate) trait Part<A: Address>: Clone + Debug + Sized + Send + Sync + 'static {
    /// The engine of the other routes.
    type Inner: Persist<A, View: Lookup<A, Width = u32> + Debug> + Debug;

    /// See [`Lookup::FEW`].
    const FEW: usize;

    /// Makes the part of a table, and returns the other routes.
    ///
    /// # Errors
    /// If the table exceeds a limit of the part.
    fn build(rib: &Rib<A>, config: &Config) -> Result<(Self, Rib<A>), Error>;

    /// Returns the next hop of an address; 0 if the inner engine has the answer.
    fn find(&self, isa: impl Isa, address: A, meter: &mut impl Meter) -> u32;

    /// As [`find`](Part::find), for `addresses[i]` into `next_hops[i]`.
    fn find_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]);

    /// Returns whether it has [few](is_few) of some addresses. Decided by a small table.
    fn has_few_of(&self, addresses: &[A]) -> bool;

    /// As [`find_batch`](Part::find_batch), for the addresses that may be its own. The others keep
    /// what the inner engine has answered.
    fn find_few<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]);

    /// Follows changes of the table, as far as they are its own, and returns those of the other
    /// routes; `None` if the table is to be built again. Keeps what it had until
    /// [`commit`](Part::commit) or [`take_back`](Part::take_back).
    fn follow(&mut self, rib: &Rib<A>, others: &Rib<A>, deltas: &[Delta<A>]) -> Option<Vec<Change<A>>>;

    /// Keeps what it has changed, and returns the number of entries that it has written.
    fn commit(&mut self) -> u64;

    /// Takes back what it has changed for `deltas`.
    fn take_back(&mut self, deltas: &[Delta<A>]);

    /// Returns its memory by part.
    fn memory(&self) -> Memory;

    /// Returns its figures.
    fn figures(&self) -> Vec<Figure>;

    /// See [`Engine::validate`]: each route has to be its own, or one of the others, or both where
    /// the part says so.
    fn check(&self, rib: &Rib<A>, others: &Rib<A>) -> Result<(), String>;

    /// Adds what lookups read to a snapshot.
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>);

    /// See [`Persist::open`].
    fn open(sections: &Sections<'_>) -> Result<Self, Error>;
}

/// The engine of the other routes, or, in a table that was opened, what looks up in it.
#[derive(Debug)]
enum Inner<E, V> {
    Kept(E),
    Opened(V),
}

/// A table as lookups read it.
#[derive(Debug)]
pub(crate) struct FrontView<P: Part<A>, A: Address> {
    part: P,
    inner: Inner<P::Inner, <P::Inner as Engine<A>>::View>,
}

/// The engine; see the [module](self).
#[derive(Debug)]
pub(crate) struct Front<P: Part<A>, A: Address> {
    view: FrontView<P, A>,
    /// The routes of the inner engine.
    others: Rib<A>,
}

/// Returns whether less than one of [`SHARE`] of the addresses may be a part's own.
#[inline(always)]
fn is_few<A: Address>(addresses: &[A], may_have: impl Fn(A) -> bool) -> bool {
    addresses.iter().filter(|&&address| may_have(address)).count() * SHARE < addresses.len()
}

impl<P: Part<A>, A: Address> FrontView<P, A> {
    #[inline(always)]
    fn inner(&self) -> &<P::Inner as Engine<A>>::View {
        match &self.inner {
            Inner::Kept(engine) => engine.view(),
            Inner::Opened(view) => view,
        }
    }
}

impl<P: Part<A>, A: Address> Lookup<A> for FrontView<P, A> {
    type Width = u32;
    const ON_BASELINE: bool = false;
    const FEW: usize = P::FEW;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> u32 {
        match self.part.find(Scalar, address, meter) {
            0 => self.inner().lookup_metered(address, meter),
            found => found,
        }
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: A) -> u32 {
        match self.part.find(isa, address, &mut Unmetered) {
            0 => self.inner().lookup_on(isa, address),
            found => found,
        }
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        for (addresses, next_hops) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
            let sample = &addresses[..(addresses.len() / SHARE).clamp(1, SAMPLE)];
            if self.part.has_few_of(sample) {
                look_up_inside(self.inner(), isa.level(), addresses, next_hops);
                self.part.find_few(isa, addresses, next_hops);
                continue;
            }
            self.part.find_batch(isa, addresses, next_hops);
            look_up_unanswered(addresses, next_hops, |addresses, next_hops| {
                look_up_inside(self.inner(), isa.level(), addresses, next_hops);
            });
        }
    }
}

impl<P: Part<A>, A: Address> Front<P, A> {
    /// Puts a part before an engine of the other routes.
    fn before((part, others): (P, Rib<A>), config: &Config) -> Result<Self, Error> {
        let inner = Inner::Kept(P::Inner::build(&others, config)?);
        Ok(Self { view: FrontView { part, inner }, others })
    }

    fn inner(&self) -> &P::Inner {
        match &self.view.inner {
            Inner::Kept(engine) => engine,
            Inner::Opened(_) => unreachable!("a table that was opened is no engine"),
        }
    }

    fn inner_mut(&mut self) -> &mut P::Inner {
        match &mut self.view.inner {
            Inner::Kept(engine) => engine,
            Inner::Opened(_) => unreachable!("a table that was opened is no engine"),
        }
    }
}

impl<P: Part<A>, A: Address> Engine<A> for Front<P, A> {
    type View = FrontView<P, A>;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        Self::before(P::build(rib, config)?, config)
    }

    fn view(&self) -> &FrontView<P, A> {
        &self.view
    }

    fn copied(&self) -> Option<Self> {
        let (part, inner) = (self.view.part.clone(), Inner::Kept(self.inner().copied()?));
        Some(Self { view: FrontView { part, inner }, others: self.others.clone() })
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let mut others = std::mem::take(&mut self.others);
        let update = match self.view.part.follow(rib, &others, deltas) {
            None => Update::Rebuild,
            Some(changes) => {
                let changed = others.apply_all(changes).deltas;
                let update = if changed.is_empty() {
                    Update::Applied(Cost::default())
                } else {
                    self.inner_mut().apply(&others, &changed)
                };
                if !matches!(update, Update::Applied(_)) {
                    others.take_back(&changed);
                }
                update
            }
        };
        self.others = others;
        if let Update::Applied(mut cost) = update {
            cost.entries_set += self.view.part.commit();
            return Update::Applied(cost);
        }
        self.view.part.take_back(deltas);
        update
    }

    fn memory(&self) -> Memory {
        let mut memory = self.view.part.memory();
        memory.parts.extend(self.inner().memory().parts);
        memory.off_chip("other routes", self.others.len() * size_of::<Route<A>>())
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = self.view.part.figures();
        figures.push(Figure::count("other routes", self.others.len()));
        figures.extend(self.inner().figures());
        figures
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        if let Some(route) = self.others.iter().find(|route| rib.get(route.prefix) != Some(route.next_hop)) {
            return Err(format!("{} is none of the routes", route.prefix));
        }
        self.view.part.check(rib, &self.others)?;
        self.inner().validate(&self.others)
    }

    fn persistence() -> Option<Persistence<Self, A>> {
        Some(Persistence::of_engine())
    }
}

impl<P: Part<A>, A: Address> Persist<A> for Front<P, A> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        self.view.part.save(sections);
        self.inner().save(sections);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<FrontView<P, A>, Error> {
        let part = P::open(sections)?;
        Ok(FrontView { part, inner: Inner::Opened(P::Inner::open(sections, config)?) })
    }
}
