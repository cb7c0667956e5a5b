//! `fibula engines`: the engines and their limits.

use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::Family;
use fibula::engine::{Entry, LimitInfo, WidthBits};
use serde::Serialize;
use std::collections::BTreeMap;

/// List the lookup engines, one row per engine and address family
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// One engine for one family.
#[derive(Debug, Serialize)]
struct Row {
    engine: &'static str,
    family: String,
    paper: &'static str,
    year: u16,
    updates: String,
    next_hop_bits: Vec<u8>,
    limits: BTreeMap<&'static str, u64>,
}

impl Row {
    fn new(entry: &Entry, family: Family) -> Self {
        let about = entry.about;
        Self {
            engine: about.name,
            family: family.to_string(),
            paper: about.paper,
            year: about.year,
            updates: about.updates.to_string(),
            next_hop_bits: WidthBits::ALL.map(WidthBits::bits).to_vec(),
            limits: about.all_limits().map(|LimitInfo { what, max }| (what, max)).collect(),
        }
    }
}

impl Arguments {
    #[allow(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let rows = registry::engines()
            .iter()
            .flat_map(|entry| entry.families().map(|family| Row::new(entry, family)));
        output.rows(rows)?;
        Ok(Verdict::Good)
    }
}
