//! Where the layouts of routers' text put what they read: the tables of a text, the route that is
//! open, and the account of its lines.

use super::super::builder::{Best, Builder};
use super::super::hops::{self, Hop, Offer, Origins};
use super::super::layouts::Lines;
use super::super::named::{Choice, left_out};
use super::super::{ReadOptions, Value};
use super::marks::State;
use crate::report::Kind;
use crate::scan::utf8;
use crate::{Damage, Note, Place, Report};
use fibula::{IpPrefix, NextHopInfo};
use std::borrow::Cow;

/// What a line was.
#[derive(Debug)]
pub(in super::super) enum Line {
    /// All of it was understood.
    Used,
    /// As [`Used`](Self::Used), and it says nothing of routes: a heading, the explanation of marks.
    Aside,
    Blank,
    /// It is counted later.
    Held,
    /// It is left out, for this reason: it is not understood.
    Unknown(String),
    /// It is left out, for this reason, and says nothing of whether the layout is the right one.
    Told(String),
}

impl From<Result<(), String>> for Line {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Used,
            Err(what) if what == REST => Self::Told(what),
            Err(what) => Self::Unknown(what),
        }
    }
}

/// A route whose next hops may still follow.
#[derive(Debug)]
pub(in super::super) struct Route {
    pub(in super::super) line: Place,
    pub(in super::super) prefix: IpPrefix,
    pub(in super::super) state: State,
    /// Of several routes to a prefix the lowest is taken, the first of equals.
    pub(in super::super) rank: u64,
    pub(in super::super) hops: Vec<(Hop, State)>,
    pub(in super::super) origin: Option<NextHopInfo>,
    pub(in super::super) peer: Option<NextHopInfo>,
    /// The value that is wanted, or why there is none, in layouts that tell more than next hops.
    pub(in super::super) value: Option<Result<NextHopInfo, &'static str>>,
}

impl Route {
    /// A route that is used, without next hops yet.
    pub(in super::super) fn new(line: Place, prefix: IpPrefix) -> Self {
        let (hops, origin, peer, value) = (Vec::new(), None, None, None);
        Self { line, prefix, state: State::Used, rank: 0, hops, origin, peer, value }
    }
}

/// One table of a text.
#[derive(Debug)]
struct Table {
    name: String,
    /// How it is called in a note.
    title: String,
    /// Whether it is an address family of other routes than those that are looked for.
    is_other: bool,
    first: Place,
    routes: u64,
    best: Best<u64>,
    /// Whether any route is selected.
    has_selected: bool,
    /// The prefixes with routes that are not.
    candidates: Vec<(Place, IpPrefix)>,
    /// What is left out of it.
    report: Report,
    lines: u64,
    unknown: u64,
    /// The lines that are left out of it, also of an explanation of marks.
    told: u64,
    first_unknown: Option<(Place, String)>,
}

impl Table {
    fn bytes(&self) -> u64 {
        self.best.bytes() + (self.candidates.len() * 2 * size_of::<(Place, IpPrefix)>()) as u64
    }
}

/// Why a prefix is left out all of whose routes are [candidates](State::Candidate).
const WITHOUT_SELECTED: &str = "prefix without a selected route";

/// What is told of the lines after one that is left out, which are its next hops.
pub(in super::super) const REST: &str = "line of a route that is left out";

/// The most reasons that name what they found. The others are counted as one.
const NAMED: usize = 24;

/// What most of a text was, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) used: u64,
    /// Those of the used ones that are of routes.
    pub(crate) of_routes: u64,
    pub(crate) blank: u64,
    pub(crate) told: u64,
}

/// The routes of a text.
#[derive(Debug)]
pub(in super::super) struct Sink<'o> {
    pub(in super::super) options: &'o ReadOptions,
    pub(in super::super) choice: Choice<'o>,
    /// Whether the text tells origins and peers.
    pub(in super::super) tells_origins: bool,
    /// Whether routes to one prefix that follow one another are one route.
    pub(in super::super) merges: bool,
    tables: Vec<Table>,
    now: usize,
    open: Option<Route>,
    origins: Origins,
    pub(in super::super) account: Account,
}

impl<'o> Sink<'o> {
    /// Begins with a table that has the first usual name, or the one that is asked for.
    pub(in super::super) fn new(options: &'o ReadOptions, choice: Choice<'o>) -> Self {
        let (tables, now, open, account) = (Vec::new(), 0, None, Account::default());
        let (tells_origins, merges, origins) = (false, false, Origins::default());
        let mut sink = Self { options, choice, tells_origins, merges, tables, now, open, origins, account };
        sink.table(choice.usual.last().copied().unwrap_or_default());
        sink
    }

