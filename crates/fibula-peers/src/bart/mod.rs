//! Go's `bart`, from an archive of C functions. Go's own runtime is in the process too.
#![allow(unsafe_code, reason = "functions of a Go archive")]

mod collector;

pub use collector::{Collector, PeerRoute};

use fibula::engine::Memory;
use fibula::engine::{About, Config, Cost, Engine, Entry, Lookup, Meter, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::{Address, Delta, Error, NextHop, Prefix, Rib, engine_entry};
use std::ffi::c_int;
use std::marker::PhantomData;

/// All engines of bart.
pub(crate) static ENGINES: [Entry; 1] = [engine_entry!(BART, [ipv4 ipv6] Bart)];

static BART: About = About {
    name: "peer:bart",
    paper: concat!("Go ", env!("GO_VERSION"), ", bart ", env!("BART_VERSION"), ", Fast"),
    year: 2026,
    updates: Updates::InPlace,
    ..About::DEFAULT
};

unsafe extern "C" {
    fn fibula_bart_new() -> usize;
    fn fibula_bart_free(table: usize);
    fn fibula_bart_heap() -> u64;
    fn fibula_bart_change4(table: usize, address: u32, len: c_int, next_hop: u32);
    fn fibula_bart_change6(table: usize, low: u64, high: u64, len: c_int, next_hop: u32);
    fn fibula_bart_lookup4(table: usize, addresses: *const u32, next_hops: *mut u32, count: usize);
    fn fibula_bart_lookup6(table: usize, addresses: *const u128, next_hops: *mut u32, count: usize);
}

/// The functions of a family.
trait Key: Address {
    fn change(table: usize, prefix: Prefix<Self>, next_hop: NextHop);
    /// Looks up one address for each element of `next_hops`.
    fn look_up(table: usize, addresses: &[Self], next_hops: &mut [u32]);
}

impl Key for u32 {
    fn change(table: usize, prefix: Prefix<u32>, next_hop: NextHop) {
        // SAFETY: the table lives as long as its owner, who has exclusive access here.
        unsafe { fibula_bart_change4(table, prefix.first(), prefix.len().into(), next_hop.0) }
    }

    fn look_up(table: usize, addresses: &[u32], next_hops: &mut [u32]) {
        assert_eq!(addresses.len(), next_hops.len());
        // SAFETY: the table lives as long as its owner; both arrays are as long as said.
        unsafe { fibula_bart_lookup4(table, addresses.as_ptr(), next_hops.as_mut_ptr(), next_hops.len()) }
    }
}

impl Key for u128 {
    fn change(table: usize, prefix: Prefix<u128>, next_hop: NextHop) {
        let (low, high) = (prefix.first() as u64, (prefix.first() >> 64) as u64);
        // SAFETY: as for IPv4.
        unsafe { fibula_bart_change6(table, low, high, prefix.len().into(), next_hop.0) }
    }

    fn look_up(table: usize, addresses: &[u128], next_hops: &mut [u32]) {
        assert_eq!(addresses.len(), next_hops.len());
        // SAFETY: as for IPv4.
        unsafe { fibula_bart_lookup6(table, addresses.as_ptr(), next_hops.as_mut_ptr(), next_hops.len()) }
    }
}

/// A table of bart's.
pub(crate) struct Bart<A, W> {
    table: usize,
    /// The growth of Go's heap while it was built.
    bytes: usize,
    types: PhantomData<fn(A) -> W>,
}

impl<A, W> Drop for Bart<A, W> {
    fn drop(&mut self) {
        // SAFETY: made by `fibula_bart_new`, and freed once.
        unsafe { fibula_bart_free(self.table) }
    }
}

impl<A: Key, W: Width> Lookup<A> for Bart<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, _: &mut M) -> W {
        let mut next_hop = [0];
        A::look_up(self.table, &[address], &mut next_hop);
        W::narrow(NextHop(next_hop[0]))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        const AT_ONCE: usize = 1024;
        let mut found = [0; AT_ONCE];
        for (addresses, next_hops) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
            let found = &mut found[..addresses.len()];
            A::look_up(self.table, addresses, found);
            for (next_hop, &mut found) in next_hops.iter_mut().zip(found) {
                *next_hop = W::narrow(NextHop(found));
            }
        }
    }
}

impl<A: Key, W: Width> Engine<A> for Bart<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        // SAFETY: these take nothing.
        let (before, table) = unsafe { (fibula_bart_heap(), fibula_bart_new()) };
        let mut engine = Self { table, bytes: 0, types: PhantomData };
        rib.iter().for_each(|route| A::change(table, route.prefix, route.next_hop));
        // SAFETY: as above.
        engine.bytes = unsafe { fibula_bart_heap() }.saturating_sub(before) as usize;
        Ok(engine)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        for delta in deltas {
            A::change(self.table, delta.prefix, delta.after);
        }
        Update::Applied(Cost::default())
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("Go's heap", self.bytes)
    }
}
