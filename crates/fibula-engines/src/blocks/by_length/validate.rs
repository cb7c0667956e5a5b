//! The structural check: filters and tables are consistent, and every entry is the one a fresh
//! build would write.

use super::update::has_longer;
use super::{ByLength, KEY_BITS, Keyed, Level, longer_routes, marks_alone};
use crate::blocks::expanded::Expanded;
use crate::blocks::expansion::{LevelCount, counts};
use crate::blocks::hashing::Key;
use crate::blocks::probing::Hashing;
use fibula::engine::Width;
use fibula::{Prefix, Rib};

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> ByLength<A, W, H, SLOTS> {
    /// Checks every part against the table.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        let default = rib.get(Prefix::ALL).unwrap_or_default();
        if self.default.widen() != default {
            return Err(format!("default route to {:?}, expected {default:?}", self.default));
        }
        let lens: Vec<u8> = self.levels.iter().map(|level| level.len).collect();
        let counts = counts(rib.iter().filter(|route| route.prefix.len() > 0), &lens);
        for (level, count) in self.levels.iter().zip(counts) {
            level.validate(rib, count).map_err(|contradiction| format!("/{}: {contradiction}", level.len))?;
        }
        self.longer.validate(longer_routes(rib))
    }
}

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> Level<A, W, H, SLOTS> {
    fn validate(&self, rib: &Rib<A>, count: LevelCount) -> Result<(), String> {
        self.pair.validate()?;
        if self.routes as u64 != count.routes || u128::from(self.estimated) != count.estimated {
            let counted = (self.routes, self.estimated);
            return Err(format!("{counted:?} counted, expected {:?}", (count.routes, count.estimated)));
        }
        let marks = if self.len == KEY_BITS { marks_alone(rib, self.above).count() } else { 0 };
        let expected = count.expanded as usize + marks;
        if self.pair.len() != expected {
            return Err(format!("{} entries, expected {expected}", self.pair.len()));
        }
        for (key, entry) in self.pair.iter() {
            let prefix = Prefix::containing(A::from_bits(key.bits(), 0, self.len), self.len);
            let longer = self.len == KEY_BITS && has_longer(rib, prefix);
            let expected = Expanded { longer, ..Expanded::expected(rib, prefix, self.above) };
            if entry != expected {
                return Err(format!("{prefix} leads to {entry:?}, expected {expected:?}"));
            }
        }
        Ok(())
    }
}
