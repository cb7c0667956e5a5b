//! The structural check.

use super::Exact;
use super::lines::InLines;
use crate::engine::Lengths;
use crate::{Prefix, Rib};

impl<A: InLines> Exact<A> {
    /// Checks that each route is an entry in its line or one of the others, and each only once.
    pub(super) fn check_lines(&self, rib: &Rib<A>, others: &Rib<A>) -> Result<(), String> {
        let (lines, length) = (&self.lines, self.length);
        let mut entries = 0;
        for (level, at, line) in lines.all() {
            let filled = lines.filled(line);
            for slot in 0..A::layout(length).slots() {
                let (key, hop) = (lines.key_at(line, slot), lines.hop_at(line, slot));
                let prefix = Prefix::containing(key, length);
                if slot >= filled {
                    if (key, hop) != (A::ZERO, 0) {
                        return Err(format!(
                            "slot {slot} of line {at} is behind the last, and holds {key:?}"
                        ));
                    }
                    continue;
                }
                entries += 1;
                if !self.may_have(key) || !self.may_have(prefix.last()) {
                    return Err(format!("the network of {prefix} is not noted"));
                }
                let is_right = rib.get(prefix).is_some_and(|next_hop| next_hop.0 == hop);
                if prefix.first() != key || lines.places(key)[level] != at || !is_right {
                    return Err(format!("line {at} has {prefix} with next hop {hop}"));
                }
                if rib.covered(prefix).nth(1).is_some() || others.get(prefix).is_some() {
                    return Err(format!("{prefix} is an entry, and one of the others or above others"));
                }
            }
        }
        if entries + others.len() != rib.len() {
            return Err(format!("{entries} entries and {} others of {} routes", others.len(), rib.len()));
        }
        if self.lengths != Lengths::of(rib) {
            return Err("the lengths are not those of the table".into());
        }
        Ok(())
    }
}
