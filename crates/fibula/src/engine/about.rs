//! [`About`]: what an engine says of itself before it is built.

use crate::{Limit, NextHop};
use std::fmt;

/// An engine's description: everything the tools print about it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name users choose it by.
    pub name: &'static str,
    /// Its source: authors, title, where published.
    pub paper: &'static str,
    /// The year of the paper.
    pub year: u16,
    /// How it follows a changing table.
    pub updates: Updates,
    /// What it cannot hold.
    pub limits: &'static [LimitInfo],
    /// What can be set (`name/parameter=value`).
    pub parameters: &'static [ParameterInfo],
    /// Parameters this name fixes, as `dxr16` fixes `k`.
    pub preset: &'static [(&'static str, &'static str)],
}

impl About {
    /// The `what` of the limit on the greatest next-hop index. The framework holds every table and every change
    /// to it, so that engines need not.
    pub const NEXT_HOPS: &'static str = "next hops";

    /// Whether an engine takes this next-hop index.
    ///
    /// # Errors
    /// With the limit, if it is past it.
    pub fn check_next_hop(&self, greatest: NextHop) -> Result<(), Limit> {
        let limit = self.limits.iter().find(|limit| limit.what == Self::NEXT_HOPS);
        limit.map_or(Ok(()), |limit| Limit::check(limit.what, greatest.0.into(), limit.max))
    }
}

/// How an engine follows a changing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// It changes the touched parts.
    InPlace,
    /// It is built anew.
    Rebuild,
}

impl fmt::Display for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InPlace => "in-place",
            Self::Rebuild => "rebuild",
        })
    }
}

/// One thing an engine can hold only so many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitInfo {
    /// What, as in [`Limit`](crate::Limit).
    pub what: &'static str,
    /// How many fit.
    pub max: u64,
}

/// One thing that can be set when an engine is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its name.
    pub name: &'static str,
    /// What it means, with the legal range and the default.
    pub meaning: &'static str,
}
