//! [`Stages`]: a lookup divided into parts, one for each thread.

use super::Lookup;
use crate::Address;
use crate::arch::Isa;

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
