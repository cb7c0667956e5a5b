//! [`Nodes`]: an inner node of the tree.

#[cfg(test)]
use super::Within;
use super::walk::Walk;
use super::{Inserted, Node, append, bytes, insert, remove, split_off};
use crate::{NextHop, Prefix, Route};

/// Nodes in order, and between two of them what separates their routes. Up to `MOST`, unless it is
/// the root. Only an empty tree's root has none.
pub(crate) struct Nodes<N: Node, const MOST: usize> {
    separators: Vec<Prefix<N::Address>>,
    children: Vec<N>,
    /// The bytes that the children have allocated.
    bytes_below: usize,
}

impl<N: Node, const MOST: usize> Nodes<N, MOST> {
    fn new(separators: Vec<Prefix<N::Address>>, children: Vec<N>) -> Self {
        let mut new = Self { separators, children, bytes_below: 0 };
        new.count_bytes();
        new
    }

    fn count_bytes(&mut self) {
        self.bytes_below = self.children.iter().map(N::bytes).sum();
    }

    /// Returns the index of the child that a prefix belongs to.
    #[inline]
    fn position(&self, prefix: Prefix<N::Address>) -> usize {
        self.separators.partition_point(|&separator| separator <= prefix)
    }

    /// As [`Node::insert`], however many nodes there are then.
    pub(super) fn insert_below(&mut self, prefix: Prefix<N::Address>, next_hop: NextHop) -> Option<NextHop> {
        if self.children.is_empty() {
            insert(&mut self.children, 0, N::default(), 1);
        }
        let at = self.position(prefix);
        let node = &mut self.children[at];
        let bytes = node.bytes();
        match node.insert(prefix, next_hop) {
            Inserted::Replaced(before) => return Some(before),
            Inserted::Added => self.bytes_below = self.bytes_below + node.bytes() - bytes,
            Inserted::Split(separator, right) => {
                self.bytes_below = self.bytes_below + node.bytes() + right.bytes() - bytes;
                self.insert_node(at + 1, separator, right);
            }
        }
        None
    }

    /// Inserts a node that has a left neighbour.
    fn insert_node(&mut self, at: usize, separator: Prefix<N::Address>, node: N) {
        // A split is rare enough for steps of an eighth, and a small tree then has no spare room.
        let step = (self.children.len() / 8).max(1);
        insert(&mut self.separators, at - 1, separator, step);
        insert(&mut self.children, at, node, step);
    }

    /// Joins two neighbours. If they are too many for one node, makes two halves of them.
    fn join(&mut self, left: usize) {
        let separator = remove(&mut self.separators, left);
        let right = remove(&mut self.children, left + 1);
        let node = &mut self.children[left];
        node.append(separator, right);
        if node.len() > N::MOST {
            let (separator, right) = node.split_off(node.len() / 2);
            self.insert_node(left + 1, separator, right);
        }
    }
}

/// A copy takes fewer bytes, since its vectors have no room for more.
impl<N: Node, const MOST: usize> Clone for Nodes<N, MOST> {
    fn clone(&self) -> Self {
        Self::new(self.separators.clone(), self.children.clone())
    }
}

impl<N: Node, const MOST: usize> Default for Nodes<N, MOST> {
    fn default() -> Self {
        Self { separators: Vec::new(), children: Vec::new(), bytes_below: 0 }
    }
}

impl<N: Node, const MOST: usize> Node for Nodes<N, MOST> {
    type Address = N::Address;
    type Walk<'n> = Walk<'n, N, N::Walk<'n>>;
    const MOST: usize = MOST;
    const FULL: usize = MOST * N::FULL;

    fn of(routes: &[Route<N::Address>]) -> Self {
        let count = routes.len().div_ceil(N::FULL);
        // Multiplied in 128 bits, so that no count overflows on machines of 32.
        let end = |at: usize| (routes.len() as u128 * at as u128 / count as u128) as usize;
        let children = (0..count).map(|at| N::of(&routes[end(at)..end(at + 1)])).collect();
        Self::new((1..count).map(|at| routes[end(at)].prefix).collect(), children)
    }

