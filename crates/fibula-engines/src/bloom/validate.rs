//! The structural check: filters and tables are consistent, and every entry is the one a fresh
//! build would write.

use super::update::group_of;
use super::{Direct, Expanded, Group, Groups, LEVELS};
use crate::blocks::expansion::{LevelCount, counts, slots};
use crate::blocks::probing::Hashing;
use crate::blocks::table::HashTable;
use fibula::engine::Width;
use fibula::parts::memory::Pages;
use fibula::{Prefix, Rib};

impl<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>> Groups<W, H, T> {
    /// Returns the first contradiction to the table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        let counts = counts(rib, &LEVELS);
        for (group, (count, &routes)) in counts.iter().zip(&self.routes).enumerate() {
            if routes as u64 != count.routes {
                return Err(format!("group {group}: {routes} routes counted, {} there", count.routes));
            }
        }
        let mut direct = Direct::new(Pages::Small);
        for route in rib.iter().filter(|route| group_of(route.prefix) == 0) {
            for slot in slots(route.prefix, LEVELS[0]) {
                direct.set(slot as u32, Expanded::of(route));
            }
        }
        if let Some(slot) = self.direct.first_difference(&direct) {
            return Err(format!("DLA {slot:#x}: {:?}, expected {:?}", self.direct.at(slot), direct.at(slot)));
        }
        holds("G1", &self.g1, rib, counts[1])?;
        holds("G2", &self.g2, rib, counts[2])
    }
}

/// Checks that a group has the entries of a table's expansion to its level, and no others.
fn holds<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>>(
    name: &str,
    group: &Group<W, H, T>,
    rib: &Rib<u32>,
    count: LevelCount,
) -> Result<(), String> {
    group.validate().map_err(|contradiction| format!("{name}: {contradiction}"))?;
    if group.len() as u128 != count.expanded {
        return Err(format!("{name}: {} entries, expected {}", group.len(), count.expanded));
    }
    for (slot, entry) in group.iter() {
        let prefix = Prefix::containing(slot << (32 - count.level), count.level);
        let expected = Expanded::expected(rib, prefix, 0);
        if entry != expected {
            return Err(format!("{name}: {slot:#x} leads to {entry:?}, expected {expected:?}"));
        }
    }
    Ok(())
}