    /// Reads each line, and refuses a text of which most is not understood.
    pub(in super::super) fn each_line(
        &mut self,
        lines: &mut Lines<'_>,
        builder: &mut Builder,
        mut read: impl FnMut(&mut Self, Place, &str) -> Line,
    ) -> Result<(), Damage> {
        lines.each_line(|number, line| {
            let place = Place::Line(number);
            match line.and_then(utf8) {
                Ok(line) => {
                    let line = read(self, place, line);
                    self.count(place, line);
                    self.beside(place, builder)
                }
                Err(what) => builder.damaged(Damage { place, what }),
            }
        })
    }

    /// Looks whether there is memory for the routes.
    pub(in super::super) fn beside(&self, place: Place, builder: &Builder) -> Result<(), Damage> {
        builder.beside(place, self.tables.iter().map(Table::bytes).sum())
    }

    /// Accounts for a line.
    pub(in super::super) fn count(&mut self, place: Place, line: Line) {
        let table = &mut self.tables[self.now];
        // A prefix with host bits is understood, and cannot be taken.
        let is_odd = matches!(line, Line::Unknown(_));
        let is_unknown = matches!(&line, Line::Unknown(what) if !what.ends_with("(host bits)"));
        match line {
            Line::Used => {
                self.account.used += 1;
                self.account.of_routes += 1;
                table.lines += 1;
            }
            Line::Aside => self.account.used += 1,
            Line::Held => {}
            Line::Blank => self.account.blank += 1,
            Line::Unknown(what) | Line::Told(what) => {
                self.account.told += 1;
                table.told += u64::from(what != REST);
                table.unknown += u64::from(is_unknown);
                if table.routes == 0 && table.first == Place::Line(1) {
                    table.first = place;
                }
                if is_odd {
                    table.first_unknown.get_or_insert_with(|| (place, what.clone()));
                }
                let is_named = table.report.notes.len() < NAMED
                    || table.report.notes.iter().any(|note| note.what == what);
                let what = if is_named { what } else { "other unknown marks".to_owned() };
                table.report.note(Kind::LeftOut, what, place);
            }
        }
    }

    /// Goes to a table of this name.
    pub(in super::super) fn table(&mut self, name: &str) {
        if !self.is_at(name) {
            self.titled(name, &format!("{} {name}", self.choice.kind));
        }
    }

    fn is_at(&self, name: &str) -> bool {
        self.tables.get(self.now).is_some_and(|table| table.name == name)
    }

    /// Goes to the routes of an address family that are not those of unicast. They are read where
    /// the name is asked for, and never because there are no others.
    pub(in super::super) fn family(&mut self, name: &str) {
        self.titled(name, &format!("address family {name}"));
        self.tables[self.now].is_other = true;
    }

    /// As [`table`](Self::table). `title` is what a note calls it.
    pub(in super::super) fn titled(&mut self, name: &str, title: &str) {
        if self.is_at(name) {
            return;
        }
        self.close();
        self.end_origins();
        let known = self.tables.iter().position(|table| table.name == name);
        self.now = known.unwrap_or(self.tables.len());
        if known.is_none() {
            self.tables.push(Table {
                name: name.to_owned(),
                title: title.to_owned(),
                is_other: false,
                first: Place::Line(1),
                routes: 0,
                best: Best::new(),
                has_selected: false,
                candidates: Vec::new(),
                report: Report::default(),
                lines: 0,
                unknown: 0,
                told: 0,
                first_unknown: None,
            });
        }
    }

    /// Begins a route.
    pub(in super::super) fn open(&mut self, route: Route) {
        if let Some(open) = &mut self.open
            && self.merges
            && (open.prefix, open.state, open.rank) == (route.prefix, route.state, route.rank)
        {
            open.hops.extend(route.hops);
            return;
        }
        self.close();
        self.open = Some(route);
    }

    /// Returns the route that is open.
    pub(in super::super) fn route(&mut self) -> Option<&mut Route> {
        self.open.as_mut()
    }

    /// Counts something that is left out of the present table.
    pub(in super::super) fn left_out(&mut self, place: Place, what: impl Into<Cow<'static, str>>) {
        self.tables[self.now].report.note(Kind::LeftOut, what, place);
    }

    /// Counts something that is taken as the reader understands it.
    pub(in super::super) fn guessed(&mut self, place: Place, what: &'static str) {
        self.tables[self.now].report.note(Kind::Guessed, what, place);
    }

