//! Many cores before one memory: the Bloom filters' Phi and Xeons.
//!
//! A core computes by itself and holds the memory for a part of each lookup.

use super::{Machine, Step, Thread, run};

/// The lookups of a run.
const LOOKUPS: usize = 4000;

/// A processor, for one lookup. Times are cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    /// What a core does alone.
    pub(crate) alone: f64,
    /// What it holds of the memory that all share.
    pub(crate) of_all: f64,
}

impl Processor {
    /// Returns the lookups a cycle of a number of cores.
    pub(crate) fn rate(&self, cores: usize) -> f64 {
        let machine = Machine { stations: vec![1], ..Machine::default() };
        let thread: Thread =
            vec![Step::Wait(self.alone), Step::Hold { station: 0, cycles: self.of_all }, Step::Done];
        run(&machine, &vec![thread; cores], LOOKUPS).rate
    }

    /// Returns the share of a linear rate that a number of cores reaches.
    pub(crate) fn of_linear(&self, cores: usize) -> f64 {
        self.rate(cores) / (cores as f64 * self.rate(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_share_nothing_are_linear_and_memory_bounds_them() {
        let own = Processor { alone: 100.0, of_all: 0.0 };
        assert!((own.of_linear(35) - 1.0).abs() < 0.02);
        let memory = Processor { of_all: 10.0, ..own };
        assert!((memory.rate(50) - 0.1).abs() < 1e-3);
        assert!((memory.of_linear(5) - 1.0).abs() < 0.02);
    }
}
