//! Texts of several tables, of which one is read: VRFs, and the routing tables of a daemon.

use crate::{Damage, Kind, Note, Place};

/// Which of several tables is read: the one that is asked for; else those with a usual name; else,
/// where there is one only, that one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'o> {
    /// What tables are called: `VRF` or `table`.
    pub(super) kind: &'static str,
    /// The option that asks for one.
    pub(super) option: &'static str,
    pub(super) asked: Option<&'o str>,
    /// The usual names, the one that is named in an error first.
    pub(super) usual: &'static [&'static str],
}

impl<'o> Choice<'o> {
    /// The VRF that is asked for, or `default`.
    pub(super) fn of_vrf(asked: Option<&'o str>) -> Self {
        Self { kind: "VRF", option: "--vrf", asked, usual: &["default"] }
    }

    /// Returns whether a table is read whatever others there are.
    pub(super) fn is_wanted(&self, name: &str) -> bool {
        self.asked.map_or_else(|| self.usual.contains(&name), |asked| name == asked)
    }

    /// Returns of each of the tables whether it is read.
    ///
    /// # Errors
    /// If none is. The message lists those that there are.
    pub(super) fn chosen(&self, names: &[&str]) -> Result<Vec<bool>, Damage> {
        let chosen: Vec<bool> = names.iter().map(|name| self.is_wanted(name)).collect();
        let Self { kind, option, .. } = self;
        let there = names.join(", ");
        match (self.asked, names) {
            _ if chosen.contains(&true) => Ok(chosen),
            (Some(asked), _) => Err(Damage::line(1, format!("no {kind} {asked} (there are {there})"))),
            (None, [] | [_]) => Ok(vec![true; names.len()]),
            (None, _) => {
                let usual = self.usual[0];
                Err(Damage::line(1, format!("no {kind} {usual}, name one of {there} by {option}")))
            }
        }
    }
}

/// Says how many routes of a table that is not read were left out. `title` is `VRF red`.
pub(super) fn left_out(title: &str, count: u64, first: Place) -> Note {
    Note { kind: Kind::LeftOut, what: format!("route of {title}").into(), count, first }
}
