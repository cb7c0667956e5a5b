//! The suite of tests that every engine passes, whichever crate it is in.
//!
//! [`suite!`] stamps it on the engines of a [registry](fibula::registry!): a test each for an
//! engine, a family and, where that matters, a width of the answers. Each runs every instruction
//! set of this machine and many batch sizes (see [`Checked::check`](checked::Checked::check)). The
//! judge is the oracle.
//!
//! ```text
//! // tests/suite.rs of a crate with engines
//! fibula_suite::suite!(fibula::for_each_engine, fibula::engine::ENGINES);
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, clippy::must_use_candidate, reason = "these are tests")]

pub mod checked;
pub mod churn;
pub mod named_bugs;
pub mod snapshots;
#[macro_use]
mod stamp;
pub mod tables;
pub mod timeline;

pub use stamp::{ipv4, ipv6};

use fibula::engine::{Config, Entry, WidthBits, find};
use fibula::{Fib, NextHop, Rib};
use std::fmt;

/// An engine that the suite runs on: its name, and the list that it is in.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The engines among which the name is found.
    pub engines: &'static [Entry],
    /// The name of one of them, and its parameters.
    pub name: String,
}

impl Subject {
    /// Returns the engine of a registry's identifier: `dir24_8` is `dir24-8`.
    #[must_use]
    pub fn named(engines: &'static [Entry], identifier: &str) -> Self {
        Self { engines, name: identifier.replace('_', "-") }
    }

    fn entry(&self) -> &'static Entry {
        let name = self.name.split('/').next().unwrap_or_default();
        find(self.engines, name).expect("an engine of the list")
    }

    /// Returns the narrowest width that this engine can be asked for.
    pub(crate) fn narrowest(&self) -> WidthBits {
        self.entry().one_width().unwrap_or(WidthBits::U8)
    }

    /// Returns the width that this engine takes for a table with this greatest next hop.
    pub(crate) fn width_for(&self, greatest: NextHop) -> WidthBits {
        let least = Ord::max(self.narrowest(), self.entry().about.least_width);
        Ord::max(least, WidthBits::holding(greatest))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// Checks that the suite was stamped on all `engines`, each with its families, and that each with
/// several widths refuses more next hops than one holds.
///
/// # Panics
/// If not.
pub fn covers(stamped: &[(&str, &[&str])], engines: &'static [Entry]) {
    assert_eq!(stamped.len(), engines.len());
    let rib: (Rib<u32>, Rib<u128>) = (tables::hosts(256, 256), tables::hosts(256, 256));
    for (&(identifier, families), entry) in stamped.iter().zip(engines) {
        let name = entry.about.name;
        assert_eq!(Subject::named(engines, identifier).name, name);
        assert_eq!(families, entry.families().map(|family| family.to_string()).collect::<Vec<_>>());
        assert!(!entry.about.paper.is_empty(), "{name}");
        if entry.one_width().is_some() {
            continue;
        }
        let mut config = Config::default();
        config.width = Some(WidthBits::U8);
        let refused = match entry.ipv4 {
            Some(_) => Fib::build_from(engines, name, &rib.0, config).map(|_| ()),
            None => Fib::build_from(engines, name, &rib.1, config).map(|_| ()),
        };
        assert_eq!(
            refused.unwrap_err().to_string(),
            "next hops: 256 is more than the 255 that fit",
            "{name}"
        );
    }
}
