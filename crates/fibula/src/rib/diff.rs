//! [`Rib::diff`]: the changes from one table to another.

use super::Rib;
use super::merged::merged;
use crate::{Address, Delta, NextHop, Prefix};

impl<A: Address> Rib<A> {
    /// Returns what turns this table into `new`: one delta for each prefix that differs, in order.
    /// One walk over both, O(n + m).
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut old: Rib<u32> = Rib::new();
    /// old.insert("10.0.0.0/8".parse()?, NextHop(1));
    /// let mut new = old.clone();
    /// new.insert("10.0.0.0/8".parse()?, NextHop(2));
    /// new.insert("10.1.0.0/16".parse()?, NextHop(3));
    /// for delta in old.clone().diff(&new) {
    ///     old.apply(delta.change());
    /// }
    /// assert_eq!(old, new);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn diff(&self, new: &Rib<A>) -> impl Iterator<Item = Delta<A>> {
        let changed = merged(self.pairs(), new.pairs()).filter(|(_, before, after)| before != after);
        changed.map(|(prefix, before, after)| Delta {
            prefix,
            before: before.unwrap_or_default(),
            after: after.unwrap_or_default(),
        })
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (Prefix<A>, NextHop)> {
        self.iter().map(|route| (route.prefix, route.next_hop))
    }
}
