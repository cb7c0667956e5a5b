//! [`Tree`]: the routes of a table in order, a B+ tree of three levels.
//!
//! ```text
//! root     separators  s1      s2      …          any number of branches
//!                   |       |       |
//! branch   separators  s1      s2      …          up to 128 leaves
//!                   |       |       |
//! leaf     first addresses     4 bytes each, or 8 and rarely 16     up to 96 routes
//!          lengths, next hops  5 bytes each
//! ```
//!
//! A separator is at most the first prefix to its right and greater than any to its left. The
//! levels are types: a [`Node`] is a leaf or [`Nodes`] of one kind. The root has no limit, so three
//! levels are enough: a branch is split after about 3,000 inserts, and the root then moves 64 bytes
//! (IPv6: 88) for each branch to the right.
//!
//! A full node is split in halves. A node that has become less than a third full is joined with a
//! neighbour, and both are split again if they are too many for one. Vectors grow in steps of 8
//! and not by doubling, so that a half-full leaf takes hardly more bytes a route than a full one.

mod firsts;
mod leaf;
mod nodes;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use firsts::{Firsts, Halves};

use crate::{Address, NextHop, Prefix, Route};
use leaf::{Leaf, Run};
use nodes::Nodes;
use std::fmt::{self, Debug, Formatter};

/// The most routes of a leaf, and the most leaves of a branch. Measured: docs/perf-log.md.
const LEAF_ROUTES: usize = 96;
const BRANCH_LEAVES: usize = 128;

/// The routes from the least to the greatest prefix, or those of a range.
pub(crate) type Walk<'t, A, const ROUTES: usize = LEAF_ROUTES, const LEAVES: usize = BRANCH_LEAVES> =
    walk::Walk<'t, Nodes<Leaf<A, ROUTES>, LEAVES>, walk::Walk<'t, Leaf<A, ROUTES>, Run<'t, A>>>;

/// An ordered map from prefixes to next hops; see the [module](self). Tests make nodes smaller.
#[derive(Clone)]
pub(crate) struct Tree<A: Address, const ROUTES: usize = LEAF_ROUTES, const LEAVES: usize = BRANCH_LEAVES> {
    root: Nodes<Nodes<Leaf<A, ROUTES>, LEAVES>, LEAVES>,
    len: usize,
}

/// A subtree: a leaf, or nodes.
pub(crate) trait Node: Clone + Default + 'static {
    type Address: Address;
    /// The walk over its routes.
    type Walk<'n>: DoubleEndedIterator<Item = Route<Self::Address>> + Clone + Default;
    /// The most routes of a leaf, or children.
    const MOST: usize;
    /// The fewest of a node that has a neighbour.
    const LEAST: usize = Self::MOST / 3;
    /// The routes of a subtree whose nodes are full.
    const FULL: usize;

    /// Returns the subtree of routes in order, which spread evenly over the fewest nodes.
    fn of(routes: &[Route<Self::Address>]) -> Self;

    /// Returns the number of routes of a leaf, or of children.
    fn len(&self) -> usize;

    fn get(&self, prefix: Prefix<Self::Address>) -> Option<NextHop>;

    /// Returns the last route that is not after `bound`.
    fn last_to(&self, bound: Prefix<Self::Address>) -> Option<Route<Self::Address>>;

    /// Returns the last route.
    fn last(&self) -> Option<Route<Self::Address>>;

    fn walk(&self) -> Self::Walk<'_>;

    /// Returns the routes from `first` to `last`, both included, which are in order.
    fn range(&self, first: Prefix<Self::Address>, last: Prefix<Self::Address>) -> Self::Walk<'_>;

    fn insert(&mut self, prefix: Prefix<Self::Address>, next_hop: NextHop) -> Inserted<Self>;

    /// Removes a route. Returns its next hop. May leave fewer than [`Self::LEAST`].
    fn remove(&mut self, prefix: Prefix<Self::Address>) -> Option<NextHop>;

    /// Moves what is from index `at` on to a node of its own. Returns it with its separator.
    fn split_off(&mut self, at: usize) -> (Prefix<Self::Address>, Self);

    /// Moves everything of the right neighbour here. May make more than [`Self::MOST`].
    fn append(&mut self, separator: Prefix<Self::Address>, right: Self);

    /// Returns the bytes allocated. O(1).
    fn bytes(&self) -> usize;

    /// Checks the nodes below. Returns the number of routes, all of which are within `within`: from
    /// the first of it on and before the second.
    #[cfg(test)]
    fn validate(&self, within: Within<Self::Address>) -> Result<usize, String>;
}

