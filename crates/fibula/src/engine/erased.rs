//! Engines and views of any width and kind behind one pointer, so that tables can be chosen at run
//! time.

#[cfg(any(test, feature = "engines"))]
use super::Accesses;
use super::{Config, Engine, Lookup, Persistence, View, Width, WidthBits};
use crate::address::sealed::Sealed;
use crate::arch::{Compiled, Function, Isa, Kernel, Level, Sets, dispatch};
use crate::blocks::pipeline::BURST;
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Error, ErrorKind, NextHop, NextHopSlice, Rib};
use std::marker::PhantomData;

/// An engine with its view: what a [`Fib`](crate::Fib) holds.
pub trait Whole<A: Address>: View<A> {
    /// Returns the engine.
    fn engine(&self) -> &dyn Engine<A>;
    /// Returns the engine, mutably.
    fn engine_mut(&mut self) -> &mut dyn Engine<A>;
    /// See [`Engine::validate`].
    ///
    /// # Errors
    /// With the first contradiction found.
    #[cfg(any(test, feature = "engines"))]
    fn validate(&self, rib: &Rib<A>) -> Result<(), String>;
    /// See [`Engine::copied`].
    fn copied(&self) -> Option<Box<dyn Whole<A>>>;
    /// See [`Share::share`](super::Share::share).
    fn share(&mut self) -> Option<Box<dyn View<A>>>;
    /// See [`Share::readers_passed`](super::Share::readers_passed).
    fn readers_passed(&mut self);
    /// See [`Persist::save`](super::Persist::save).
    ///
    /// # Errors
    /// If the engine cannot be stored in snapshots.
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error>;
}

/// Builds an engine and hides its types.
///
/// # Errors
/// See [`Engine::build`].
pub fn boxed<A: Address, E: Engine<A>>(rib: &Rib<A>, config: &Config) -> Result<Box<dyn Whole<A>>, Error> {
    Ok(Box::new(Held { engine: E::build(rib, config)?, single: Compiled::for_level(config.isa) }))
}

/// Opens the snapshot of an engine and hides its types.
///
/// # Errors
/// See [`Persist::open`](super::Persist::open); or if the engine cannot be stored in snapshots.
pub fn opened<A: Address, E: Engine<A>>(
    sections: &Sections<'_>,
    config: &Config,
) -> Result<Box<dyn View<A>>, Error> {
    let persistence = persistence::<A, E>()?;
    let tables = (persistence.open)(sections, config)?;
    Ok(Box::new(Alone { tables, single: Compiled::for_level(config.isa) }))
}

/// Returns how an engine is stored. Without the feature `snapshot`, none is: no code for it is
/// compiled.
fn persistence<A: Address, E: Engine<A>>() -> Result<Persistence<E, A>, Error> {
    let known = if cfg!(any(test, feature = "snapshot")) { E::persistence() } else { None };
    known.ok_or_else(|| Error::new(ErrorKind::Unsupported, "this engine keeps no snapshots"))
}

/// An engine, which contains its view.
struct Held<E: Engine<A>, A: Address> {
    engine: E,
    single: Compiled<Single<E::View, A>>,
}

/// A view by itself.
struct Alone<L: Lookup<A>, A: Address> {
    tables: L,
    single: Compiled<Single<L, A>>,
}

/// The lookup of one address as a function, to be compiled for every instruction set.
struct Single<L, A>(PhantomData<(L, A)>);

impl<A: Address, L: Lookup<A>> Function for Single<L, A> {
    type Table = L;
    type Key = A;
    type Output = NextHop;
    const SETS: Sets = L::SETS;

    #[inline(always)]
    fn call<I: Isa>(isa: I, tables: &L, address: A) -> NextHop {
        tables.lookup_on(isa, address).widen()
    }
}

/// A batch as a kernel, to be compiled for every instruction set.
struct Batch<'b, L, A, W> {
    tables: &'b L,
    addresses: &'b [A],
    next_hops: &'b mut [W],
}

impl<A: Address, L: Lookup<A>> Kernel for Batch<'_, L, A, L::Width> {
    type Output = ();
    const SETS: Sets = L::SETS;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        // Here the compiler learns that both are equally long.
        let next_hops = &mut self.next_hops[..self.addresses.len()];
        if const { I::IS_RARE && !L::ON_BASELINE } {
            for (&address, next_hop) in self.addresses.iter().zip(next_hops) {
                *next_hop = self.tables.lookup_on(isa, address);
            }
        } else {
            self.tables.lookup_batch(isa, self.addresses, next_hops);
        }
    }
}

/// Looks up a batch out of line, for an engine that contains another: its code for every
/// instruction set is there once.
pub(crate) fn look_up_inside<A: Address, L: Lookup<A>>(
    tables: &L,
    isa: Level,
    addresses: &[A],
    next_hops: &mut [L::Width],
) {
    dispatch(isa, Batch { tables, addresses, next_hops });
}

fn batch<A: Address, L: Lookup<A>>(
    tables: &L,
    single: &Compiled<Single<L, A>>,
    addresses: &[A],
    next_hops: NextHopSlice<'_>,
) {
    let given = next_hops.width();
    let Some(next_hops) = L::Width::elements(next_hops) else {
        panic!("{given}-bit next hops asked of an engine that keeps {} bits", L::Width::BITS)
    };
    assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
    if addresses.len() <= L::FEW {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = L::Width::narrow(single.call(tables, address));
        }
        return;
    }
    dispatch(single.level(), Batch { tables, addresses, next_hops });
}

