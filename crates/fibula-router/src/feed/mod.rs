//! What routes come from: [`fpm`] reads what zebra says, [`kernel`] follows rtnetlink, [`table`]
//! reads a file. [`bfd`] says which of their gateways have failed.
//!
//! A feed has a thread that always reads, so that its sender never waits. What it reads goes to a
//! [`Queue`], where a later message about the same route replaces the earlier one. So the memory of
//! the queue is bounded by the size of the tables, and the control applies what is there at its own
//! pace.
//!
//! A feed that connects again, or that must ask for everything again, begins a new [`Session`]. Its
//! sender then says again what still holds. What it did not say again is removed at the end
//! ([`Mark`]).

pub mod bfd;
pub mod fpm;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod kernel;
mod queue;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod table;
#[doc(hidden)]
pub mod writer;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod zebra;

pub use queue::{Batch, Mark, ObjectKey, Queue, Request, RouteKey, RouteUpdate, Stamped};

use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of source. The order decides between routes of the same metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feed {
    /// zebra's forwarding plane manager.
    Fpm,
    /// The kernel's own routes, links and neighbours.
    Kernel,
    /// A table in a file.
    Table,
}

impl Feed {
    /// All feeds.
    pub const ALL: [Self; 3] = [Self::Fpm, Self::Kernel, Self::Table];

    /// Returns whether routes of one prefix that differ in their metric are different routes. FPM
    /// has one route a prefix, and a replacement may have another metric.
    pub(crate) fn has_metrics(self) -> bool {
        self == Self::Kernel
    }
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fpm => "fpm",
            Self::Kernel => "kernel",
            Self::Table => "table",
        })
    }
}

/// A stretch in which a feed told its changes without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// The feed.
    pub feed: Feed,
    /// Counts the sessions of this feed, from 1 on.
    pub number: u32,
}
