//! [`Route`], [`Change`] and [`Delta`]: what a table holds, what it is asked, and what became of it.

use crate::{NextHop, Prefix};

/// One line of a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route<A> {
    /// The addresses it is for.
    pub prefix: Prefix<A>,
    /// Where they go.
    pub next_hop: NextHop,
}

/// A request to change a table, as a routing daemon sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change<A> {
    /// Insert the route, or replace the next hop of the one with its prefix.
    Announce(Route<A>),
    /// Remove the route of this prefix.
    Withdraw(Prefix<A>),
}

impl<A: Copy> Change<A> {
    /// The prefix that is announced or withdrawn.
    #[must_use]
    pub fn prefix(&self) -> Prefix<A> {
        match *self {
            Self::Announce(route) => route.prefix,
            Self::Withdraw(prefix) => prefix,
        }
    }
}

/// What a change did to a table: the route of `prefix` went from `before` to `after`. The two always
/// differ; [`NextHop::NONE`] says that there was, or is, no such route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delta<A> {
    /// The one prefix that changed.
    pub prefix: Prefix<A>,
    /// Its next hop before; `NONE` if it was absent.
    pub before: NextHop,
    /// Its next hop now; `NONE` if it is gone.
    pub after: NextHop,
}

impl<A: Copy> Delta<A> {
    /// The delta that undoes this one.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { prefix: self.prefix, before: self.after, after: self.before }
    }

    /// The change that would cause this delta on a table in the state before.
    #[must_use]
    pub fn change(self) -> Change<A> {
        if self.after.is_some() {
            Change::Announce(Route { prefix: self.prefix, next_hop: self.after })
        } else {
            Change::Withdraw(self.prefix)
        }
    }
}
