//! `ledger`: fibula's own engine for tables most of whose routes have one length, such as hosts. An
//! exact match among those goes before another engine, which has all other routes.
//!
//! Switches keep hosts like that: a host table beside a table of longest prefixes.
//!
//! # Layout
//! The *length* of a ledger is the most frequent one of its table. A route of that length with no
//! longer route inside it is an *entry*: where an address is in its prefix, its next hop is the
//! answer. An address in no entry has the answer of the other routes.
//!
//! ```text
//! address    | length: key                    |        |
//!
//! first line  = high half of hash(key) * first lines >> 32
//! second line = low half of hash(key) * second lines >> 32
//!
//!                words of 32 bits
//!                0                              8                           16
//!              +---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! IPv4         | 8 keys                        | 8 next hops                   |    64 bytes
//!              +---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! IPv6 to /64  | 5 keys of 64 bits                     | 5 next hops       | 0 |
//!              +---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! IPv6         | 3 keys of 128 bits                            | 3 hops    | 0 |
//!              +---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! ```
//! - A key is in its first line, or in its second if that was full. So most exact matches read one
//!   cache line. All its keys are compared at once.
//! - An entry whose lines are both full is one of the other routes instead. So nothing probes, and
//!   a table made to meet in few lines is as fast as the engine of the other routes.
//! - The entries of a line have its first slots. A slot without an entry has next hop 0.
//! - The other routes are in [`mosaic`] or [`terrace`].
//!
//! # Worked example
//! 192.0.2.0/24 with next hop 1, 192.0.2.7/32 with 2, 192.0.2.9/32 with 3. The length is 32, and
//! there is one first line:
//!
//! ```text
//! line 0    c0000207 c0000209 0 0 0 0 0 0    2 3 0 0 0 0 0 0        the others: 192.0.2.0/24
//! ```
//! For 192.0.2.9 the second key is equal, and the answer is 3. No key is 192.0.2.8, there or in the
//! second line. So `mosaic` answers, and says 1.
//!
//! # Batches
//! The first line of an address is computed and prefetched one block before it is read. Addresses
//! without an answer are collected. They read their second line together, and those that have no
//! answer then go through the other engine's batch path together.
//!
//! # Updates
//! A change of an entry writes its line. What an entry covers or is covered by is not touched, so
//! neither a default route over a million hosts nor its withdrawal writes one of them. A change of
//! another route is one of the other engine's. An entry that gets a longer route inside it becomes
//! one of the others, and stays one.
//!
//! The table is built again where there are far more or far fewer entries than lines were made for,
//! or where another length has become twice as frequent.
//!
//! # Limits
//! Next hops up to those of `terrace`; its limit on lines holds for the other routes of IPv6.
//!
//! # Design choices
//! - First lines are filled to six of eight keys, 3.6 of five or 1.8 of three. Then one key in
//!   twenty to one in twelve goes to its second line. Two lines that are equal choices would be
//!   fuller, and most lookups would read both.
//! - One length and not several: each further one is a line for every address that is not in an
//!   entry of the others.
//! - Whole keys and not fingerprints: an answer is exact, whatever the address.

mod batch;
mod lines;
mod snapshot;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod view;

pub(crate) use lines::InLines;
pub(crate) use view::LedgerView;

use super::{mosaic, terrace};
use crate::engine::{
    About, Config, Engine, Estimate, Figure, Lengths, Level, LimitInfo, Persistence, Survey, Update, Updates,
    Width,
};
use crate::memory::Memory;
use crate::{Delta, Error, Family, Rib};
use lines::Lines;
use view::Others;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "ledger",
    paper: "fibula's own: exact matches of the most frequent length before the other routes",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: terrace::LINES, max: terrace::LINES_MAX }],
    next_hops_max: terrace::NEXT_HOPS_MAX,
    estimate,
    ..About::DEFAULT
};

/// The share of the routes of one length that are others all the same.
const NO_ENTRY: f32 = 0.02;

