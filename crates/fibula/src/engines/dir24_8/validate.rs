//! The structural check: every entry is the one a fresh build would write, and no block is lost.

use super::{BLOCK, Dir24_8, slots, start_of};
use crate::Rib;
use crate::blocks::entry::Entry;
use crate::memory::Published;
use crate::rib::Piece;
use std::collections::BTreeSet;

impl<W> Dir24_8<W> {
    /// Returns the first contradiction to the table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.tbl_long.validate()?;
        let longer = rib.iter().filter(|route| route.prefix.len() > 24);
        let mut needed: Vec<usize> = longer.map(|route| slots(route.prefix).start).collect();
        needed.dedup();
        let found = needed.iter().filter_map(|&slot| start_of(self.tbl24.get(slot)));
        let blocks = (self.blocks(), found.collect::<BTreeSet<_>>().len(), needed.len());
        if blocks != (blocks.2, blocks.2, blocks.2) {
            return Err(format!("blocks kept, pointed to and needed: {blocks:?}"));
        }
        for Piece { first, last, route } in rib.pieces() {
            let entry = route.map_or(Entry::NO_ROUTE, Entry::of);
            if !self.holds(first, last, entry) {
                return Err(format!("{first:#x} to {last:#x}: expected {entry:?}"));
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

/// Returns whether every entry equals `entry`. Tests whole cache lines at a time, so that checking
/// a table of 64 MB costs little more than reading it.
fn all_are(entries: &[Published<Entry>], entry: Entry) -> bool {
    let differs = |differing, found: &Published<Entry>| differing | (found.load().0 ^ entry.0);
    entries.chunks(64).all(|some| some.iter().fold(0, differs) == 0)
}
