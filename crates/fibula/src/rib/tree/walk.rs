//! [`Walk`]: the routes of an inner node, from both ends.

use super::Node;
use std::fmt::{self, Debug, Formatter};
use std::iter::FusedIterator;
use std::slice;

/// The routes of several nodes. `W` is the walk over one of them, `N::Walk<'n>`.
#[derive(Clone)]
pub(crate) struct Walk<'n, N, W> {
    /// What is left of the node that the front is in.
    pub(super) front: W,
    /// The nodes that neither end has reached.
    pub(super) nodes: slice::Iter<'n, N>,
    pub(super) back: W,
}

impl<N, W: Default> Default for Walk<'_, N, W> {
    fn default() -> Self {
        Self { front: W::default(), nodes: [].iter(), back: W::default() }
    }
}

/// Lists what is left.
impl<'n, N: Node> Debug for Walk<'n, N, N::Walk<'n>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'n, N: Node> Iterator for Walk<'n, N, N::Walk<'n>> {
    type Item = <N::Walk<'n> as Iterator>::Item;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(route) = self.front.next() {
                return Some(route);
            }
            match self.nodes.next() {
                Some(node) => self.front = node.walk(),
                None => return self.back.next(),
            }
        }
    }
}

impl<'n, N: Node> DoubleEndedIterator for Walk<'n, N, N::Walk<'n>> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(route) = self.back.next_back() {
                return Some(route);
            }
            match self.nodes.next_back() {
                Some(node) => self.back = node.walk(),
                None => return self.front.next_back(),
            }
        }
    }
}

impl<'n, N: Node> FusedIterator for Walk<'n, N, N::Walk<'n>> {}
