//! [`Firsts`]: the first addresses of a leaf's prefixes, stored as each family needs them.

use super::{append, bytes, insert, remove, split_off};

/// First addresses in order, several of which may be equal.
pub trait Firsts<A>: Clone + Default + Send + Sync + 'static {
    /// The upper half of an address, or all of a short one.
    type Upper: Copy + Send + Sync + 'static;

    /// Returns those of a sequence, without room for more.
    fn of(firsts: impl ExactSizeIterator<Item = A>) -> Self;
    /// Returns the one at an index.
    fn get(&self, at: usize) -> A;
    /// Returns the upper halves of all, or the whole addresses.
    fn uppers(&self) -> &[Self::Upper];
    /// Returns the lower halves of all, or none if there are none or all are 0.
    fn lowers(&self) -> &[u64];
    /// Returns the address of its halves.
    fn join(upper: Self::Upper, lower: Option<u64>) -> A;
    /// Returns how many come before `first`.
    fn position(&self, first: A) -> usize;
    /// Inserts one at an index. Grows by `step` if there is no room.
    fn insert(&mut self, at: usize, first: A, step: usize);
    /// Removes the one at an index.
    fn remove(&mut self, at: usize);
    /// Moves those from index `at` on to a sequence of their own.
    #[must_use]
    fn split_off(&mut self, at: usize) -> Self;
    /// Moves all of `right` to the end.
    fn append(&mut self, right: Self);
    /// Returns the bytes allocated.
    fn bytes(&self) -> usize;
    /// Checks that there are `len`.
    #[cfg(test)]
    fn validate(&self, len: usize) -> Result<(), String>;
}

impl Firsts<u32> for Vec<u32> {
    type Upper = u32;

    #[inline]
    fn uppers(&self) -> &[u32] {
        self
    }

    #[inline]
    fn lowers(&self) -> &[u64] {
        &[]
    }

    #[inline]
    fn join(upper: u32, _: Option<u64>) -> u32 {
        upper
    }

    fn of(firsts: impl ExactSizeIterator<Item = u32>) -> Self {
        firsts.collect()
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        self[at]
    }

    #[inline]
    fn position(&self, first: u32) -> usize {
        position(self, first)
    }

    fn insert(&mut self, at: usize, first: u32, step: usize) {
        insert(self, at, first, step);
    }

    fn remove(&mut self, at: usize) {
        remove(self, at);
    }

    fn split_off(&mut self, at: usize) -> Self {
        split_off(self, at)
    }

    fn append(&mut self, right: Self) {
        append(self, right);
    }

    fn bytes(&self) -> usize {
        bytes(self)
    }

    #[cfg(test)]
    fn validate(&self, len: usize) -> Result<(), String> {
        if self.len() == len { Ok(()) } else { Err(format!("{} first addresses, not {len}", self.len())) }
    }
}

/// IPv6 addresses as halves. A prefix of at most 64 bits has no lower half, and most have no more.
#[derive(Clone, Default)]
pub struct Halves {
    uppers: Vec<u64>,
    /// Of each; none if all are 0.
    lowers: Vec<u64>,
}

impl Firsts<u128> for Halves {
    type Upper = u64;

    #[inline]
    fn uppers(&self) -> &[u64] {
        &self.uppers
    }

    #[inline]
    fn lowers(&self) -> &[u64] {
        &self.lowers
    }

    #[inline]
    fn join(upper: u64, lower: Option<u64>) -> u128 {
        u128::from(upper) << 64 | u128::from(lower.unwrap_or(0))
    }

    fn of(firsts: impl ExactSizeIterator<Item = u128>) -> Self {
        let (uppers, lowers) = firsts.map(halves).unzip();
        let mut of = Self { uppers, lowers };
        of.uppers.shrink_to_fit();
        of.lowers.shrink_to_fit();
        of.without_zeros()
    }

    #[inline]
    fn get(&self, at: usize) -> u128 {
        Self::join(self.uppers[at], self.lowers.get(at).copied())
    }

    #[inline]
    fn position(&self, first: u128) -> usize {
        let (upper, lower) = halves(first);
        let at = position(&self.uppers, upper);
        if lower == 0 || self.uppers.get(at) != Some(&upper) {
            return at;
        }
        let end = at + self.uppers[at..].partition_point(|&one| one == upper);
        if self.lowers.is_empty() {
            end
        } else {
            at + self.lowers[at..end].partition_point(|&one| one < lower)
        }
    }

    fn insert(&mut self, at: usize, first: u128, step: usize) {
        let (upper, lower) = halves(first);
        if lower != 0 {
            self.with_zeros();
        }
        if lower != 0 || !self.lowers.is_empty() {
            insert(&mut self.lowers, at, lower, step);
        }
        insert(&mut self.uppers, at, upper, step);
    }

    fn remove(&mut self, at: usize) {
        remove(&mut self.uppers, at);
        if !self.lowers.is_empty() && remove(&mut self.lowers, at) != 0 {
            *self = std::mem::take(self).without_zeros();
        }
    }

    fn split_off(&mut self, at: usize) -> Self {
        let uppers = split_off(&mut self.uppers, at);
        if self.lowers.is_empty() {
            return Self { uppers, lowers: Vec::new() };
        }
        let lowers = split_off(&mut self.lowers, at);
        *self = std::mem::take(self).without_zeros();
        Self { uppers, lowers }.without_zeros()
    }

    fn append(&mut self, mut right: Self) {
        if !self.lowers.is_empty() || !right.lowers.is_empty() {
            self.with_zeros();
            right.with_zeros();
        }
        append(&mut self.uppers, right.uppers);
        append(&mut self.lowers, right.lowers);
    }

    fn bytes(&self) -> usize {
        bytes(&self.uppers) + bytes(&self.lowers)
    }

    #[cfg(test)]
    fn validate(&self, len: usize) -> Result<(), String> {
        let (uppers, lowers) = (self.uppers.len(), self.lowers.len());
        if uppers != len || (lowers != len && lowers != 0) {
            return Err(format!("{uppers} upper halves and {lowers} lower ones, not {len}"));
        }
        if lowers != 0 && self.lowers.iter().all(|&lower| lower == 0) {
            return Err("lower halves that are all 0 are stored".to_string());
        }
        Ok(())
    }
}

impl Halves {
    /// Stores a lower half of each, so that one that is not 0 may follow.
    fn with_zeros(&mut self) {
        if self.lowers.is_empty() {
            self.lowers = vec![0; self.uppers.len()];
        }
    }

    /// Frees the lower halves if all are 0.
    fn without_zeros(mut self) -> Self {
        if self.lowers.iter().all(|&lower| lower == 0) {
            self.lowers = Vec::new();
        }
        self
    }
}

/// Returns how many of `sorted` are less than `bound`. A binary search would wait for one cache
/// line after the other. Here all loads of the first step are independent, and the second needs one
/// line.
#[inline]
fn position<T: Ord + Copy>(sorted: &[T], bound: T) -> usize {
    const STEP: usize = 16;
    let start = STEP * sorted.chunks(STEP).skip(1).filter(|chunk| chunk[0] < bound).count();
    let chunk = &sorted[start..sorted.len().min(start + STEP)];
    start + chunk.iter().filter(|&&one| one < bound).count()
}

#[inline]
fn halves(address: u128) -> (u64, u64) {
    ((address >> 64) as u64, address as u64)
}