    fn len(&self) -> usize {
        self.children.len()
    }

    fn get(&self, prefix: Prefix<N::Address>) -> Option<NextHop> {
        self.children.get(self.position(prefix))?.get(prefix)
    }

    fn last_to(&self, bound: Prefix<N::Address>) -> Option<Route<N::Address>> {
        let at = self.position(bound);
        self.children.get(at)?.last_to(bound).or_else(|| self.children[..at].last()?.last())
    }

    fn last(&self) -> Option<Route<N::Address>> {
        self.children.last()?.last()
    }

    fn walk(&self) -> Self::Walk<'_> {
        Walk { front: N::Walk::default(), nodes: self.children.iter(), back: N::Walk::default() }
    }

    fn range(&self, first: Prefix<N::Address>, last: Prefix<N::Address>) -> Self::Walk<'_> {
        let (from, to) = (self.position(first), self.position(last));
        let mut walk = Walk::default();
        if from < to {
            walk.front = self.children[from].range(first, Prefix::GREATEST);
            walk.nodes = self.children[from + 1..to].iter();
            walk.back = self.children[to].range(Prefix::ALL, last);
        } else if let Some(node) = self.children.get(from) {
            walk.front = node.range(first, last);
        }
        walk
    }

    fn insert(&mut self, prefix: Prefix<N::Address>, next_hop: NextHop) -> Inserted<Self> {
        match self.insert_below(prefix, next_hop) {
            Some(before) => Inserted::Replaced(before),
            None if self.len() <= MOST => Inserted::Added,
            None => {
                let (separator, right) = self.split_off(self.len() / 2);
                Inserted::Split(separator, right)
            }
        }
    }

    fn remove(&mut self, prefix: Prefix<N::Address>) -> Option<NextHop> {
        let at = self.position(prefix);
        let is_alone = self.children.len() == 1;
        let node = self.children.get_mut(at)?;
        let bytes = node.bytes();
        let before = node.remove(prefix)?;
        if node.len() < N::LEAST && !is_alone {
            self.join(at.saturating_sub(1));
            self.count_bytes();
        } else {
            self.bytes_below = self.bytes_below + node.bytes() - bytes;
        }
        Some(before)
    }

    fn split_off(&mut self, at: usize) -> (Prefix<N::Address>, Self) {
        let separators = split_off(&mut self.separators, at);
        let separator = self.separators.pop().expect("a node to the left");
        let right = Self::new(separators, split_off(&mut self.children, at));
        self.count_bytes();
        (separator, right)
    }

    fn append(&mut self, separator: Prefix<N::Address>, right: Self) {
        insert(&mut self.separators, self.children.len() - 1, separator, 1);
        append(&mut self.separators, right.separators);
        append(&mut self.children, right.children);
        self.bytes_below += right.bytes_below;
    }

    fn bytes(&self) -> usize {
        bytes(&self.separators) + bytes(&self.children) + self.bytes_below
    }

    #[cfg(test)]
    fn validate(&self, (first, end): Within<N::Address>) -> Result<usize, String> {
        if self.separators.len() != self.children.len().saturating_sub(1) {
            return Err(format!("{} separators of {} nodes", self.separators.len(), self.children.len()));
        }
        let mut routes = 0;
        let mut from = first;
        for (at, node) in self.children.iter().enumerate() {
            let to = self.separators.get(at).copied().or(end);
            routes += node.validate((from, to))?;
            let least = if self.children.len() == 1 { 1 } else { N::LEAST };
            if !(least..=N::MOST).contains(&node.len()) {
                return Err(format!("{} in a node for {least} to {}", node.len(), N::MOST));
            }
            from = to;
        }
        let bytes: usize = self.children.iter().map(N::bytes).sum();
        if bytes != self.bytes_below {
            return Err(format!("{} bytes counted, {bytes} found", self.bytes_below));
        }
        Ok(routes)
    }
}
