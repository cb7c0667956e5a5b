//! [`About`]: an engine's description of itself, known before it is built.

use super::{Estimate, Survey, WidthBits};
use crate::arch::Level;
use crate::{Limit, NextHop};
use std::fmt;

/// An engine's description: everything the tools print about it, and what [`best`](super::BEST)
/// decides by.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name by which users choose it.
    pub name: &'static str,
    /// Its source: authors, title, where published.
    pub paper: &'static str,
    /// The year of the paper.
    pub year: u16,
    /// How it follows a changing table.
    pub updates: Updates,
    /// The greatest next-hop index it can hold. The framework checks every table and every change
    /// against it, so that engines need not.
    pub next_hops_max: u32,
    /// The narrowest answers that it has where no width is asked for. Narrow answers take fewer
    /// bytes, and a batch of 32 bits turns each of them into a wide one.
    pub least_width: WidthBits,
    /// Its other capacities.
    pub limits: &'static [LimitInfo],
    /// The parameters that can be set (`name/parameter=value`).
    pub parameters: &'static [ParameterInfo],
    /// The parameters that this name fixes, as `dxr16` fixes `k`.
    pub preset: &'static [(&'static str, &'static str)],
    /// What it would cost for a table with an instruction set, which `best` compares.
    pub estimate: fn(&Survey<'_>, Level) -> Estimate,
}

impl About {
    /// A description without a name, limits or parameters, of an engine that is rebuilt for each
    /// change and was never measured. Descriptions begin with it (`..About::DEFAULT`).
    pub const DEFAULT: Self = Self {
        name: "",
        paper: "",
        year: 0,
        updates: Updates::Rebuild,
        next_hops_max: u32::MAX,
        least_width: WidthBits::U8,
        limits: &[],
        parameters: &[],
        preset: &[],
        estimate: |_, _| Estimate::UNKNOWN,
    };

    /// Checks that an engine holds this next-hop index.
    ///
    /// # Errors
    /// Returns the limit, if it does not.
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
    /// It is rebuilt.
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

/// A capacity of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitInfo {
    /// What is counted, as in [`Limit`](crate::Limit).
    pub what: &'static str,
    /// The greatest number that fits.
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
