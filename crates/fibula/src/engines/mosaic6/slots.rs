//! Which slots of which lines are free.

/// The free slots of each line as bits, and the lines sorted into lists by their longest run of
/// free slots.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// The slots of a line.
    of_line: u32,
    /// The free slots of each line.
    free: Vec<u32>,
    /// The lines, by their longest run of free slots.
    by_run: Vec<Vec<usize>>,
    /// The index of each line in its list.
    places: Vec<usize>,
    total: usize,
}

impl Slots {
    /// Returns no lines. Each line added later has `of_line` slots.
    pub(super) fn new(of_line: u32) -> Self {
        let by_run = vec![Vec::new(); of_line as usize + 1];
        Self { of_line, free: Vec::new(), by_run, places: Vec::new(), total: 0 }
    }

    /// Returns the number of free slots.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Allocates `count` free slots in a row from the line where they fit best. Returns the line
    /// and the first slot.
    pub(super) fn take(&mut self, count: u32) -> Option<(usize, u32)> {
        let &line = self.by_run[count as usize..].iter().find_map(|lines| lines.last())?;
        let free = self.free[line];
        let slot = runs_of(free, count).trailing_zeros();
        self.set(line, free & !(run(count) << slot));
        Some((line, slot))
    }

    /// Frees `count` slots of `line` from `slot` on. Returns whether the whole line is free now.
    pub(super) fn give(&mut self, line: usize, slot: u32, count: u32) -> bool {
        debug_assert_eq!(self.free[line] & run(count) << slot, 0, "freed twice");
        self.set(line, self.free[line] | run(count) << slot);
        self.free[line] == run(self.of_line)
    }

    /// Adds a line with all slots free.
    pub(super) fn add_line(&mut self, line: usize) {
        for line in self.free.len()..=line {
            self.free.push(0);
            self.places.push(self.by_run[0].len());
            self.by_run[0].push(line);
        }
        self.set(line, run(self.of_line));
    }

    /// Removes a line from the lists.
    pub(super) fn remove_line(&mut self, line: usize) {
        self.set(line, 0);
    }

    fn set(&mut self, line: usize, free: u32) {
        let before = std::mem::replace(&mut self.free[line], free);
        self.total = self.total - before.count_ones() as usize + free.count_ones() as usize;
        let (from, to) = (longest_run(before), longest_run(free));
        if from != to {
            let list = &mut self.by_run[from];
            list.swap_remove(self.places[line]);
            if let Some(&moved) = list.get(self.places[line]) {
                self.places[moved] = self.places[line];
            }
            self.places[line] = self.by_run[to].len();
            self.by_run[to].push(line);
        }
    }

    /// Checks the lists against the bits.
    pub(super) fn validate(&self) -> Result<(), String> {
        for (line, &free) in self.free.iter().enumerate() {
            if self.by_run[longest_run(free)].get(self.places[line]) != Some(&line) {
                return Err(format!("line {line} is not in the list of its longest run"));
            }
        }
        let listed: usize = self.by_run.iter().map(Vec::len).sum();
        let total: u32 = self.free.iter().map(|free| free.count_ones()).sum();
        if listed != self.free.len() || total as usize != self.total {
            return Err(format!(
                "{listed} lines in lists, {total} free slots, {} in the bookkeeping",
                self.total
            ));
        }
        Ok(())
    }
}

/// Returns the lowest `count` bits set.
fn run(count: u32) -> u32 {
    (1 << count) - 1
}

/// Returns a bit for each start of a run of `count` set bits.
fn runs_of(bits: u32, count: u32) -> u32 {
    (1..count).fold(bits, |runs, _| runs & runs >> 1)
}

/// Returns the length of the longest run of set bits.
fn longest_run(mut bits: u32) -> usize {
    let mut longest = 0;
    while bits != 0 {
        bits &= bits >> 1;
        longest += 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_fill_the_lines_where_they_fit_best() {
        let mut slots = Slots::new(10);
        assert_eq!((slots.take(1), slots.total()), (None, 0));
        slots.add_line(1);
        assert_eq!([7, 2, 5].map(|count| slots.take(count)), [Some((1, 0)), Some((1, 7)), None]);
        slots.add_line(0);
        assert_eq!(
            [1, 5, 5, 1].map(|count| slots.take(count)),
            [Some((1, 9)), Some((0, 0)), Some((0, 5)), None]
        );
        assert!(!slots.give(1, 0, 7) && !slots.give(0, 2, 3));
        slots.validate().unwrap();
        assert_eq!((slots.take(3), slots.take(3), slots.total()), (Some((0, 2)), Some((1, 0)), 4));
        assert!(!slots.give(1, 7, 2) && !slots.give(1, 9, 1) && slots.give(1, 0, 3));
        slots.remove_line(1);
        slots.validate().unwrap();
        assert_eq!((slots.take(1), slots.total()), (None, 0));
        slots.places[0] = 7;
        assert!(slots.validate().unwrap_err().contains("line 0"));
    }
}
