//! [`Values`]: the numbers that lookups answer, each kept once.

use fibula::{Limit, NextHop};
use std::collections::HashMap;

/// The distinct values of a table, by their index. Index 0 is no value. Indices are dense, so that
/// engines keep narrow ones, and an index that no route has any more is given again.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// By index; the first is not used.
    numbers: Vec<u64>,
    /// The routes that have each.
    uses: Vec<u32>,
    indices: HashMap<u64, NextHop>,
    free: Vec<NextHop>,
}

impl Default for Values {
    fn default() -> Self {
        Self { numbers: vec![0], uses: vec![0], indices: HashMap::new(), free: Vec::new() }
    }
}

impl Values {
    /// Returns the index of a value, which gets one if it has none. Follow it by
    /// [`retain`](Self::retain), or by [`drop_unused`](Self::drop_unused).
    ///
    /// # Errors
    /// If there are as many values as indices.
    pub(crate) fn index_of(&mut self, value: u64) -> Result<NextHop, fibula::Error> {
        if let Some(&index) = self.indices.get(&value) {
            return Ok(index);
        }
        let index = if let Some(index) = self.free.pop() {
            index
        } else {
            Limit::check("values", self.numbers.len() as u64, u32::MAX.into())?;
            self.numbers.push(0);
            self.uses.push(0);
            NextHop((self.numbers.len() - 1) as u32)
        };
        self.numbers[index.0 as usize] = value;
        self.indices.insert(value, index);
        Ok(index)
    }

    /// Returns the value of an index that is not [`NextHop::NONE`]. An index that no table has
    /// given has the value 0.
    pub(crate) fn get(&self, index: NextHop) -> u64 {
        self.numbers.get(index.0 as usize).copied().unwrap_or_default()
    }

    /// Returns the value of an index that a route has; `None` for any other.
    pub(crate) fn of_route(&self, index: NextHop) -> Option<u64> {
        let uses = self.uses.get(index.0 as usize)?;
        (*uses > 0).then(|| self.get(index))
    }

    /// Returns all, by index.
    pub(crate) fn all(&self) -> &[u64] {
        &self.numbers
    }

    /// Returns whether each index has a value that a route has.
    pub(crate) fn is_dense(&self) -> bool {
        self.free.is_empty()
    }

    /// Counts one more route that has it.
    pub(crate) fn retain(&mut self, index: NextHop) {
        self.uses[index.0 as usize] += 1;
    }

    /// Counts one route less. The last one gives the index back.
    pub(crate) fn release(&mut self, index: NextHop) {
        self.uses[index.0 as usize] -= 1;
        self.drop_unused(index);
    }

    /// Gives an index back that no route has.
    pub(crate) fn drop_unused(&mut self, index: NextHop) {
        let value = self.get(index);
        if index.is_some() && self.uses[index.0 as usize] == 0 && self.indices.get(&value) == Some(&index) {
            self.indices.remove(&value);
            self.free.push(index);
        }
    }

    /// Frees the memory that is not used, such as that of the last indices if no route has them.
    pub(crate) fn shrink_to_fit(&mut self) {
        let last = self.uses.iter().rposition(|&uses| uses > 0).unwrap_or(0);
        self.numbers.truncate(last + 1);
        self.uses.truncate(last + 1);
        self.free.retain(|index| index.0 as usize <= last);
        self.numbers.shrink_to_fit();
        self.uses.shrink_to_fit();
        self.free.shrink_to_fit();
        self.indices.shrink_to_fit();
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> usize {
        let entry = size_of::<(u64, NextHop)>() + 1;
        self.numbers.capacity() * 8
            + (self.uses.capacity() + self.free.capacity()) * 4
            + self.indices.capacity() * entry
    }
}
