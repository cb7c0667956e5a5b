//! The structural checks of a trie, and its figures.

use super::node::{Map, Node};
use super::trie::Trie;
use fibula::engine::{Figure, Unmetered, Width};
use fibula::parts::blocks::reached::Reached;
use fibula::{Address, Prefix, Route};
use std::collections::BTreeMap;

impl<W: Width, M: Map> Trie<W, M> {
    /// Returns the numbers of nodes, child arrays and results, and of the nodes of each level by
    /// the bits before it. Empty roots are not counted as nodes.
    #[must_use]
    pub fn figures<A: Address>(&self, roots: impl Iterator<Item = (Prefix<A>, Node<M>)>) -> Vec<Figure> {
        let (mut nodes, mut arrays, mut results) = (0, 0, 0);
        let mut levels = BTreeMap::new();
        let mut next: Vec<(u8, Node<M>)> = roots.map(|(prefix, root)| (prefix.len(), root)).collect();
        while let Some((offset, node)) = next.pop() {
            if node.is_empty() {
                continue;
            }
            *levels.entry(offset).or_insert(0) += 1;
            nodes += 1;
            arrays += usize::from(node.external != M::NONE);
            results += node.routes().count();
            for path in node.external.positions() {
                next.push((offset + M::STRIDE, self.node(node.child_place(path), &mut Unmetered)));
            }
        }
        let mut figures = vec![
            Figure::count("trie nodes", nodes),
            Figure::count("child arrays", arrays),
            Figure::count("results", results),
        ];
        figures
            .extend(levels.into_iter().map(|(bits, n)| Figure::count(format!("nodes after {bits} bits"), n)));
        figures
    }

    /// Checks every pointer, and that nothing is pointed to twice or lost. Checks that the routes
    /// below the roots, each given with its prefix, and the answers above the roots, are those
    /// expected, which come in order.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate<A: Address>(
        &self,
        roots: impl Iterator<Item = (Prefix<A>, Node<M>)>,
        above: impl Iterator<Item = W>,
        expected: impl Iterator<Item = Route<A>>,
    ) -> Result<(), String> {
        self.words.validate()?;
        let mut walk =
            Walk { words: Reached::new("words", self.words.len()), result_words: 0, routes: vec![] };
        walk.words.mark((0, M::WORDS))?;
        for ((prefix, root), above) in roots.zip(above) {
            self.walk(root, root.routes(), prefix, &mut walk)?;
            let found = self.above(root);
            if found != above {
                return Err(format!("{found:?} above {prefix} where {above:?} is expected"));
            }
            if root.has_block() && root.routes() == root.internal {
                return Err(format!("no room for an answer above {prefix}"));
            }
        }
        walk.words.check(self.words.free_total())?;
        if walk.result_words != self.result_words {
            return Err(format!("{} words of results counted as {}", walk.result_words, self.result_words));
        }
        walk.routes.sort_unstable();
        let mut found = walk.routes.into_iter();
        for expected in expected {
            let found = found.next();
            if found != Some(expected) {
                return Err(format!("{found:?} where {expected:?} is expected"));
            }
        }
        found.next().map_or(Ok(()), |route| Err(format!("{route:?} is not in the table")))
    }

    /// Checks a node that holds such routes, and all below it.
    fn walk<A: Address>(
        &self,
        node: Node<M>,
        routes: M,
        at: Prefix<A>,
        walk: &mut Walk<A>,
    ) -> Result<(), String> {
        let end = at.len() + M::STRIDE;
        if !node.has_block() {
            return Ok(());
        }
        let (start, results, children) = Self::block(node).ok_or_else(|| format!("{node:?} has no block"))?;
        walk.words.mark((start, results + children))?;
        walk.result_words += results;
        for position in routes.positions() {
            let len = at.len() + position.checked_ilog2().ok_or("bit 0 of an internal map is set")? as u8;
            let bits = u64::from(position) & ((1 << (len - at.len())) - 1);
            let prefix = below(at, bits, len).ok_or_else(|| format!("a result of {len} bits"))?;
            let result = self.result_at(Self::result_place(node, position), &mut Unmetered);
            walk.routes.push(Route { prefix, next_hop: result.widen() });
        }
        for path in node.external.positions() {
            let prefix = below(at, path.into(), end).ok_or_else(|| format!("a node after {end} bits"))?;
            let child = self.node(node.child_place(path), &mut Unmetered);
            if child.is_empty() {
                return Err(format!("an empty node stands for {prefix}"));
            }
            self.walk(child, child.internal, prefix, walk)?;
        }
        Ok(())
    }
}

/// What a walk has found so far.
struct Walk<A: Address> {
    words: Reached,
    result_words: usize,
    routes: Vec<Route<A>>,
}

/// Returns the prefix of `len` bits that continues `above` with `bits`.
fn below<A: Address>(above: Prefix<A>, bits: u64, len: u8) -> Option<Prefix<A>> {
    let first = above.first() | A::from_bits(bits, above.len(), len - above.len());
    (len <= A::BITS).then(|| Prefix::containing(first, len))
}