/// What an insert did to a node.
pub(crate) enum Inserted<N: Node> {
    /// The prefix had this next hop.
    Replaced(NextHop),
    Added,
    /// The node was full: its right half, with the separator.
    Split(Prefix<N::Address>, N),
}

/// The separators to the left and to the right of a node.
#[cfg(test)]
pub(crate) type Within<A> = (Option<Prefix<A>>, Option<Prefix<A>>);

impl<A: Address, const ROUTES: usize, const LEAVES: usize> Tree<A, ROUTES, LEAVES> {
    /// Returns the tree of routes that are in order, each prefix once. O(n).
    pub(super) fn of(routes: &[Route<A>]) -> Self {
        debug_assert!(routes.is_sorted_by(|left, right| left.prefix < right.prefix));
        Self { root: Nodes::of(routes), len: routes.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.root.get(prefix)
    }

    /// Inserts a route or replaces its next hop. Returns the one before.
    pub(super) fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<NextHop> {
        let before = self.root.insert_below(prefix, next_hop);
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes a route. Returns its next hop.
    pub(super) fn remove(&mut self, prefix: Prefix<A>) -> Option<NextHop> {
        let before = self.root.remove(prefix)?;
        self.len -= 1;
        if self.len == 0 {
            self.root = Nodes::default();
        }
        Some(before)
    }

    /// Returns the last route that is not after `bound`.
    pub(super) fn last_to(&self, bound: Prefix<A>) -> Option<Route<A>> {
        self.root.last_to(bound)
    }

    pub(super) fn walk(&self) -> Walk<'_, A, ROUTES, LEAVES> {
        self.root.walk()
    }

    /// Returns the routes from `first` to `last`, both included.
    pub(super) fn range(&self, first: Prefix<A>, last: Prefix<A>) -> Walk<'_, A, ROUTES, LEAVES> {
        debug_assert!(first <= last);
        self.root.range(first, last)
    }

    /// Returns the bytes allocated. O(1).
    pub(super) fn bytes(&self) -> usize {
        self.root.bytes()
    }

    /// Checks order, separators, fill, lengths and bytes.
    #[cfg(test)]
    pub(super) fn validate(&self) -> Result<(), String> {
        let routes = self.root.validate((None, None))?;
        if routes != self.len {
            return Err(format!("{} routes counted, {routes} found", self.len));
        }
        Ok(())
    }
}

impl<A: Address, const ROUTES: usize, const LEAVES: usize> Default for Tree<A, ROUTES, LEAVES> {
    fn default() -> Self {
        Self { root: Nodes::default(), len: 0 }
    }
}

/// Compares the routes: the nodes of equal trees may be filled differently.
impl<A: Address, const ROUTES: usize, const LEAVES: usize> PartialEq for Tree<A, ROUTES, LEAVES> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.walk().eq(other.walk())
    }
}

impl<A: Address, const ROUTES: usize, const LEAVES: usize> Eq for Tree<A, ROUTES, LEAVES> {}

impl<A: Address, const ROUTES: usize, const LEAVES: usize> Debug for Tree<A, ROUTES, LEAVES> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.walk().map(|route| (route.prefix, route.next_hop))).finish()
    }
}

/// Inserts a value into a vector, which grows by `step` if it is full.
fn insert<T>(vec: &mut Vec<T>, at: usize, value: T, step: usize) {
    if vec.len() == vec.capacity() {
        vec.reserve_exact(step);
    }
    vec.insert(at, value);
}

/// Removes a value from a vector, which then keeps room for at most a quarter more and 16.
fn remove<T>(vec: &mut Vec<T>, at: usize) -> T {
    let value = vec.remove(at);
    if vec.capacity() > vec.len() + vec.len() / 4 + 16 {
        vec.shrink_to(vec.len() + 8);
    }
    value
}

/// Moves what is from index `at` on to a vector of its own. Neither has room for more.
fn split_off<T>(vec: &mut Vec<T>, at: usize) -> Vec<T> {
    let right = vec.split_off(at);
    vec.shrink_to_fit();
    right
}

/// Moves all of `right` to the end.
fn append<T>(vec: &mut Vec<T>, mut right: Vec<T>) {
    vec.reserve_exact(right.len());
    vec.append(&mut right);
}

/// Returns the bytes allocated.
fn bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}