/// As [`batch`], widening the answers.
fn batch_widened<A: Address, L: Lookup<A>>(
    tables: &L,
    single: &Compiled<Single<L, A>>,
    addresses: &[A],
    next_hops: &mut [NextHop],
) {
    if L::Width::BITS == WidthBits::U32 {
        return batch(tables, single, addresses, next_hops.into());
    }
    assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
    let isa = single.level();
    if addresses.len() <= L::FEW {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = single.call(tables, address);
        }
    } else if addresses.len() <= BURST {
        // To clear more room would take a short call longer than to use it.
        widened::<BURST, _, _>(tables, isa, addresses, next_hops);
    } else {
        widened::<512, _, _>(tables, isa, addresses, next_hops);
    }
}

/// Looks up a batch, `AT_ONCE` addresses at a time.
#[inline(always)]
fn widened<const AT_ONCE: usize, A: Address, L: Lookup<A>>(
    tables: &L,
    isa: Level,
    addresses: &[A],
    next_hops: &mut [NextHop],
) {
    let mut narrow = [L::Width::default(); AT_ONCE];
    for (addresses, wide) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
        let narrow = &mut narrow[..addresses.len()];
        dispatch(isa, Batch { tables, addresses, next_hops: narrow });
        for (wide, narrow) in wide.iter_mut().zip(narrow) {
            *wide = narrow.widen();
        }
    }
}

/// Looks up one address and counts what that reads, in code that an engine and its view share.
#[cfg(any(test, feature = "engines"))]
#[inline(never)]
fn counted<A: Address, L: Lookup<A>>(tables: &L, address: A, accesses: &mut Accesses) -> NextHop {
    tables.lookup_metered(address, accesses).widen()
}

/// Runs a stage, or the whole lookup if it has no stages.
#[cfg(any(test, feature = "engines"))]
fn run_stage<A: Address, L: Lookup<A>>(
    tables: &L,
    single: &Compiled<Single<L, A>>,
    stage: usize,
    addresses: &[A],
    found: &mut [u64],
) {
    match L::staging() {
        Some(staging) => (staging.run)(tables, single.level(), stage, addresses, found),
        None => {
            for (&address, found) in addresses.iter().zip(found) {
                *found = single.call(tables, address).0.into();
            }
        }
    }
}

/// Implements the lookups of [`View`] for the expression that gives the lookup.
macro_rules! answers {
    ($lookup:ty, $self:ident => $tables:expr) => {
        fn lookup_index(&$self, address: A) -> NextHop {
            $self.single.call($tables, address)
        }

        #[cfg(any(test, feature = "engines"))]
        fn lookup_counted(&$self, address: A, accesses: &mut Accesses) -> NextHop {
            counted($tables, address, accesses)
        }

        fn lookup_batch(&$self, addresses: &[A], next_hops: &mut [NextHop]) {
            batch_widened($tables, &$self.single, addresses, next_hops);
        }

        fn lookup_batch_slice(&$self, addresses: &[A], next_hops: NextHopSlice<'_>) {
            batch($tables, &$self.single, addresses, next_hops);
        }

        fn width(&$self) -> WidthBits {
            <<$lookup as Lookup<A>>::Width as Width>::BITS
        }

        #[cfg(any(test, feature = "engines"))]
        fn stages(&$self) -> usize {
            <$lookup>::staging().map_or(1, |staging| (staging.count)($tables))
        }

        #[cfg(any(test, feature = "engines"))]
        fn run_stage(&$self, stage: usize, addresses: &[A], found: &mut [u64]) {
            run_stage($tables, &$self.single, stage, addresses, found);
        }

        fn set_isa(&mut $self, isa: Level) {
            $self.single = Compiled::for_level(isa);
        }
    };
}

impl<A: Address, E: Engine<A>> Sealed for Held<E, A> {}

impl<A: Address, E: Engine<A>> View<A> for Held<E, A> {
    answers! { E::View, self => self.engine.view() }

    fn whole(&self) -> Option<&dyn Whole<A>> {
        Some(self)
    }

    fn into_whole(self: Box<Self>) -> Option<Box<dyn Whole<A>>> {
        Some(self)
    }
}

impl<A: Address, L: Lookup<A>> Sealed for Alone<L, A> {}

impl<A: Address, L: Lookup<A>> View<A> for Alone<L, A> {
    answers! { L, self => &self.tables }

    fn whole(&self) -> Option<&dyn Whole<A>> {
        None
    }

    fn into_whole(self: Box<Self>) -> Option<Box<dyn Whole<A>>> {
        None
    }
}

impl<A: Address, E: Engine<A>> Whole<A> for Held<E, A> {
    fn engine(&self) -> &dyn Engine<A> {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut dyn Engine<A> {
        &mut self.engine
    }

    #[cfg(any(test, feature = "engines"))]
    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.engine.validate(rib)
    }

    fn copied(&self) -> Option<Box<dyn Whole<A>>> {
        let single = Compiled::for_level(self.single.level());
        Some(Box::new(Self { engine: self.engine.copied()?, single }))
    }

    fn share(&mut self) -> Option<Box<dyn View<A>>> {
        let tables = (E::sharing()?.share)(&mut self.engine)?;
        Some(Box::new(Alone { tables, single: Compiled::for_level(self.single.level()) }))
    }

    fn readers_passed(&mut self) {
        if let Some(sharing) = E::sharing() {
            (sharing.readers_passed)(&mut self.engine);
        }
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        (persistence::<A, E>()?.save)(&self.engine, sections);
        Ok(())
    }
}
