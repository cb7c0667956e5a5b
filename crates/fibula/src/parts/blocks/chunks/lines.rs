//! [`Lines`]: the allocation of chunks that span as few cache lines as possible.

use super::Chunks;
use std::collections::BTreeSet;

/// The free units of an index space in which a cache line has [`LINE`](Self::LINE) units. A chunk
/// smaller than a line is aligned to its own size; a larger one to a line. A line that was split
/// becomes whole again when all its parts are free.
///
/// ```
/// use fibula::parts::blocks::chunks::Lines;
/// let mut lines = Lines::default();
/// assert_eq!([1, 2, 8, 1].map(|units| lines.allocate(units)), [0, 2, 4, 1]);
/// lines.free(0, 1);
/// assert_eq!((lines.allocate(4), lines.end(), lines.free_total()), (12, 16, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lines {
    whole: Chunks,
    /// The starts of the free parts of lines: those of one unit, and those of two.
    parts: [BTreeSet<u64>; 2],
}

impl Lines {
    /// The number of units of a line.
    pub const LINE: u64 = 4;

    /// Returns the number of units that a chunk of at least `units` takes: a part of a line, or
    /// whole lines.
    #[must_use]
    #[inline(always)]
    pub const fn rounded(units: u64) -> u64 {
        if units < Self::LINE { units.next_power_of_two() } else { units.next_multiple_of(Self::LINE) }
    }

    /// Allocates `units` units, [rounded](Self::rounded): the best-fitting free ones, or new ones
    /// at the end. Returns where they start. O(log *f*) with *f* free chunks, as for all methods.
    pub fn allocate(&mut self, units: u64) -> u64 {
        let Some(parts) = self.parts.get_mut(order(units)) else {
            return self.whole.allocate(units / Self::LINE) * Self::LINE;
        };
        if let Some(start) = parts.pop_first() {
            return start;
        }
        let start = self.allocate(2 * units);
        self.parts[order(units)].insert(start + units);
        start
    }

    /// Frees units that were allocated in one piece.
    pub fn free(&mut self, start: u64, units: u64) {
        let Some(parts) = self.parts.get_mut(order(units)) else {
            return self.whole.free(start / Self::LINE, units / Self::LINE);
        };
        if parts.remove(&(start ^ units)) {
            self.free(start & !units, 2 * units);
        } else {
            parts.insert(start);
        }
    }

    /// Returns the index one past the last line in use.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.whole.end() * Self::LINE
    }

    /// Returns where the lines would end if `units` units were allocated now.
    #[must_use]
    pub fn end_after(&self, units: u64) -> u64 {
        let fits = self.parts.iter().skip(order(units)).any(|parts| !parts.is_empty());
        if fits { self.end() } else { self.whole.end_after(units.div_ceil(Self::LINE)) * Self::LINE }
    }

    /// Returns the number of free units before [`Self::end`].
    #[must_use]
    pub fn free_total(&self) -> u64 {
        self.whole.free_total() * Self::LINE + self.parts[0].len() as u64 + 2 * self.parts[1].len() as u64
    }

    /// Returns the bytes of the bookkeeping, without what its trees leave unused.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(BTreeSet::len).sum();
        self.whole.bytes() + parts * size_of::<u64>()
    }

    /// Checks the bookkeeping.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        self.whole.validate()?;
        for (units, parts) in [1, 2].into_iter().zip(&self.parts) {
            let is_wrong = |&&start: &&u64| {
                start % units != 0 || start >= self.end() || parts.contains(&(start ^ units))
            };
            if let Some(start) = parts.iter().find(is_wrong) {
                return Err(format!("{units} free units at {start}: misplaced, or not joined"));
            }
        }
        Ok(())
    }
}

/// Returns the index of the set of parts of `units` units; past the last for whole lines.
fn order(units: u64) -> usize {
    debug_assert!(
        units == Lines::rounded(units) && units > 0,
        "{units} units are no part of a line nor lines"
    );
    units.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_never_overlap_lie_in_few_lines_and_everything_comes_back(
            steps in proptest::collection::vec((any::<bool>(), 1..20_u64), 1..200),
        ) {
            let mut lines = Lines::default();
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (insert, pick) in steps {
                if insert || held.is_empty() {
                    let units = Lines::rounded(pick);
                    let end = lines.end_after(units);
                    let start = lines.allocate(units);
                    prop_assert_eq!(lines.end(), end);
                    prop_assert_eq!(start % units.min(Lines::LINE), 0);
                    prop_assert!(start + units <= end);
                    prop_assert!(held.iter().all(|&(other, len)| other + len <= start || start + units <= other));
                    held.push((start, units));
                } else {
                    let (start, units) = held.swap_remove(pick as usize % held.len());
                    lines.free(start, units);
                }
                lines.validate().map_err(TestCaseError::fail)?;
                let used: u64 = held.iter().map(|&(_, units)| units).sum();
                prop_assert_eq!(lines.end() - lines.free_total(), used);
            }
            for (start, units) in held {
                lines.free(start, units);
            }
            prop_assert_eq!((lines.end(), lines.free_total(), lines.bytes()), (0, 0, 0));
        }
    }
}
