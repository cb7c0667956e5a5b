//! [`Builder`]: where a reader puts the routes it finds.

use super::columns::LISTED;
use super::fields::{self, Column};
use super::hops::Offer;
use super::layouts::Lines;
use super::locations::Join;
use super::router::sink::Account;
use super::routes::Routes;
use super::{ReadOptions, Tables};
use crate::blocks::record;
use crate::report::{Kind, Note};
use crate::rov::Payloads;
use crate::scan::utf8;
use crate::{Budget, Bytes, Damage, Place, Report};
use fibula::{IpPrefix, NextHop, NextHopInfo, NextHops, Route};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Routes in the order they were found, and the damage on the way.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) ipv4: Routes<u32>,
    pub(super) ipv6: Routes<u128>,
    pub(super) next_hops: NextHops,
    pub(super) damage: Vec<Damage>,
    pub(super) report: Report,
    /// The columns of values that have several fields; none where a value is one text.
    pub(super) columns: Vec<Column>,
    /// Where RPKI payloads go, if a table of them is not wanted.
    pub(super) payloads: Option<Payloads>,
    /// The lines of routers' text, by what became of them.
    pub(super) account: Account,
    /// Which paths of BGP are kept.
    pub(super) kept: Kept,
    /// The file that is read, if it is one.
    pub(super) source: Option<PathBuf>,
    keep_going: bool,
    strict: bool,
    budget: Budget,
    /// The bytes of the next hops, and of what is held as a whole.
    held: u64,
}

/// The bytes that a route of each family counts: see [`Budget`].
const ROUTE_BYTES: (u64, u64) = (4 * size_of::<Route<u32>>() as u64, 4 * size_of::<Route<u128>>() as u64);

/// Returns the bytes of a next hop: in the list, in the map of those that are known, and its text.
fn bytes_of(info: &NextHopInfo) -> u64 {
    let text = match info {
        NextHopInfo::Label(text) | NextHopInfo::Gateway { interface: Some(text), .. } => text.len(),
        _ => 0,
    };
    (3 * size_of::<NextHopInfo>() + text) as u64
}

/// Which paths of BGP are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    /// Of a dump those alone that the answers need.
    #[default]
    Chosen,
    All,
    /// Those were too few: the source must be read again with all of them.
    TooFew,
}

/// Why a reader cannot go on with what it is at.
#[derive(Debug)]
pub(super) enum Trouble {
    /// What is wrong here. Reading may go on after it.
    Here(String),
    /// Reading ends.
    Stop(Damage),
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self::Here(what)
    }
}

impl From<&str> for Trouble {
    fn from(what: &str) -> Self {
        Self::Here(what.to_owned())
    }
}

impl From<Damage> for Trouble {
    fn from(damage: Damage) -> Self {
        Self::Stop(damage)
    }
}

impl Builder {
    pub(super) fn new(options: &ReadOptions, budget: Budget) -> Self {
        let (keep_going, strict) = (options.keep_going, options.strict);
        let mut builder = Self { keep_going, strict, budget, ..Self::default() };
        builder.set_room();
        builder
    }

    /// Counts what is left out of the tables.
    pub(super) fn left_out(
        &mut self,
        place: Place,
        what: impl Into<Cow<'static, str>>,
    ) -> Result<(), Damage> {
        self.notes([Note { kind: Kind::LeftOut, what: what.into(), count: 1, first: place }])
    }

    /// Adds what a part of the reader counted.
    pub(super) fn notes(&mut self, notes: impl IntoIterator<Item = Note>) -> Result<(), Damage> {
        self.report.merge(notes, self.strict)
    }

    /// Reads each line of a text.
    pub(super) fn each_line(
        &mut self,
        lines: &mut Lines<'_>,
        mut read: impl FnMut(u64, &str, &mut Self) -> Result<(), Trouble>,
    ) -> Result<(), Damage> {
        lines.each_line(|number, line| {
            let line = line.and_then(utf8).map_err(Trouble::Here);
            let result = line.and_then(|line| read(number, line, self));
            self.settled(Place::Line(number), result)
        })
    }

    /// Records what went wrong at a place, if reading may go on after it.
    pub(super) fn settled(&mut self, place: Place, result: Result<(), Trouble>) -> Result<(), Damage> {
        match result {
            Ok(()) => Ok(()),
            Err(Trouble::Here(what)) => self.damaged(Damage { place, what }),
            Err(Trouble::Stop(damage)) => Err(damage),
        }
    }

    /// Adds a route to a next hop.
    pub(super) fn route(&mut self, place: Place, prefix: IpPrefix, value: NextHopInfo) -> Result<(), Damage> {
        let next_hop = self.intern(place, value)?;
        self.push(place, prefix, next_hop)
    }

    /// Records a damaged place, as [`record`] does.
    pub(super) fn damaged(&mut self, damage: Damage) -> Result<(), Damage> {
        record(&mut self.damage, self.keep_going, damage)
    }

