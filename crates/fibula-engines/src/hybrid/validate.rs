//! The structural check: every table is what a fresh build makes, and no sub-trie is lost.

use super::{Hybrid, MIDDLE, Owner, long, middle, short};
use crate::blocks::expansion::slots;
use crate::blocks::tree_bitmap::Node;
use fibula::engine::Width;
use fibula::parts::blocks::entry::Entry;
use fibula::{Prefix, Rib};

impl<W: Width> Hybrid<W> {
    /// Iterates over the /24 and root of every sub-trie.
    pub(super) fn roots(&self) -> impl Iterator<Item = (Prefix<u32>, Node<u16>)> {
        let prefix = |owner: Owner| Prefix::containing(owner.slot << 8, MIDDLE);
        self.owners.iter().map(move |(sub_trie, owner)| (prefix(owner), self.root(sub_trie)))
    }

    /// Returns the first contradiction to the table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.short.validate(short(rib))?;
        if self.owners.len() != self.sub_tries.chunks() {
            let (owned, kept) = (self.owners.len(), self.sub_tries.chunks());
            return Err(format!("{owned} sub-tries owned and {kept} kept"));
        }
        for (sub_trie, owner) in self.owners.iter() {
            if self.tbl24[owner.slot as usize] != Entry::pointing_to(sub_trie) {
                return Err(format!("sub-trie {sub_trie} is lost to {:#x}", owner.slot));
            }
        }
        if let Some((prefix, _)) = self.roots().find(|(_, root)| root.is_empty()) {
            return Err(format!("the sub-trie of {prefix} is empty"));
        }
        let above = self.owners.iter().map(|(_, owner)| owner.entry.answer());
        self.long.validate(self.roots(), above, long(rib))?;
        self.check_tbl24(rib)
    }

    /// Checks that every entry is that of its longest route of 17 to 24 bits, and that one entry
    /// points to each sub-trie.
    fn check_tbl24(&self, rib: &Rib<u32>) -> Result<(), String> {
        // A route of 17 bits or more is within one /16.
        const BLOCK: usize = 1 << 8;
        let mut routes = middle(rib).peekable();
        let mut pointers = 0;
        for (start, entries) in (0..).step_by(BLOCK).zip(self.tbl24.chunks(BLOCK)) {
            let mut expected = [Entry::NO_ROUTE; BLOCK];
            while let Some(route) = routes.next_if(|route| route.prefix.first() >> 8 < start + BLOCK as u32) {
                let slots = slots(route.prefix, MIDDLE);
                expected[*slots.start() as usize % BLOCK..=*slots.end() as usize % BLOCK]
                    .fill(Entry::of(route));
            }
            // No entry expected points to a sub-trie. That is so in nearly all blocks of a small
            // table.
            if entries == expected {
                continue;
            }
            for (slot, (&entry, expected)) in (start..).zip(entries.iter().zip(expected)) {
                pointers += usize::from(entry.chunk().is_some());
                let without = |at: usize| (at < self.owners.len()).then(|| self.owners[at as u32].entry);
                if entry.chunk().map_or(Some(entry), without) != Some(expected) {
                    return Err(format!("{slot:#x} of TBL24: {entry:?} where {expected:?} is expected"));
                }
            }
        }
        if pointers == self.owners.len() {
            return Ok(());
        }
        Err(format!("{pointers} entries point to {} sub-tries", self.owners.len()))
    }
}
