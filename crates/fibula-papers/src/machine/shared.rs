//! Processors whose cores share something: pairs of cores with one front end (DXR's FX-8150), and
//! many cores before one memory (the Bloom filters' Phi and Xeons, SAIL's TLR4-03680).
//!
//! A core computes by itself and holds what it shares for a part of each lookup.

use super::{Machine, Step, Thread, run};

/// The lookups of a run.
const LOOKUPS: usize = 4000;

/// A processor, for one lookup. Times are cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    /// What a core does alone.
    pub(crate) alone: f64,
    /// What it holds of what its group shares.
    pub(crate) of_group: f64,
    /// The cores of a group.
    pub(crate) group: usize,
    /// What it holds of what all share.
    pub(crate) of_all: f64,
}

impl Processor {
    /// Returns the lookups a cycle of a number of cores. Groups fill one after the other.
    pub(crate) fn rate(&self, cores: usize) -> f64 {
        let groups = cores.div_ceil(self.group);
        let machine = Machine { stations: vec![1; groups + 1], ..Machine::default() };
        // What is shared is held in two parts, so that two cores of a pair take turns within one.
        let thread = |core: usize| -> Thread {
            let half = [
                Step::Hold { station: core / self.group, cycles: self.of_group / 2.0 },
                Step::Wait(self.alone / 2.0),
            ];
            let all = Step::Hold { station: groups, cycles: self.of_all };
            [&half[..], &half[..], &[all, Step::Done]].concat()
        };
        run(&machine, &(0..cores).map(thread).collect::<Vec<_>>(), LOOKUPS).rate
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
        let own = Processor { alone: 100.0, of_group: 0.0, group: 1, of_all: 0.0 };
        assert!((own.of_linear(35) - 1.0).abs() < 0.02);
        let memory = Processor { of_all: 10.0, ..own };
        assert!((memory.rate(50) - 0.1).abs() < 1e-3);
        assert!((memory.of_linear(5) - 1.0).abs() < 0.02);
    }
}
