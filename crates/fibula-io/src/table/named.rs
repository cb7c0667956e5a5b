//! Texts of several tables, of which one is read: VRFs, and the routing tables of a daemon.

use super::builder::{Best, Builder};
use super::hops::Offer;
use crate::{Damage, Kind, Note, Place};
use fibula::IpPrefix;

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

    /// Says how many routes of a table that is not read were left out.
    pub(super) fn left_out(&self, name: &str, count: u64, first: Place) -> Note {
        let what = format!("route of {} {name}", self.kind).into();
        Note { kind: Kind::LeftOut, what, count, first }
    }
}

/// A table with routes.
#[derive(Debug)]
struct Table {
    name: String,
    /// How it is called in a note.
    title: String,
    first: Place,
    routes: u64,
}

/// The routes of several tables, as they come: those of the first table are held as long as it may
/// be the only one.
#[derive(Debug)]
pub(super) struct Tables<'o> {
    choice: Choice<'o>,
    seen: Vec<Table>,
    held: Option<Best<bool>>,
}

impl<'o> Tables<'o> {
    pub(super) fn new(choice: Choice<'o>) -> Self {
        Self { choice, seen: Vec::new(), held: None }
    }

    /// Counts a route, or prefix, of a table. Returns whether it is read, or held.
    pub(super) fn take(&mut self, name: &str, title: &str, place: Place) -> bool {
        let known = self.seen.iter().position(|table| table.name == name);
        let at = known.unwrap_or(self.seen.len());
        let is_wanted = self.choice.is_wanted(name);
        if known.is_none() {
            let may_be_only = at == 0 && self.choice.asked.is_none() && !is_wanted;
            self.held = may_be_only.then(Best::new);
            let (name, title) = (name.to_owned(), title.to_owned());
            self.seen.push(Table { name, title, first: place, routes: 0 });
        }
        self.seen[at].routes += 1;
        is_wanted || self.held.is_some()
    }

    /// Adds a route of the table that was [taken](Self::take) last.
    pub(super) fn offer(
        &mut self,
        place: Place,
        prefix: IpPrefix,
        offer: impl Into<Offer>,
        builder: &mut Builder,
    ) -> Result<(), Damage> {
        match &mut self.held {
            Some(held) => {
                held.offer(place, prefix, false, offer);
                builder.beside(place, held.bytes())
            }
            None => builder.offer(place, prefix, offer.into()),
        }
    }

    /// Adds the routes that are held, if they are of the only table. Counts those of tables that
    /// are not read.
    pub(super) fn finish(self, builder: &mut Builder) -> Result<(), Damage> {
        if let Some(held) = self.held {
            return held.finish(builder);
        }
        let names: Vec<&str> = self.seen.iter().map(|table| &*table.name).collect();
        let chosen = match self.choice.chosen(&names) {
            Ok(chosen) => chosen,
            Err(damage) => return builder.damaged(damage),
        };
        let others = self.seen.iter().zip(chosen).filter(|(_, is_read)| !is_read);
        let note = |(table, _): (&Table, bool)| self.choice.left_out(&table.title, table.routes, table.first);
        builder.notes(others.map(note))
    }
}