/// Estimates the cost of an exact match, and for each address in no entry that of collecting it and
/// of the other engine.
fn estimate(survey: &Survey<'_>, isa: Level) -> Estimate {
    let (length, routes) = survey.lengths().most_frequent();
    let (exact, others) = match survey.family() {
        Family::Ipv4 => (3.2 + wait::<u32>(length, routes), mosaic::ABOUT),
        Family::Ipv6 => {
            let compared = if u128::is_short(length) { 4.5 } else { 5.4 };
            (compared + wait::<u128>(length, routes), terrace::ABOUT)
        }
    };
    let missed = 1.0 - (1.0 - NO_ENTRY) * routes as f32 / survey.routes().max(1) as f32;
    let others = (others.estimate)(&survey.without(length, 1.0 - NO_ENTRY), Level::best());
    let ns = exact + missed * (COLLECTED + others.ns);
    Estimate { ns, bytes: others.bytes + routes * size_of::<lines::Line>() / 4 }.on(isa, 2.0)
}

/// The nanoseconds that it takes to collect an address.
const COLLECTED: f32 = 3.0;

/// Returns the nanoseconds that lookups wait for lines.
fn wait<A: InLines>(length: u8, entries: usize) -> f32 {
    let lines: usize = A::layout(length).lines_for(entries).into_iter().sum();
    let mebibytes = (lines * size_of::<lines::Line>()) as f32 / (1 << 20) as f32;
    0.38 * mebibytes.min(20.0)
}

/// The engine; see the [module](self).
#[derive(Debug)]
pub(crate) struct Ledger<A: InLines, W: Width> {
    view: LedgerView<A, W>,
    /// The routes that are not entries.
    routes: Rib<A>,
    /// The lengths of all routes.
    lengths: Lengths,
}

impl<A: InLines, W: Width> Engine<A> for Ledger<A, W> {
    type View = LedgerView<A, W>;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let lengths = Lengths::of(rib);
        let (length, count) = lengths.most_frequent();
        let length = if count == 0 { A::BITS } else { length };
        let mut lines = Lines::with_room_for(count, length, config.pages);
        let mut routes = rib.iter().peekable();
        let mut is_other = |route: crate::Route<A>, next: Option<&crate::Route<A>>| {
            route.prefix.len() != length
                || next.is_some_and(|next| route.prefix.covers(next.prefix))
                || !lines.set(route.prefix.first(), route.next_hop)
        };
        let others = std::iter::from_fn(|| {
            loop {
                let route = routes.next()?;
                if is_other(route, routes.peek()) {
                    return Some(route);
                }
            }
        });
        let routes: Rib<A> = others.collect();
        let others = Others::Kept(A::Others::build(&routes, config)?);
        Ok(Self { view: LedgerView { lines, length, others }, routes, lengths })
    }

    fn view(&self) -> &LedgerView<A, W> {
        &self.view
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        self.follow(rib, deltas)
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::new().off_chip("exact lines", self.view.lines.bytes());
        let routes = self.routes.len() * size_of::<crate::Route<A>>();
        memory.parts.extend(self.kept().memory().parts);
        memory.off_chip("other routes", routes)
    }

    fn figures(&self) -> Vec<Figure> {
        let length = self.view.length;
        let of_length = self.lengths.count(length);
        let mut figures = vec![
            Figure::count("length", length.into()),
            Figure::count("entries", self.entries()),
            Figure::count("routes of that length that are others", of_length - self.entries()),
            Figure::count("other routes", self.routes.len()),
        ];
        figures.extend(self.kept().figures());
        figures
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.check(rib)
    }

    fn persistence() -> Option<Persistence<Self, A>> {
        Some(Persistence::of_engine())
    }
}

impl<A: InLines, W: Width> Ledger<A, W> {
    /// Returns the number of entries: each route is one, or one of the others.
    fn entries(&self) -> usize {
        self.lengths.routes() - self.routes.len()
    }

    /// Returns the engine of the other routes.
    fn kept(&self) -> &A::Others<W> {
        match &self.view.others {
            Others::Kept(engine) => engine,
            Others::Opened(_) => unreachable!("a table that was opened is no engine"),
        }
    }

    /// As [`kept`](Self::kept), to change it.
    fn kept_mut(&mut self) -> &mut A::Others<W> {
        match &mut self.view.others {
            Others::Kept(engine) => engine,
            Others::Opened(_) => unreachable!("a table that was opened is no engine"),
        }
    }
}
