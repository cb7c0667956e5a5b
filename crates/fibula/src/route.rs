//! [`Route`], [`Change`] and [`Delta`]: the contents of a table, a request to change it, and the
//! result.

use crate::{Address, NextHop, Prefix};

/// One line of a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route<A: Address> {
    /// The addresses it is for.
    pub prefix: Prefix<A>,
    /// The answer for these addresses.
    pub next_hop: NextHop,
}

/// A request to change a table, as a routing daemon sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change<A: Address> {
    /// Insert the route, or replace the next hop of the one with its prefix.
    Announce(Route<A>),
    /// Remove the route of this prefix.
    Withdraw(Prefix<A>),
}

impl<A: Address> Change<A> {
    /// Returns the prefix that is announced or withdrawn.
    #[must_use]
    pub fn prefix(&self) -> Prefix<A> {
        match *self {
            Self::Announce(route) => route.prefix,
            Self::Withdraw(prefix) => prefix,
        }
    }
}

/// The result of a change to a table: the route of `prefix` went from `before` to `after`. The two
/// always differ; [`NextHop::NONE`] means that there was, or is, no such route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delta<A: Address> {
    /// The one prefix that changed.
    pub prefix: Prefix<A>,
    /// Its next hop before; `NONE` if it was absent.
    pub before: NextHop,
    /// Its next hop now; `NONE` if it was removed.
    pub after: NextHop,
}

impl<A: Address> Delta<A> {
    /// Returns the delta that undoes this one.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { prefix: self.prefix, before: self.after, after: self.before }
    }

    /// Returns the change that causes this delta on a table in the state before.
    #[must_use]
    pub fn change(self) -> Change<A> {
        if self.after.is_some() {
            Change::Announce(Route { prefix: self.prefix, next_hop: self.after })
        } else {
            Change::Withdraw(self.prefix)
        }
    }
}
