//! The structural check.

use super::dnode::Dnode;
use super::inode::{Inode, InodeEntry, NIL};
use super::table::Table;
use super::tree::Tree;
use fibula::engine::Width;
use fibula::parts::blocks::reached::Reached;
use fibula::{Address, Prefix, Rib};

impl<const M: usize> Tree<M> {
    /// Checks the five properties of a B+ tree and that no inode is lost. Returns the keys and
    /// their links.
    pub(super) fn check(&self, k: u8) -> Result<Vec<InodeEntry>, String> {
        let mut reached = Reached::new("inodes", self.inodes.chunks());
        let mut entries = Vec::new();
        if self.height > 0 {
            let greatest = u32::MAX >> (u32::BITS - u32::from(k));
            self.check_below((u32::MAX, self.root), self.height, &mut entries, &mut reached)?;
            if let Some((key, _)) = entries.iter().find(|&&(key, _)| key > greatest) {
                return Err(format!("key {key} has more than {k} bits"));
            }
        }
        reached.check(0)?;
        Ok(entries)
    }

    /// Checks an inode and all below it. Its keys come after those already in `found`.
    fn check_below(
        &self,
        (bound, at): InodeEntry,
        level: u32,
        found: &mut Vec<InodeEntry>,
        reached: &mut Reached,
    ) -> Result<(), String> {
        reached.mark((at as usize, 1))?;
        let inode = &self.inodes[at as usize];
        let entries: Vec<InodeEntry> = inode.entries().collect();
        let is_root = level == self.height;
        let fewest = if is_root { 1 + usize::from(level > 1) } else { Inode::<M>::MIN };
        if entries.len() < fewest || *inode != Inode::of(&entries) {
            return Err(format!("inode {at}: {} entries, at least {fewest} and no more", entries.len()));
        }
        if level > 1 && inode.last_key() != bound {
            let own = inode.last_key();
            return Err(format!("inode {at}: bound {own} where its parent has {bound}"));
        }
        for entry in entries {
            if level > 1 {
                self.check_below(entry, level - 1, found, reached)?;
            } else if entry.0 > bound {
                return Err(format!("inode {at}: key {} is past the bound {bound}", entry.0));
            } else if found.last().is_some_and(|before| before.0 >= entry.0) {
                return Err(format!("inode {at}: key {} is not in order", entry.0));
            } else {
                found.push(entry);
            }
        }
        Ok(())
    }
}

impl<A: Address, W: Width, const M: usize> Table<A, W, M> {
    /// Checks the tree, every trie, and that their routes are those of the table.
    pub(super) fn check(&self, rib: &Rib<A>) -> Result<(), String> {
        let mut reached = Reached::new("dnodes", self.tries.dnodes.chunks());
        for (key, root) in self.tree.check(self.k)? {
            let within = Prefix::containing(A::from_bits(key.into(), 0, self.k), self.k);
            self.check_trie(root, within, rib, &mut reached)?;
        }
        if let Some(longest) = self.check_trie(self.keyless, Prefix::ALL, rib, &mut reached)?
            && longest.len >= self.k
        {
            return Err(format!("{} is in PT[-1]", longest.prefix()));
        }
        reached.check(0)?;
        // Each node is a route of the table, and no two nodes on different paths hold the same
        // route.
        let (nodes, routes) = (self.tries.dnodes.chunks(), rib.len());
        if nodes == routes { Ok(()) } else { Err(format!("{nodes} dnodes for {routes} routes")) }
    }

    /// Checks the subtree of a node whose path is `path`. Returns the node with the longest prefix.
    fn check_trie(
        &self,
        at: u32,
        path: Prefix<A>,
        rib: &Rib<A>,
        reached: &mut Reached,
    ) -> Result<Option<Dnode<A, W>>, String> {
        if at == NIL {
            return Ok(None);
        }
        reached.mark((at as usize, 1))?;
        let node = self.tries.dnodes[at as usize];
        if node.len > A::BITS || node.key & A::mask(node.len) != node.key {
            return Err(format!("dnode {at}: {:?}/{} is no prefix", node.key, node.len));
        }
        let prefix = node.prefix();
        if !path.covers(prefix) {
            return Err(format!("dnode {at}: {prefix} does not belong below {path}"));
        }
        if rib.get(prefix) != Some(node.next_hop.widen()) {
            return Err(format!("dnode {at}: {prefix} to {:?} is not in the table", node.next_hop));
        }
        let mut longest = node;
        match path.halves() {
            Some(halves) => {
                for (half, child) in halves.into_iter().zip(node.children) {
                    let below = self.check_trie(child, half, rib, reached)?;
                    longest = below.filter(|below| below.goes_before(&longest)).unwrap_or(longest);
                }
            }
            None if node.children == [NIL; 2] => {}
            None => return Err(format!("dnode {at}: children below {path}")),
        }
        if prefix != path && longest.prefix() != prefix {
            return Err(format!("dnode {at}: {prefix} has priority over {}", longest.prefix()));
        }
        if node.longest != longest.len {
            return Err(format!("dnode {at}: longest {}, not {}", node.longest, longest.len));
        }
        Ok(Some(longest))
    }
}
