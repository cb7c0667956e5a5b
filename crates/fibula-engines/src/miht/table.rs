//! [`Table`]: the B+ tree of order `M`, the priority tries below it and PT\[-1\]; how they are
//! built and updated.

use super::MAX_ROUTES;
use super::inode::{Inode, NIL};
use super::tree::Tree;
use super::tries::Tries;
use fibula::engine::{Cost, Figure, Unmetered, Update, Width};
use fibula::parts::memory::{Memory, Pages};
use fibula::{Address, Delta, Limit, Prefix, Rib, Route};

/// A compiled table.
#[derive(Debug)]
pub(super) struct Table<A: Address, W: Width, const M: usize> {
    /// The bits of a key.
    pub(super) k: u8,
    /// The tree from keys to the roots of their tries.
    pub(super) tree: Tree<M>,
    pub(super) tries: Tries<A, W>,
    /// The root of PT\[-1\], which has the prefixes shorter than a key.
    pub(super) keyless: u32,
}

/// Checks that a table of `routes` routes has no more nodes than links can address.
pub(super) fn check_routes(routes: u64) -> Result<(), Limit> {
    Limit::check("routes", routes, MAX_ROUTES)
}

impl<A: Address, W: Width, const M: usize> Table<A, W, M> {
    /// Compiles a table. O(n log n).
    pub(super) fn build(rib: &Rib<A>, k: u8, pages: Pages) -> Result<Self, Limit> {
        check_routes(rib.len() as u64)?;
        let (mut keyless, mut keyed): (Vec<_>, Vec<_>) = rib.iter().partition(|route| route.prefix.len() < k);
        let mut tries = Tries::new(pages, rib.len());
        let keyless = tries.plant(&mut keyless, 0);
        let key_of = |route: &Route<A>| prefix_key(route.prefix.first(), k);
        let of_one_key = keyed.chunk_by_mut(|a, b| key_of(a) == key_of(b));
        let roots = of_one_key.map(|routes| (key_of(&routes[0]), tries.plant(routes, k))).collect();
        Ok(Self { k, tree: Tree::pack(roots, pages), tries, keyless })
    }

    /// Returns the key of an address.
    #[inline(always)]
    pub(super) fn key(&self, address: A) -> u32 {
        prefix_key(address, self.k)
    }

    /// Applies the deltas one by one, withdrawals first. So there are never more routes than before
    /// or after.
    pub(super) fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        if let Err(limit) = check_routes(rib.len() as u64) {
            return Update::Limit(limit);
        }
        let mut cost = Cost::default();
        for delta in deltas.iter().filter(|delta| !delta.after.is_some()) {
            self.withdraw(delta.prefix, &mut cost);
        }
        for delta in deltas.iter().filter(|delta| delta.after.is_some()) {
            let route = Route { prefix: delta.prefix, next_hop: delta.after };
            if delta.before.is_some() {
                let (root, base) = self.trie_of(route.prefix);
                self.tries.replace(root, base, route, &mut cost);
            } else {
                self.announce(route, &mut cost);
            }
        }
        Update::Applied(cost)
    }

    /// Returns the root of the trie that a prefix belongs to, and the level of that root.
    fn trie_of(&self, prefix: Prefix<A>) -> (u32, u8) {
        if prefix.len() < self.k {
            (self.keyless, 0)
        } else {
            (self.tree.get(self.key(prefix.first()), &mut Unmetered), self.k)
        }
    }

    /// Records the new root of the trie that a prefix belongs to, [`NIL`] if the trie is empty now.
    fn set_root(&mut self, prefix: Prefix<A>, before: u32, after: u32, cost: &mut Cost) {
        let key = self.key(prefix.first());
        if prefix.len() < self.k {
            self.keyless = after;
        } else if before == NIL {
            self.tree.insert(key, after, cost);
        } else if after == NIL {
            self.tree.remove(key, cost);
        } else {
            self.tree.set(key, after);
        }
    }

    /// Inserts a new route.
    fn announce(&mut self, route: Route<A>, cost: &mut Cost) {
        let (root, base) = self.trie_of(route.prefix);
        let new = self.tries.insert(root, base, route, cost);
        if new != root {
            self.set_root(route.prefix, root, new, cost);
        }
    }

    /// Removes a route. The last node of all moves to the index of the freed one; its prefix leads
    /// to the link to rewrite.
    fn withdraw(&mut self, prefix: Prefix<A>, cost: &mut Cost) {
        let (root, base) = self.trie_of(prefix);
        let (new, hole) = self.tries.remove(root, base, prefix, cost);
        if new != root {
            self.set_root(prefix, root, new, cost);
        }
        if let Some(last) = self.tries.free(hole) {
            cost.nodes_copied += 1;
            let moved = self.tries.dnodes[hole as usize].prefix();
            let (root, base) = self.trie_of(moved);
            let new = self.tries.relink(root, base, last, hole);
            if new != root {
                self.set_root(moved, root, new, cost);
            }
        }
    }

    pub(super) fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("inodes", self.tree.inodes.bytes())
            .off_chip("dnodes", self.tries.dnodes.bytes())
    }

    /// Returns the shape of the tree and of the tries. O(nodes).
    pub(super) fn figures(&self) -> Vec<Figure> {
        let inodes = self.tree.inodes.chunks();
        let entries: usize = self.tree.inodes.iter().map(Inode::len).sum();
        let roots = self.tree.entries();
        let keyed = roots.iter().flat_map(|&(_, root)| self.tries.nodes(root, self.k));
        let keyed_depth = keyed.map(|(level, _)| level - self.k + 1).max().unwrap_or(0);
        let keyless: Vec<u8> = self.tries.nodes(self.keyless, 0).map(|(level, _)| level + 1).collect();
        let keyless_depth = keyless.iter().copied().max().unwrap_or(0);
        vec![
            Figure::count("B+ tree height", self.tree.height as usize),
            Figure::count("inodes", inodes),
            Figure::new("inode fill, %", 100.0 * entries as f64 / (inodes * M).max(1) as f64),
            Figure::count("keys", roots.len()),
            Figure::count("priority tries", roots.len() + usize::from(self.keyless != NIL)),
            Figure::count("dnodes below keys", self.tries.dnodes.chunks() - keyless.len()),
            Figure::count("greatest depth below a key", keyed_depth.into()),
            Figure::count("dnodes of PT[-1]", keyless.len()),
            Figure::count("depth of PT[-1]", keyless_depth.into()),
        ]
    }
}

/// Returns the first `k` bits of an address (the paper's `prefix_key`).
#[inline(always)]
pub(super) fn prefix_key<A: Address>(address: A, k: u8) -> u32 {
    address.bits(0, k) as u32
}
