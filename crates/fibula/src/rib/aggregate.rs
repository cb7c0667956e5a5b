//! [`Rib::aggregate`]: the smallest table with the same answers.

use super::Rib;
use crate::{Address, NextHop, Prefix, Route};

/// A node of the forest, in post-order: the right child of a node is stored directly before it.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The index of the left child; `None` for a leaf.
    left: Option<usize>,
    /// Its candidates: their start in [`Forest::candidates`], and their number.
    candidates: (usize, usize),
}

/// The binary tries of the blocks in which every address has a route, each as large as possible.
#[derive(Debug, Default)]
struct Forest<A: Address> {
    nodes: Vec<Node>,
    /// The candidate next hops of all nodes, ascending within a node.
    candidates: Vec<NextHop>,
    /// The finished tries from left to right: the block of each, and its root.
    roots: Vec<(Prefix<A>, usize)>,
}

impl<A: Address> Rib<A> {
    /// Returns the fewest routes that give the same answer for every address: ORTC, the optimal
    /// routing table constructor of Draves, King, Venkatachary and Zill, "Constructing Optimal IP
    /// Routing Tables" (INFOCOM 1999).
    ///
    /// The result is the smallest among all tables whose routes lead to a next hop. The paper also
    /// lets a route say "no route" to cut a hole into a shorter one. Such a route does not exist
    /// here, so no route of the result may contain an address without one. Every largest block of
    /// addresses that all have a route is therefore a problem of its own, and the paper's three
    /// passes solve it:
    ///
    /// 1. its binary trie is leaf-pushed and normalised: each node has no child or two;
    /// 2. from the leaves up, a node's candidates are the next hops that its children have in
    ///    common, or all of both if they have none in common;
    /// 3. from the root down, a node gets a route (to its least candidate) unless the next hop it
    ///    inherits is a candidate.
    ///
    /// Taking the least candidate decides between several smallest tables. O(l·b) for *l* leaves
    /// ([`Rib::leaves`], equal neighbours merged) of *b*-bit addresses, usually near O(l).
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// rib.insert("10.0.0.0/9".parse()?, NextHop(1));
    /// rib.insert("10.128.0.0/9".parse()?, NextHop(1));
    /// rib.insert("10.1.0.0/16".parse()?, NextHop(1));
    /// let smallest = rib.aggregate();
    /// let prefixes = smallest.iter().map(|route| route.prefix.to_string());
    /// assert!(prefixes.eq(["10.0.0.0/8"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn aggregate(&self) -> Rib<A> {
        let mut forest = Forest { nodes: Vec::new(), candidates: Vec::new(), roots: Vec::new() };
        for range in self.ranges().filter(|range| range.next_hop.is_some()) {
            for prefix in range.prefixes() {
                forest.push_leaf(prefix, range.next_hop);
            }
        }
        forest.routes().into_iter().collect()
    }
}

impl<A: Address> Forest<A> {
    /// Passes 1 and 2: adds the next leaf and joins the subtries that it completes.
    fn push_leaf(&mut self, prefix: Prefix<A>, next_hop: NextHop) {
        self.candidates.push(next_hop);
        self.nodes.push(Node { left: None, candidates: (self.candidates.len() - 1, 1) });
        self.roots.push((prefix, self.nodes.len() - 1));
        while let [.., (left, left_root), (right, right_root)] = self.roots[..]
            && left.len() == right.len()
            && left.parent() == right.parent()
            && let Some(parent) = left.parent()
        {
            self.join(left_root, right_root);
            self.roots.truncate(self.roots.len() - 2);
            self.roots.push((parent, self.nodes.len() - 1));
        }
    }

    /// Creates the parent of two nodes, of which the right one is the last of all.
    fn join(&mut self, left: usize, right: usize) {
        let start = self.candidates.len();
        let [a, b] = [left, right].map(|node| {
            let (start, count) = self.nodes[node].candidates;
            start..start + count
        });
        for i in a.clone() {
            let next_hop = self.candidates[i];
            if self.candidates[b.clone()].binary_search(&next_hop).is_ok() {
                self.candidates.push(next_hop);
            }
        }
        if self.candidates.len() == start {
            self.candidates.extend_from_within(a);
            self.candidates.extend_from_within(b);
            self.candidates[start..].sort_unstable(); // two ascending runs: merged
        }
        self.nodes.push(Node { left: Some(left), candidates: (start, self.candidates.len() - start) });
    }

