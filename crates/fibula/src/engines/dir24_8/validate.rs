//! The structural check: every entry is the one a fresh build would write, and no block is lost.

use super::{BLOCK, Dir24_8, start_of};
use crate::blocks::entry::{Entry, all_are};
use crate::blocks::pushing::{exposed, internal_nodes};
use crate::{Prefix, Rib};

impl<W> Dir24_8<W> {
    /// Returns the first contradiction to the table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        let blocks =
            (self.owners.len(), self.owners.numbers(), self.tbl_long.chunks(), internal_nodes(rib, 24));
        if blocks.0 != blocks.3 || blocks.1 != blocks.2 {
            return Err(format!("blocks owned, numbered, kept and needed: {blocks:?}"));
        }
        for (block, owner) in self.owners.iter() {
            if self.tbl24.get(owner as usize) != Entry::pointing_to(block) {
                return Err(format!("block {block} is lost to {owner:#x}"));
            }
        }
        let unrouted = rib.get(Prefix::ALL).is_none().then_some((Prefix::ALL, Entry::NO_ROUTE));
        for (prefix, entry) in unrouted.into_iter().chain(rib.iter().map(|r| (r.prefix, Entry::of(r)))) {
            for (first, last) in exposed(rib, prefix) {
                if !self.holds(first, last, entry) {
                    return Err(format!("{first:#x} to {last:#x}: expected {entry:?}"));
                }
            }
        }
        Ok(())
    }

    /// Returns whether all addresses of `first..=last` have this entry: the /24s inside in TBL24,
    /// the rest in a block.
    fn holds(&self, first: u32, last: u32, entry: Entry) -> bool {
        let in_block = |first: u32, last: u32| {
            let start = start_of(self.tbl24.get((first >> 8) as usize));
            start
                .and_then(|start| self.tbl_long[..].get(start..start + BLOCK))
                .is_some_and(|block| all_are(&block[(first & 255) as usize..=(last & 255) as usize], entry))
        };
        let (mut start, mut end) = ((first >> 8) as usize, (last >> 8) as usize + 1);
        let (first_in_part, last_in_part) = (first & 255 != 0, last & 255 != 255);
        if end - start == 1 && (first_in_part || last_in_part) {
            return in_block(first, last);
        }
        start += usize::from(first_in_part);
        end -= usize::from(last_in_part);
        (!first_in_part || in_block(first, first | 255))
            && (!last_in_part || in_block(last & !255, last))
            && all_are(&self.tbl24[start..end], entry)
    }
}
