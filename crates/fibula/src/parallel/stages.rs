//! [`Stages`]: a lookup cut into parts, one a thread.

use crate::Address;
use crate::arch::Isa;
use crate::engine::Lookup;

/// A lookup that can be cut into stages for a [pipeline of threads](super::Model::Pipeline). A number of 64 bits goes from
/// each stage to the next.
pub trait Stages<A: Address>: Lookup<A> {
    /// Returns the number of stages, at least 2.
    fn stages(&self) -> usize;

    /// Runs stage `stage`, less than [`stages`](Stages::stages), of many lookups. `found[i]` is what the stage before has
    /// left of `addresses[i]`, 0 before the first. What this stage leaves takes its place; after the last stage that is
    /// the answer.
    fn run_stage<I: Isa>(&self, isa: I, stage: usize, addresses: &[A], found: &mut [u64]);
}