    /// Pass 3: returns the routes, in order.
    fn routes(&self) -> Vec<Route<A>> {
        let mut routes = Vec::new();
        let mut ahead = Vec::new();
        for &(prefix, root) in &self.roots {
            ahead.push((prefix, root, NextHop::NONE));
            while let Some((prefix, at, inherited)) = ahead.pop() {
                let node = self.nodes[at];
                let (start, count) = node.candidates;
                let candidates = &self.candidates[start..start + count];
                let next_hop =
                    if candidates.binary_search(&inherited).is_ok() { inherited } else { candidates[0] };
                if next_hop != inherited {
                    routes.push(Route { prefix, next_hop });
                }
                if let (Some(left_root), Some([left, right])) = (node.left, prefix.halves()) {
                    ahead.push((right, at - 1, next_hop));
                    ahead.push((left, left_root, next_hop));
                }
            }
        }
        routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A complete binary trie of `DEPTH` levels below one prefix of the address space.
    struct Tiny<A> {
        base: Prefix<A>,
        depth: u8,
        next_hops: u32,
        /// For the answers of the leaves, the fewest routes that give them.
        best: HashMap<Vec<u32>, usize>,
    }

    impl<A: Address> Tiny<A> {
        fn new(base: Prefix<A>, depth: u8, next_hops: u32) -> Self {
            let mut tiny = Self { base, depth, next_hops, best: HashMap::new() };
            tiny.enumerate(&mut Vec::new(), 0);
            tiny
        }

        /// Tries every choice of a route, or none, for each node of the trie, numbered like a heap.
        fn enumerate(&mut self, choice: &mut Vec<u32>, used: usize) {
            if choice.len() == (2 << self.depth) - 1 {
                let first_leaf = (1 << self.depth) - 1;
                let answers = (first_leaf..choice.len()).map(|leaf| Self::answer(choice, leaf)).collect();
                let best = self.best.entry(answers).or_insert(used);
                *best = used.min(*best);
                return;
            }
            for next_hop in 0..=self.next_hops {
                choice.push(next_hop);
                self.enumerate(choice, used + usize::from(next_hop > 0));
                choice.pop();
            }
        }

        fn answer(choice: &[u32], mut node: usize) -> u32 {
            while choice[node] == 0 && node > 0 {
                node = (node - 1) / 2;
            }
            choice[node]
        }

        fn leaf(&self, index: usize) -> Prefix<A> {
            let len = self.base.len() + self.depth;
            let offset = A::from_bits(index as u64, self.base.len(), self.depth);
            Prefix::new(self.base.first() | offset, len).unwrap()
        }

        /// Checks that no table with the same answers is smaller than the aggregate.
        fn check(&self) {
            assert_eq!(self.best.len(), (self.next_hops as usize + 1).pow(1 << self.depth));
            for (answers, &fewest) in &self.best {
                let leaves = answers.iter().enumerate().filter(|&(_, &next_hop)| next_hop > 0);
                let rib: Rib<A> = leaves
                    .map(|(i, &next_hop)| Route { prefix: self.leaf(i), next_hop: NextHop(next_hop) })
                    .collect();
                let aggregate = rib.aggregate();
                assert!(aggregate.ranges().eq(rib.ranges()), "{answers:?}");
                assert_eq!(aggregate.len(), fewest, "{answers:?}");
            }
        }
    }

    #[test]
    fn no_smaller_table_exists_for_any_four_leaves_and_three_next_hops() {
        Tiny::new(Prefix::<u32>::ALL, 2, 3).check();
        Tiny::new(Prefix::containing(u32::MAX, 30), 2, 3).check();
        Tiny::new(Prefix::containing(u128::MAX, 126), 2, 3).check();
    }

    #[test]
    fn no_smaller_table_exists_for_any_eight_leaves_and_two_next_hops() {
        let mut tiny = Tiny::new(Prefix::<u32>::ALL, 3, 2);
        tiny.check();
        tiny.base = "255.255.255.248/29".parse().unwrap();
        tiny.check();
    }

    #[test]
    fn the_papers_kind_of_example() {
        // A default route, and a next hop that returns below another: 1 at the root, 2 on the left,
        // 1 again further left. Seen from below, the left half is cheaper there.
        let routes =
            [("0.0.0.0/0", 1), ("0.0.0.0/1", 2), ("0.0.0.0/2", 1), ("0.0.0.0/3", 2), ("64.0.0.0/3", 1)];
        let routes = routes.map(|(p, n)| Route { prefix: p.parse().unwrap(), next_hop: NextHop(n) });
        let rib: Rib<u32> = routes.into_iter().collect();
        let aggregate: Vec<_> =
            rib.aggregate().iter().map(|r| (r.prefix.to_string(), r.next_hop.0)).collect();
        let expected = [("0.0.0.0/0", 1), ("0.0.0.0/3", 2), ("96.0.0.0/3", 2)];
        assert_eq!(aggregate, expected.map(|(p, n)| (p.to_owned(), n)));
    }
}
