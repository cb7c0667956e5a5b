//! `one-load`: the machine's own ceiling, as an engine.
//!
//! It loads one random, independent 4-byte cell per address from a plain array: the least that any
//! table lookup does. As an engine, it runs in the same loop as the others: the same batches,
//! instruction set, width of answers and threads.
//!
//! ```text
//! address  -> its first 32 bits x --> cell = x * cells / 2^32 (a multiplication and a shift)
//! cells    -> [u32; bytes / 4]    --> the answer is the cell
//! ```
//!
//! Given uniformly random addresses, the cells are uniformly random too.

use fibula::engine::{About, Config, Engine, Entry, Lookup, Meter, ParameterInfo, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Array, Memory};
use fibula::{Address, Error, NextHop, Rib, engine_entry};
use std::marker::PhantomData;

/// Its description, as for any engine.
static ABOUT: About = About {
    name: "one-load",
    paper: "no engine: one independent load for each address from an array of the given size",
    year: 2026,
    parameters: &[ParameterInfo { name: "bytes", meaning: "the size of the array, 64 to 2^40" }],
    ..About::DEFAULT
};

/// A registry with this engine alone.
pub(super) static ONE_LOAD: [Entry; 1] = [engine_entry!(ABOUT, [ipv4 ipv6] OneLoad)];

/// The smallest array: a cache line.
pub(super) const LEAST_BYTES: usize = 64;

struct OneLoad<A, W> {
    cells: Array<u32>,
    types: PhantomData<(A, W)>,
}

impl<A: Address, W: Width> Lookup<A> for OneLoad<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let cell = (address.bits(0, 32) * self.cells.len() as u64) >> 32;
        W::narrow(NextHop(meter.load(&self.cells[cell as usize])))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup(address);
        }
    }
}

impl<A: Address, W: Width> Engine<A> for OneLoad<A, W> {
    type View = Self;

    fn build(_: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let bytes = config.parameter("bytes", LEAST_BYTES..=1 << 40, LEAST_BYTES)?;
        let mut cells = Array::filled(0_u32, bytes / 4, config.pages);
        for (cell, index) in cells.iter_mut().zip(0_u32..) {
            // Any value that the narrowest width holds.
            *cell = index.wrapping_mul(0x9E37_79B9) >> 24;
        }
        Ok(Self { cells, types: PhantomData })
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("cells", self.cells.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Fib;

    #[test]
    fn every_cell_is_reached() {
        let fib =
            Fib::build_from(&ONE_LOAD, "one-load/bytes=1024", &Rib::<u32>::new(), Config::default()).unwrap();
        assert_eq!(fib.memory().total(), 1024);
        let cell = |index: u32| index.wrapping_mul(0x9E37_79B9) >> 24;
        assert_eq!(
            (fib.lookup_index(0).0, fib.lookup_index(1 << 24).0, fib.lookup_index(u32::MAX).0),
            (0, cell(1), cell(255))
        );
    }
}
