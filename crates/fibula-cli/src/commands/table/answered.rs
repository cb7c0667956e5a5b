//! [`Answered`]: a table whose values are answers to a question about its routes.

use crate::output::Output;
use crate::writing::Writing;
use clap::Args;
use fibula::{IpPrefix, NextHop, NextHopInfo, NextHops, Route};
use fibula_io::table::Tables;
use hashbrown::HashMap;
use serde::Serialize;
use std::hash::Hash;

/// What is written of the answers.
#[derive(Debug, Args)]
pub(super) struct Answering {
    /// Print how many routes have each answer, a row for each family, and not the routes
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    writing: Writing,
}

/// The routes that were answered. Equal answers `K` to routes with the same next hop are one value.
pub(super) struct Answered<K> {
    ipv4: Vec<Route<u32>>,
    ipv6: Vec<Route<u128>>,
    next_hops: NextHops,
    known: HashMap<(NextHop, K), NextHop>,
}

impl<K: Eq + Hash> Answered<K> {
    pub(super) fn new() -> Self {
        let (ipv4, ipv6) = (Vec::new(), Vec::new());
        Self { ipv4, ipv6, next_hops: NextHops::new(), known: HashMap::new() }
    }

    /// Adds a route. `value` is its value, the JSON of an object.
    pub(super) fn add(
        &mut self,
        prefix: IpPrefix,
        next_hop: NextHop,
        answer: K,
        value: impl FnOnce(&K) -> String,
    ) -> anyhow::Result<()> {
        let key = (next_hop, answer);
        let next_hop = if let Some(&next_hop) = self.known.get(&key) {
            next_hop
        } else {
            let next_hop = self.next_hops.intern(NextHopInfo::Label(value(&key.1).into()))?;
            self.known.insert(key, next_hop);
            next_hop
        };
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.push(Route { prefix, next_hop }),
            IpPrefix::V6(prefix) => self.ipv6.push(Route { prefix, next_hop }),
        }
        Ok(())
    }
}

impl Answering {
    /// Writes the routes, or the counts of the families that have some.
    pub(super) fn finish<K, R: Serialize>(
        &self,
        answered: Answered<K>,
        counts: impl IntoIterator<Item = R>,
        output: &Output,
    ) -> anyhow::Result<()> {
        if self.count {
            return output.rows(counts);
        }
        let Answered { ipv4, ipv6, next_hops, .. } = answered;
        let tables = Tables { ipv4: ipv4.into_iter().collect(), ipv6: ipv6.into_iter().collect(), next_hops };
        self.writing.write(&tables, output)
    }
}
