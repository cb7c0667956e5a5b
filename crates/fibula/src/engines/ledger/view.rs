//! [`LedgerView`]: what lookups read, and the lookup of one address. Batches are in
//! [`batch`](super::batch).

use super::lines::{InLines, Lines};
use crate::NextHop;
use crate::arch::{Isa, Scalar};
use crate::engine::{Engine, Lookup, Meter, Unmetered, Width};

/// The engine of the other routes, or, in a table that was opened, what looks up in it.
#[derive(Debug)]
pub(super) enum Others<E, V> {
    Kept(E),
    Opened(V),
}

/// The table as lookups read it.
#[derive(Debug)]
pub(crate) struct LedgerView<A: InLines, W: Width> {
    pub(super) lines: Lines<A>,
    /// The length of the entries' prefixes.
    pub(super) length: u8,
    pub(super) others: Others<A::Others<W>, <A::Others<W> as Engine<A>>::View>,
}

/// Returns the answer of a word; one that is too great is in a snapshot that somebody forged.
#[inline(always)]
pub(super) fn narrow<W: Width>(hop: u32) -> W {
    W::narrow(NextHop(hop & W::MAX))
}

impl<A: InLines, W: Width> LedgerView<A, W> {
    /// Returns what looks up in the other routes.
    #[inline(always)]
    pub(super) fn others(&self) -> &<A::Others<W> as Engine<A>>::View {
        match &self.others {
            Others::Kept(engine) => engine.view(),
            Others::Opened(view) => view,
        }
    }

    /// Looks up one address among the entries.
    #[inline(always)]
    fn exact(&self, isa: impl Isa, address: A, meter: &mut impl Meter) -> W {
        let key = address & A::mask(self.length);
        narrow(if A::is_short(self.length) {
            self.lines.get::<true>(isa, key, meter)
        } else {
            self.lines.get::<false>(isa, key, meter)
        })
    }
}

impl<A: InLines, W: Width> Lookup<A> for LedgerView<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let exact = self.exact(Scalar, address, meter);
        if exact == W::default() { self.others().lookup_metered(address, meter) } else { exact }
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: A) -> W {
        let exact = self.exact(isa, address, &mut Unmetered);
        if exact == W::default() { self.others().lookup_on(isa, address) } else { exact }
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [W]) {
        self.many(isa, addresses, next_hops);
    }
}
