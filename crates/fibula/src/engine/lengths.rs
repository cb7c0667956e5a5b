//! [`Lengths`]: how many routes of a table have each prefix length.

use crate::{Address, Delta, Rib};

/// The number of routes of each prefix length, 0 to 128.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    /// By length, up to the longest that there was.
    counts: Vec<u32>,
}

impl PartialEq for Lengths {
    fn eq(&self, other: &Self) -> bool {
        (0..=u8::MAX).all(|length| self.count(length) == other.count(length))
    }
}

impl Eq for Lengths {}

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
        let at = usize::from(length);
        if at >= self.counts.len() {
            // Exactly: small tables are many.
            self.counts.reserve_exact(at + 1 - self.counts.len());
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += routes;
    }

    /// Subtracts `routes` from the count of a length.
    ///
    /// # Panics
    /// If the count is less.
    pub(crate) fn remove(&mut self, length: u8, routes: u32) {
        let left = self.count(length).checked_sub(routes as usize);
        let left = left.expect("no more routes go than there are") as u32;
        if let Some(count) = self.counts.get_mut(usize::from(length)) {
            *count = left;
        }
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
        self.counts.get(usize::from(length)).map_or(0, |&count| count as usize)
    }

    /// Returns the number of all routes.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// Returns the number of routes that are longer.
    #[must_use]
    pub fn longer_than(&self, length: u8) -> usize {
        self.counts.iter().skip(usize::from(length) + 1).map(|&count| count as usize).sum()
    }

    /// Returns the length that most routes have, the longest of several, and how many have it.
    #[must_use]
    pub fn most_frequent(&self) -> (u8, usize) {
        let counts = (0..=u8::MAX).zip(self.counts.iter().copied());
        counts.max_by_key(|&(_, count)| count).map_or((0, 0), |(length, count)| (length, count as usize))
    }
}
