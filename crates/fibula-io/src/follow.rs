//! [`Followed`]: the tables of routers as their peers change them.

use crate::mrt::{Event, Outcome, Paths, PeerChoice};
use crate::table::Value;
use crate::{Budget, Bytes};
use fibula::{IpPrefix, NextHopInfo};
use std::collections::HashMap;

/// The present routes of several routers, each with the paths of its peers: one entry a prefix, and
/// 16 bytes for each path. Equal values are stored once a router.
///
/// The best path of a prefix has the shortest AS path, and among those the peer with the lowest
/// address, as in [`ReadOptions::peer`](crate::table::ReadOptions::peer).
#[derive(Debug)]
pub struct Followed {
    choice: PeerChoice,
    value: Value,
    memory: u64,
    routers: HashMap<String, Paths>,
    /// The events since memory was counted.
    uncounted: u32,
}

impl Followed {
    /// Follows the routes of `peer`, of all if not named, with values of this kind.
    ///
    /// # Errors
    /// If `peer` is neither an address nor an AS number.
    pub fn new(peer: Option<&str>, value: Value, budget: Budget) -> Result<Self, String> {
        let choice = PeerChoice::parse(peer)?;
        Ok(Self { choice, value, memory: budget.memory, routers: HashMap::new(), uncounted: 0 })
    }

    /// Applies an event of a router. Calls `changed` for each prefix that it touches, with the
    /// value of its best path, or `None` if there is none left.
    ///
    /// # Errors
    /// If all routes together take more than the budget. The event was applied.
    pub fn play(
        &mut self,
        router: &str,
        event: &Event,
        mut changed: impl FnMut(IpPrefix, Option<&NextHopInfo>),
    ) -> Result<(), String> {
        const COUNT_EVERY: u32 = 1024;
        if !self.routers.contains_key(router) {
            let paths = Paths::new(self.choice, self.value).keeping_all(true);
            self.routers.insert(router.to_owned(), paths);
        }
        let Some(paths) = self.routers.get_mut(router) else { return Ok(()) };
        let mut outcomes = Vec::new();
        paths.play(event, |prefix, outcome| outcomes.push((prefix, outcome)));
        for (prefix, outcome) in outcomes {
            changed(
                prefix,
                match outcome {
                    Outcome::Announced(value) => Some(paths.value(value)),
                    Outcome::Withdrawn => None,
                },
            );
        }
        self.uncounted += 1;
        if self.uncounted < COUNT_EVERY {
            return Ok(());
        }
        self.uncounted = 0;
        if self.bytes() > self.memory {
            return Err(format!("the routes take more than {} of memory, the limit", Bytes(self.memory)));
        }
        Ok(())
    }

    /// Forgets the routes of a router. Returns the number of its prefixes.
    pub fn forget(&mut self, router: &str) -> usize {
        self.routers.remove(router).map_or(0, |paths| paths.len())
    }

    /// Returns the bytes that all routes take, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.routers.values().map(Paths::bytes).sum()
    }

    /// Returns the number of prefixes of a router.
    #[must_use]
    pub fn len(&self, router: &str) -> usize {
        self.routers.get(router).map_or(0, Paths::len)
    }
}
