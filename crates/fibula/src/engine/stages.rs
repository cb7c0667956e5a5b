//! [`Stages`]: a lookup divided into parts, one for each thread.

use super::Lookup;
use crate::Address;
use crate::arch::{Isa, Kernel, Level, dispatch};

/// A lookup that can be divided into stages for a thread pipeline. Each
/// stage passes a number of 64 bits to the next.
pub trait Stages<A: Address>: Lookup<A> {
    /// Returns the number of stages, at least 2.
    fn stages(&self) -> usize;

    /// Runs stage `stage`, less than [`stages`](Stages::stages), of many lookups. `found[i]` is the
    /// result of the previous stage for `addresses[i]`, or 0 before the first. This stage replaces
    /// it with its own result, which after the last stage is the answer.
    fn run_stage<I: Isa>(&self, isa: I, stage: usize, addresses: &[A], found: &mut [u64]);
}

/// The methods of [`Stages`], for any instruction set.
#[derive(Debug)]
pub struct Staging<L: Lookup<A>, A: Address> {
    pub(crate) count: fn(&L) -> usize,
    pub(crate) run: fn(&L, Level, usize, &[A], &mut [u64]),
}

impl<L: Stages<A>, A: Address> Staging<L, A> {
    /// Returns the methods of `L`.
    #[must_use]
    pub fn of_lookup() -> Self {
        Self {
            count: L::stages,
            run: |tables, level, stage, addresses, found| {
                dispatch(level, Staged { tables, stage, addresses, found });
            },
        }
    }
}

/// One stage of a batch as a kernel, to be compiled for every instruction set.
struct Staged<'b, L, A> {
    tables: &'b L,
    stage: usize,
    addresses: &'b [A],
    found: &'b mut [u64],
}

impl<A: Address, L: Stages<A>> Kernel for Staged<'_, L, A> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        self.tables.run_stage(isa, self.stage, self.addresses, self.found);
    }
}