    /// Returns the index of a next hop.
    pub(super) fn intern(&mut self, place: Place, info: NextHopInfo) -> Result<NextHop, Damage> {
        let (known, bytes) = (self.next_hops.len(), bytes_of(&info));
        let next_hop =
            self.next_hops.intern(info).map_err(|error| Damage { place, what: error.to_string() })?;
        if self.next_hops.len() > known {
            self.hold(place, bytes)?;
        }
        Ok(next_hop)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// If the budget is used up.
    pub(super) fn push(&mut self, place: Place, prefix: IpPrefix, next_hop: NextHop) -> Result<(), Damage> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.push(Route { prefix, next_hop }),
            IpPrefix::V6(prefix) => self.ipv6.push(Route { prefix, next_hop }),
        }
        self.make_room(place)
    }

    /// Looks at the budget if the routes are full.
    pub(super) fn make_room(&mut self, place: Place) -> Result<(), Damage> {
        if self.ipv4.is_full() || self.ipv6.is_full() {
            self.ipv4.remove_replaced();
            self.ipv6.remove_replaced();
            self.check().map_err(|what| Damage { place, what })?;
            self.set_room();
        }
        Ok(())
    }

    fn set_room(&mut self) {
        let routes = self.budget.routes.saturating_sub(self.routes());
        self.ipv4.set_room(routes.min(self.room() / ROUTE_BYTES.0));
        self.ipv6.set_room(routes.min(self.room() / ROUTE_BYTES.1));
    }

    /// Counts bytes that are held until the end.
    pub(super) fn hold(&mut self, place: Place, bytes: u64) -> Result<(), Damage> {
        self.beside(place, bytes)?;
        self.held += bytes;
        Ok(())
    }

    /// Looks whether there is memory for what a reader holds beside the routes.
    #[inline]
    pub(super) fn beside(&self, place: Place, bytes: u64) -> Result<(), Damage> {
        if bytes <= self.room() { Ok(()) } else { Err(Damage { place, what: self.too_large() }) }
    }

    /// Returns the bytes that the budget leaves.
    #[inline]
    pub(super) fn room(&self) -> u64 {
        let ipv4 = self.ipv4.len() as u64 * ROUTE_BYTES.0;
        let ipv6 = self.ipv6.len() as u64 * ROUTE_BYTES.1;
        self.budget.memory.saturating_sub(self.held + ipv4 + ipv6)
    }

    fn routes(&self) -> u64 {
        (self.ipv4.len() + self.ipv6.len()) as u64
    }

    fn check(&self) -> Result<(), String> {
        let most = self.budget.routes;
        if self.routes() > most {
            return Err(format!("the table has more than {most} routes, the limit"));
        }
        if self.room() == 0 { Err(self.too_large()) } else { Ok(()) }
    }

    fn too_large(&self) -> String {
        format!("the table takes more than {} of memory, the limit", Bytes(self.budget.memory))
    }

    /// Adds a route, and counts the next hops that its value does not name.
    pub(super) fn offer(&mut self, place: Place, prefix: IpPrefix, offer: Offer) -> Result<(), Damage> {
        if offer.further > 0 {
            let what = "next hop after the first (--value next-hops keeps all)".into();
            let count = offer.further as u64;
            self.notes([Note { kind: Kind::LeftOut, what, count, first: place }])?;
        }
        self.route(place, prefix, offer.value)
    }

    /// Joins the next hops, which are rows of columns, with their locations.
    pub(super) fn join(&mut self, join: &Join) -> Result<(), Damage> {
        let (next_hops, numbers, missing) = join.apply(&self.next_hops);
        self.next_hops = next_hops;
        let ipv4 = self.ipv4.iter_mut().map(|route| &mut route.next_hop);
        for next_hop in ipv4.chain(self.ipv6.iter_mut().map(|route| &mut route.next_hop)) {
            *next_hop = numbers[next_hop.0 as usize];
        }
        if missing == 0 {
            return Ok(());
        }
        let (kind, first) = (Kind::LeftOut, Place::Line(1));
        self.notes([Note { kind, what: join.missing().into(), count: missing, first }])
    }

    /// Returns the tables. Of routes with one prefix the last wins.
    ///
    /// # Errors
    /// If they take more than the budget.
    pub(super) fn finish(mut self) -> Result<(Tables, Vec<Damage>, Report), String> {
        const WORTH_A_THREAD: usize = 10_000;
        if self.check().is_err() {
            self.ipv4.remove_replaced();
            self.ipv6.remove_replaced();
            self.check()?;
        }
        if !self.columns.is_empty() {
            self.next_hops = fields::typed(&self.next_hops, &self.columns);
        }
        let ((ipv4, replaced4), (ipv6, replaced6)) = if self.ipv4.len().min(self.ipv6.len()) < WORTH_A_THREAD
        {
            (self.ipv4.finish(), self.ipv6.finish())
        } else {
            std::thread::scope(|scope| {
                let ipv6 = scope.spawn(|| self.ipv6.finish());
                let ipv4 = self.ipv4.finish();
                (ipv4, ipv6.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        };
        self.report.kept = (ipv4.len() + ipv6.len()) as u64;
        self.report.replaced = replaced4 + replaced6;
        Ok((Tables { ipv4, ipv6, next_hops: self.next_hops }, self.damage, self.report))
    }
}

/// The best route of each prefix, for formats that show several.
#[derive(Debug)]
pub(super) struct Best<R> {
    routes: HashMap<IpPrefix, (R, Offer)>,
    /// The prefixes as they came first, and their places.
    order: Vec<(Place, IpPrefix)>,
    /// The bytes of the values.
    held: u64,
}

impl<R: PartialOrd> Best<R> {
    pub(super) fn new() -> Self {
        Self { routes: HashMap::new(), order: Vec::new(), held: 0 }
    }

    /// Takes a route of a place if its rank is lower than those of the prefix's routes before it.
    pub(super) fn offer(&mut self, place: Place, prefix: IpPrefix, rank: R, value: impl Into<Offer>) {
        let value = value.into();
        match self.routes.get_mut(&prefix) {
            Some((best, _)) if *best <= rank => {}
            Some(best) => *best = (rank, value),
            None => {
                self.held += bytes_of(&value.value);
                self.routes.insert(prefix, (rank, value));
                self.order.push((place, prefix));
            }
        }
    }

    /// Returns whether a prefix has a route.
    pub(super) fn has(&self, prefix: &IpPrefix) -> bool {
        self.routes.contains_key(prefix)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Returns the bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.held + (self.routes.len() * 2 * size_of::<(IpPrefix, Place, R, Offer)>()) as u64
    }

    /// Adds the best routes to the tables.
    pub(super) fn finish(mut self, builder: &mut Builder) -> Result<(), Damage> {
        for (place, prefix) in self.order {
            if let Some((_, offer)) = self.routes.remove(&prefix) {
                builder.offer(place, prefix, offer)?;
            }
        }
        Ok(())
    }
}

/// The values of each prefix, for formats in which a prefix has several at once: its origins, its
/// authorisations.
#[derive(Debug, Default)]
pub(super) struct Lists {
    values: Vec<Listed>,
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// The length of `values` from which on repeats are removed.
    full: usize,
    /// The bytes of the texts.
    held: u64,
    place: Option<Place>,
}

/// A value of a prefix.
#[derive(Clone, Copy, Debug)]
struct Listed {
    prefix: IpPrefix,
    text: u32,
    /// When it came, among the values of its prefix.
    order: u32,
}

impl Lists {
    /// The values up to which nobody looks for repeats.
    const FEW: usize = 1 << 16;

    /// Adds a value, which is JSON.
    pub(super) fn push(&mut self, place: Place, prefix: IpPrefix, value: &str) {
        let text = self.numbers.get(value).copied().unwrap_or_else(|| {
            let (number, text) = (self.texts.len() as u32, Arc::<str>::from(value));
            self.held += (4 * size_of::<Arc<str>>() + value.len()) as u64;
            self.texts.push(Arc::clone(&text));
            self.numbers.insert(text, number);
            number
        });
        let order = self.values.len() as u32;
        self.values.push(Listed { prefix, text, order });
        self.place = Some(place);
        if self.values.len() >= self.full.max(Self::FEW) {
            self.settle();
            self.full = 2 * self.values.len();
        }
    }

    /// Removes repeats, and leaves the values of each prefix together, in the order they came.
    fn settle(&mut self) {
        self.values.sort_unstable_by_key(|listed| (listed.prefix, listed.text, listed.order));
        self.values.dedup_by_key(|listed| (listed.prefix, listed.text));
        self.values.sort_unstable_by_key(|listed| (listed.prefix, listed.order));
        for (listed, order) in self.values.iter_mut().zip(0..) {
            listed.order = order;
        }
    }

    /// Returns the bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.held + (self.values.len() * 2 * size_of::<Listed>()) as u64
    }

    /// Adds the prefixes to the tables. A single value stays itself where `single` says so, without
    /// its quotes, and is a list of one otherwise. An object without fields has no value.
    pub(super) fn finish(mut self, builder: &mut Builder, single: bool) -> Result<(), Damage> {
        let Some(place) = self.place else { return Ok(()) };
        self.settle();
        let mut known: HashMap<Vec<u32>, NextHop> = HashMap::new();
        for listed in self.values.chunk_by(|a, b| a.prefix == b.prefix) {
            let texts: Vec<u32> = listed.iter().map(|listed| listed.text).collect();
            let next_hop = if let Some(&next_hop) = known.get(&texts) {
                next_hop
            } else {
                let values: Vec<&str> = texts.iter().map(|&text| &*self.texts[text as usize]).collect();
                let value = match values[..] {
                    ["{}"] => NextHopInfo::Label(LISTED.into()),
                    [one] if single => match serde_json::from_str::<String>(one) {
                        Ok(text) => NextHopInfo::Label(text.into()),
                        Err(_) => NextHopInfo::parse(one),
                    },
                    _ => NextHopInfo::Label(fields::list(&values).into()),
                };
                let next_hop = builder.intern(place, value)?;
                known.insert(texts, next_hop);
                next_hop
            };
            builder.push(place, listed[0].prefix, next_hop)?;
        }
        Ok(())
    }
}
