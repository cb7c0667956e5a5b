//! [`Pool`]: things by small indices, which are reused only after a grace period.

/// Things by index.
///
/// ```text
/// in use ──remove──▶ retired ──recycle, after a grace period──▶ free ──insert──▶ in use
/// ```
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<Option<T>>,
    /// The first index.
    base: u32,
    retired: Vec<u32>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    /// Creates an empty pool whose indices begin with `base`.
    pub(crate) fn new(base: u32) -> Self {
        Self { items: Vec::new(), base, retired: Vec::new(), free: Vec::new() }
    }

    /// Adds a thing, at a free index if there is one. Returns its index.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[(index - self.base) as usize] = Some(item);
            return index;
        }
        self.items.push(Some(item));
        self.base + (self.items.len() - 1) as u32
    }

    /// Removes a thing. Its index is in use until [`recycle`](Self::recycle).
    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.items.get_mut(index.checked_sub(self.base)? as usize)?.take()?;
        self.retired.push(index);
        Some(item)
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.items.get(index.checked_sub(self.base)? as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.items.get_mut(index.checked_sub(self.base)? as usize)?.as_mut()
    }

    /// Returns all things with their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.items.iter().zip(self.base..).filter_map(|(item, index)| Some((index, item.as_ref()?)))
    }

    /// Returns all things, to change them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().flatten()
    }

    /// Returns the number of things.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len() - self.retired.len()
    }

    /// Returns the number of indices that wait for a grace period.
    pub(crate) fn retired(&self) -> usize {
        self.retired.len()
    }

    /// Frees the retired indices: a grace period has ended since they were removed.
    pub(crate) fn recycle(&mut self) {
        self.free.append(&mut self.retired);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_waits_for_a_grace_period() {
        let mut pool = Pool::new(1);
        assert_eq!((pool.insert('a'), pool.insert('b')), (1, 2));
        assert_eq!((pool.remove(1), pool.remove(1), pool.remove(0)), (Some('a'), None, None));
        assert_eq!((pool.insert('c'), pool.len(), pool.retired()), (3, 2, 1));
        pool.recycle();
        assert_eq!(pool.insert('d'), 1);
        assert!(pool.iter().eq([(1, &'d'), (2, &'b'), (3, &'c')]));
    }
}
