//! The lookup in three stages, for a pipeline of threads as in the paper's Figure 5: TBL24, the sub-tries, the Tree Bitmap.
//!
//! ```text
//! handed on   after TBL24          its entry
//!             after the sub-tries  the answer, or all ones: the Tree Bitmap is to be asked
//! ```
//! Routes of 13 to 16 bits end in the nodes that the initial array holds, so that the Tree Bitmap is one stage.

use super::Hybrid;
use crate::blocks::entry::Entry;
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

/// TBL24, sub-tries, Tree Bitmap.
pub(super) const STAGES: usize = 3;

/// What is handed on where routes longer than 16 bits say nothing.
const ASK_SHORT: u64 = u64::MAX;

impl<W: Width> Hybrid<W> {
    /// One stage of many lookups.
    #[inline(always)]
    pub(super) fn run(&self, stage: usize, addresses: &[u32], found: &mut [u64]) {
        let tbl24 = self.tbl24();
        for (&address, found) in addresses.iter().zip(found) {
            match stage {
                0 => *found = Entry::load(&tbl24[(address >> 8) as usize]).0.into(),
                1 => {
                    let answer = self.below(Entry(*found as u32), address, &mut Unmetered);
                    *found = answer.map_or(ASK_SHORT, |answer| answer.widen().0.into());
                }
                _ if *found == ASK_SHORT => {
                    *found = self.short.find(address, &mut Unmetered).widen().0.into();
                }
                _ => {}
            }
        }
    }
}
