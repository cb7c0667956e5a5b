//! [`About`]: what an engine says of itself before it is built.

use crate::{Family, Limit, NextHop};
use std::fmt;

/// An engine's description: everything the tools print about it, and what [`best`](super::BEST) goes by.
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
    /// The greatest next-hop index it can hold. The framework holds every table and every change to it, so that engines
    /// need not.
    pub next_hops_max: u32,
    /// What else it can hold only a number of.
    pub limits: &'static [LimitInfo],
    /// What can be set (`name/parameter=value`).
    pub parameters: &'static [ParameterInfo],
    /// Parameters this name fixes, as `dxr16` fixes `k`.
    pub preset: &'static [(&'static str, &'static str)],
    /// What a lookup costs in the slowest of its traces, in nanoseconds on a full table: what `best` compares.
    pub cost: fn(Shape) -> f32,
}

/// What a table is like, as far as the cost of a lookup depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its family.
    pub family: Family,
    /// Its routes.
    pub routes: usize,
    /// Those of them that are longer than /48.
    pub longer_than_48: usize,
}

impl Shape {
    /// Returns the share of routes that are longer than /48, 0 to 1.
    #[must_use]
    pub fn share_longer_than_48(self) -> f32 {
        self.longer_than_48 as f32 / self.routes.max(1) as f32
    }
}

impl About {
    /// An engine without a name, limits or parameters that is built again for each change, and whose cost nobody has
    /// measured: what a description begins with (`..About::DEFAULT`).
    pub const DEFAULT: Self = Self {
        name: "",
        paper: "",
        year: 0,
        updates: Updates::Rebuild,
        next_hops_max: u32::MAX,
        limits: &[],
        parameters: &[],
        preset: &[],
        cost: |_| Self::UNKNOWN_COST,
    };

    /// The cost of an engine that has not been measured: more than that of any that has.
    pub const UNKNOWN_COST: f32 = 1e6;

    /// The cost of an engine that is there to judge others: it is taken where no other holds the table.
    pub const JUDGE_COST: f32 = f32::INFINITY;

    /// Checks that an engine holds this next-hop index.
    ///
    /// # Errors
    /// With the limit, if it does not.
    pub fn check_next_hop(&self, greatest: NextHop) -> Result<(), Limit> {
        Limit::check(Limit::NEXT_HOPS, greatest.0.into(), self.next_hops_max.into())
    }

    /// Returns all limits, that on next hops first if there is one.
    pub fn all_limits(&self) -> impl Iterator<Item = LimitInfo> {
        let next_hops = LimitInfo { what: Limit::NEXT_HOPS, max: self.next_hops_max.into() };
        let next_hops = (self.next_hops_max < u32::MAX).then_some(next_hops);
        next_hops.into_iter().chain(self.limits.iter().copied())
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
