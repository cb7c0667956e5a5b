//! Engines of any width and kind behind one pointer, so that tables can be chosen at run time.

use super::NextHopSlice;
use crate::arch::{Isa, Kernel, Level, dispatch};
use crate::engine::{Accesses, Config, Engine, Figure, Source, Update, Width, WidthBits};
use crate::memory::Memory;
use crate::snapshot::SectionWriter;
use crate::{Address, Delta, Error, NextHop, Rib};
use std::marker::PhantomData;

/// [`Engine`] without its types: what a [`Fib`](crate::Fib) holds.
pub trait AnyEngine<A>: Send + Sync {
    /// See [`Engine::lookup`].
    fn lookup(&self, address: A) -> NextHop;
    /// See [`Engine::lookup_metered`].
    fn lookup_counted(&self, address: A, accesses: &mut Accesses) -> NextHop;
    /// See [`Engine::lookup_batch`]; `next_hops` has the engine's width.
    fn lookup_batch(&self, level: Level, addresses: &[A], next_hops: NextHopSlice<'_>);
    /// As [`AnyEngine::lookup_batch`], widening the answers.
    fn lookup_batch_widened(&self, level: Level, addresses: &[A], next_hops: &mut [NextHop]);
    /// See [`Engine::stages`].
    fn stages(&self) -> usize;
    /// See [`Engine::run_stage`].
    fn run_stage(&self, level: Level, stage: usize, addresses: &[A], found: &mut [u64]);
    /// The width of the answers.
    fn width(&self) -> WidthBits;
    /// See [`Engine::apply`].
    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update;
    /// See [`Engine::save`].
    ///
    /// # Errors
    /// If the engine keeps no snapshots.
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error>;
    /// See [`Engine::share`].
    fn share(&mut self) -> Option<Box<dyn AnyEngine<A>>>;
    /// See [`Engine::readers_passed`].
    fn readers_passed(&mut self);
    /// See [`Engine::memory`].
    fn memory(&self) -> Memory;
    /// See [`Engine::figures`].
    fn figures(&self) -> Vec<Figure>;
    /// See [`Engine::validate`].
    ///
    /// # Errors
    /// With the first contradiction found.
    fn validate(&self, rib: &Rib<A>) -> Result<(), String>;
}

/// Builds an engine, or opens its snapshot, and hides its types.
///
/// # Errors
/// See [`Engine::build`] and [`Engine::open`].
pub fn make_boxed<A: Address, W: Width, E: Engine<A, W>>(
    source: Source<'_, A>,
    config: &Config,
) -> Result<Box<dyn AnyEngine<A>>, Error> {
    let (engine, opened) = match source {
        Source::Table(rib) => (E::build(rib, config)?, false),
        Source::Snapshot(sections) => (E::open(sections, config)?, true),
    };
    Ok(Box::new(Erased { engine, is_bookless: opened, width: PhantomData::<W> }))
}

struct Erased<E, W> {
    engine: E,
    /// Whether it has no books for updates: it comes from a snapshot, or reads what another one changes.
    is_bookless: bool,
    width: PhantomData<W>,
}

/// A batch on its way to the instruction set it is compiled for.
struct Batch<'b, E, A, W> {
    engine: &'b E,
    addresses: &'b [A],
    next_hops: &'b mut [W],
}

impl<A: Address, W: Width, E: Engine<A, W>> Kernel for Batch<'_, E, A, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        self.engine.lookup_batch(isa, self.addresses, self.next_hops);
    }
}

/// One stage of a batch on its way there.
struct Staged<'b, E, A, W> {
    engine: &'b E,
    stage: usize,
    addresses: &'b [A],
    found: &'b mut [u64],
    width: PhantomData<W>,
}

impl<A: Address, W: Width, E: Engine<A, W>> Kernel for Staged<'_, E, A, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        self.engine.run_stage(isa, self.stage, self.addresses, self.found);
    }
}

impl<A: Address, W: Width, E: Engine<A, W>> AnyEngine<A> for Erased<E, W> {
    fn lookup(&self, address: A) -> NextHop {
        self.engine.lookup(address).widen()
    }

    fn lookup_counted(&self, address: A, accesses: &mut Accesses) -> NextHop {
        self.engine.lookup_metered(address, accesses).widen()
    }

    fn lookup_batch(&self, level: Level, addresses: &[A], next_hops: NextHopSlice<'_>) {
        let given = next_hops.width();
        let Some(next_hops) = W::elements(next_hops) else {
            panic!("{given}-bit next hops asked of an engine that keeps {} bits", W::BITS)
        };
        assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
        dispatch(level, Batch { engine: &self.engine, addresses, next_hops });
    }

    fn lookup_batch_widened(&self, level: Level, addresses: &[A], next_hops: &mut [NextHop]) {
        const AT_ONCE: usize = 512;
        assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
        let mut narrow = [W::default(); AT_ONCE];
        for (addresses, wide) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
            let narrow = &mut narrow[..addresses.len()];
            dispatch(level, Batch { engine: &self.engine, addresses, next_hops: narrow });
            for (wide, narrow) in wide.iter_mut().zip(narrow) {
                *wide = narrow.widen();
            }
        }
    }

    fn stages(&self) -> usize {
        self.engine.stages()
    }

    fn run_stage(&self, level: Level, stage: usize, addresses: &[A], found: &mut [u64]) {
        dispatch(level, Staged { engine: &self.engine, stage, addresses, found, width: PhantomData::<W> });
    }

    fn width(&self) -> WidthBits {
        W::BITS
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        if self.is_bookless || deltas.iter().any(|delta| delta.after.0 > W::MAX) {
            return Update::Rebuild; // with books, or at a greater width
        }
        self.engine.apply(rib, deltas)
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        self.engine.save(sections)
    }

    fn share(&mut self) -> Option<Box<dyn AnyEngine<A>>> {
        if self.is_bookless {
            return None; // there are no books to follow by
        }
        let engine = self.engine.share()?;
        Some(Box::new(Self { engine, is_bookless: true, width: PhantomData }))
    }

    fn readers_passed(&mut self) {
        self.engine.readers_passed();
    }

    fn memory(&self) -> Memory {
        self.engine.memory()
    }

    fn figures(&self) -> Vec<Figure> {
        self.engine.figures()
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        if !self.is_bookless {
            return self.engine.validate(rib);
        }
        // Without books there is nothing to check but the answers.
        let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
        ends.into_iter().try_for_each(|address| {
            let right = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
            let found = self.lookup(address);
            if found == right { Ok(()) } else { Err(format!("{address:?}: {found:?}, expected {right:?}")) }
        })
    }
}
