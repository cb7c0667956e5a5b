//! [`Lengths`]: how many routes of a table have each prefix length.

use crate::{Address, Delta, Rib};

/// The number of routes of each prefix length, 0 to 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths([u32; 129]);

impl Default for Lengths {
    fn default() -> Self {
        Self([0; 129])
    }
}

impl Lengths {
    /// Counts the routes of a table. O(n).
    ///
    /// ```
    /// use fibula::engine::Lengths;
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// for prefix in ["10.0.0.0/8", "10.0.0.1/32", "10.0.0.2/32"] {
    ///     rib.insert(prefix.parse()?, NextHop(1));
    /// }
    /// let lengths = Lengths::of(&rib);
    /// assert_eq!((lengths.count(8), lengths.longer_than(8)), (1, 2));
    /// assert_eq!(lengths.most_frequent(), (32, 2));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn of<A: Address>(rib: &Rib<A>) -> Self {
        let mut lengths = Self::default();
        rib.iter().for_each(|route| lengths.add(route.prefix.len(), 1));
        lengths
    }

    /// Adds `routes` to the count of a length.
    pub(crate) fn add(&mut self, length: u8, routes: u32) {
        self.0[usize::from(length)] += routes;
    }

    /// Subtracts `routes` from the count of a length.
    ///
    /// # Panics
    /// If the count is less.
    pub(crate) fn remove(&mut self, length: u8, routes: u32) {
        let count = &mut self.0[usize::from(length)];
        *count = count.checked_sub(routes).expect("no more routes go than there are");
    }

    /// Follows a change of the table. O(1).
    pub(crate) fn follow<A: Address>(&mut self, delta: &Delta<A>) {
        match (delta.before.is_some(), delta.after.is_some()) {
            (false, true) => self.add(delta.prefix.len(), 1),
            (true, false) => self.remove(delta.prefix.len(), 1),
            _ => {}
        }
    }

    /// Returns the number of routes of a length.
    #[must_use]
    pub fn count(&self, length: u8) -> usize {
        self.0[usize::from(length)] as usize
    }

    /// Returns the number of all routes.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.0.iter().map(|&count| count as usize).sum()
    }

    /// Returns the number of routes that are longer.
    #[must_use]
    pub fn longer_than(&self, length: u8) -> usize {
        self.0[usize::from(length) + 1..].iter().map(|&count| count as usize).sum()
    }

    /// Returns the length that most routes have, the longest of several, and how many have it.
    #[must_use]
    pub fn most_frequent(&self) -> (u8, usize) {
        let counts = (0..=u8::MAX).zip(self.0);
        counts.max_by_key(|&(_, count)| count).map_or((0, 0), |(length, count)| (length, count as usize))
    }
}