    /// Ends the route that is open.
    pub(in super::super) fn close(&mut self) {
        let Some(mut route) = self.open.take() else { return };
        let table = &mut self.tables[self.now];
        if table.routes == 0 && table.first_unknown.is_none() {
            table.first = route.line;
        }
        table.routes += 1;
        if self.options.value == Value::Origins && self.tells_origins {
            if self.origins.is_other(route.prefix) {
                self.end_origins();
            }
            self.origins.push(route.line, route.prefix, route.origin);
            return;
        }
        if route.state == State::Candidate {
            if table.candidates.last().is_none_or(|(_, prefix)| *prefix != route.prefix) {
                table.candidates.push((route.line, route.prefix));
            }
            return;
        }
        table.has_selected = true;
        if let Some(why) = route.state.of_route() {
            return self.left_out(route.line, why);
        }
        let (used, other): (Vec<_>, Vec<_>) =
            route.hops.drain(..).partition(|(_, state)| *state == State::Used);
        let offer = match self.options.value {
            _ if route.value.is_some() => route.value.map_or(Err(""), |value| value.map(Offer::from)),
            Value::OriginAs if self.tells_origins => {
                route.origin.map(Offer::from).ok_or("route without an origin AS")
            }
            Value::Peer if self.tells_origins => {
                route.peer.map(Offer::from).ok_or("route without a known peer")
            }
            _ => {
                for why in other.iter().filter_map(|(_, state)| state.of_hop()) {
                    if !used.is_empty() || why == hops::DEAD {
                        self.left_out(route.line, why);
                    }
                }
                let mut hops: Vec<Hop> = Vec::with_capacity(used.len());
                for (hop, _) in used {
                    if !hops.iter().any(|known| known.info == hop.info) {
                        hops.push(hop);
                    }
                }
                let why = other.first().and_then(|(_, state)| state.of_route());
                match hops::offer(&hops, self.options.value) {
                    None if why == Some(hops::DEAD) => return,
                    offer => offer.ok_or(why.unwrap_or("route without a next hop")),
                }
            }
        };
        match offer {
            Ok(offer) => self.tables[self.now].best.offer(route.line, route.prefix, route.rank, offer),
            Err(why) => self.left_out(route.line, why),
        }
    }

    /// Ends the routes of a prefix whose origins are wanted.
    fn end_origins(&mut self) {
        match self.origins.take() {
            Some((place, prefix, Some(list))) => self.tables[self.now].best.offer(place, prefix, 0, list),
            Some((place, _, None)) => self.left_out(place, "prefix without an origin AS"),
            None => {}
        }
    }

    /// Adds the routes of the tables that are wanted, and tells what is left out of them. Refuses a
    /// text of which most lines are not understood.
    pub(in super::super) fn finish(mut self, builder: &mut Builder) -> Result<(), Damage> {
        self.close();
        self.end_origins();
        builder.account = self.account;
        let is_one = |table: &Table| table.routes > 0 || table.first_unknown.is_some();
        for table in self.tables.iter_mut().filter(|table| !is_one(table)) {
            // What is before the first table of a text.
            builder.notes(std::mem::take(&mut table.report.notes))?;
        }
        self.tables.retain(is_one);
        let may_be_read = |table: &Table| !table.is_other || self.choice.asked == Some(&table.name);
        let names: Vec<&str> = { self.tables.iter() }.filter(|t| may_be_read(t)).map(|t| &*t.name).collect();
        if let (true, Some(table)) = (names.is_empty(), self.tables.first()) {
            let what = format!("all routes are of {}, which is read by --vrf", table.title);
            return Err(Damage { place: table.first, what });
        }
        let mut chosen = match self.choice.chosen(&names) {
            Ok(chosen) => chosen.into_iter(),
            Err(damage) => return builder.damaged(damage),
        };
        let is_read = |table| may_be_read(table) && chosen.next().unwrap_or_default();
        let chosen: Vec<bool> = self.tables.iter().map(is_read).collect();
        let (mut lines, mut unknown, mut routes, mut first) = (0, 0, 0, None);
        for (table, _) in self.tables.iter().zip(&chosen).filter(|(_, is_read)| **is_read) {
            lines += table.lines + table.unknown;
            unknown += table.unknown;
            routes += table.routes;
            first = first.or_else(|| table.first_unknown.clone());
        }
        if let Some((place, what)) = first.filter(|_| 2 * unknown > lines || routes == 0) {
            let what = match unknown {
                0 => what,
                _ => format!("{what}; {unknown} of {lines} lines are not understood"),
            };
            return Err(Damage { place, what });
        }
        let is_chosen = || self.tables.iter().zip(&chosen).filter(|(_, is_read)| **is_read);
        if let Some((place, _)) = is_chosen().find_map(|(table, _)| table.candidates.first())
            && is_chosen().all(|(table, _)| !table.has_selected && table.best.is_empty())
        {
            let what = format!("each {WITHOUT_SELECTED}");
            return Err(Damage { place: *place, what });
        }
        for (table, is_read) in self.tables.into_iter().zip(chosen) {
            if is_read {
                let mut table = table;
                for (place, _) in table.candidates.iter().filter(|(_, prefix)| !table.best.has(prefix)) {
                    table.report.note(Kind::LeftOut, WITHOUT_SELECTED, *place);
                }
                builder.notes(table.report.notes)?;
                table.best.finish(builder)?;
            } else {
                let (title, routes, first) = (&table.title, table.routes, table.first);
                builder.notes((routes > 0).then(|| left_out(title, routes, first)))?;
                let what = format!("line of {title} that is not understood").into();
                let note = Note { kind: Kind::LeftOut, what, count: table.told, first };
                builder.notes((table.told > 0).then_some(note))?;
            }
        }
        Ok(())
    }
}
