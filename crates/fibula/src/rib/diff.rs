//! [`Rib::diff`]: the changes from one table to another.

use super::Rib;
use crate::{Address, Delta, NextHop};
use std::cmp::Ordering;

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
        let (mut old, mut new) = (self.iter().peekable(), new.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let order = match (old.peek(), new.peek()) {
                    (Some(old), Some(new)) => old.prefix.cmp(&new.prefix),
                    (Some(_), None) => Ordering::Less,
                    (None, _) => Ordering::Greater,
                };
                let before = old.next_if(|_| order.is_le());
                let after = new.next_if(|_| order.is_ge());
                let prefix = before.or(after)?.prefix;
                let [before, after] = [before, after].map(|r| r.map_or(NextHop::NONE, |r| r.next_hop));
                if before != after {
                    return Some(Delta { prefix, before, after });
                }
            }
        })
    }
}
