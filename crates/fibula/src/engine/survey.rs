//! [`Survey`]: what a table is like, which the cost of a lookup depends on.

use super::{Lengths, WidthBits};
use crate::arch::Level;
use crate::{Address, Delta, Family, NextHop, Prefix, Rib, Route};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The properties of a table that changes of it are followed in.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Its family.
    pub(crate) family: Family,
    /// The number of routes of each length.
    pub(crate) lengths: Lengths,
    /// The width of its next-hop indices.
    pub(crate) width: WidthBits,
}

impl Shape {
    /// Returns the shape of a table. O(n).
    pub(crate) fn of<A: Address>(rib: &Rib<A>) -> Self {
        let width = width_of(rib.max_next_hop());
        Self { family: A::FAMILY, lengths: Lengths::of(rib), width }
    }

    /// Follows a change of the table. O(1).
    pub(crate) fn follow<A: Address>(&mut self, delta: &Delta<A>) {
        self.lengths.follow(delta);
        self.width = Ord::max(self.width, width_of(delta.after));
    }
}

/// Returns the width of the answers of a table whose greatest next hop is this one.
fn width_of(greatest: NextHop) -> WidthBits {
    if cfg!(any(test, feature = "narrow")) { WidthBits::holding(greatest) } else { WidthBits::U32 }
}

/// The routes of a table of either family.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Routes<'r> {
    /// IPv4.
    Ipv4(&'r Rib<u32>),
    /// IPv6.
    Ipv6(&'r Rib<u128>),
}

/// A table as engines look at it to [estimate](super::About::estimate) what they would cost: its
/// shape, and its routes for what only some of them ask.
#[derive(Clone, Debug)]
pub struct Survey<'r> {
    shape: Shape,
    routes: Routes<'r>,
    different_24s: OnceCell<usize>,
    different_18s: OnceCell<usize>,
}

impl<'r> Survey<'r> {
    /// Surveys a table. O(n).
    #[must_use]
    pub fn of<A: Address>(rib: &'r Rib<A>) -> Self {
        Self::with_shape(&Shape::of(rib), rib)
    }

    /// As [`Survey::of`], of a table whose shape is known. O(1).
    pub(crate) fn with_shape<A: Address>(shape: &Shape, rib: &'r Rib<A>) -> Self {
        Self {
            shape: shape.clone(),
            routes: A::routes_of(rib),
            different_24s: OnceCell::new(),
            different_18s: OnceCell::new(),
        }
    }

    /// Returns the number of routes of each length.
    #[must_use]
    pub fn lengths(&self) -> &Lengths {
        &self.shape.lengths
    }

    /// Returns the width of the next-hop indices.
    #[must_use]
    pub fn width(&self) -> WidthBits {
        self.shape.width
    }

    /// Returns the routes themselves, if they are of IPv4.
    #[must_use]
    pub fn ipv4(&self) -> Option<&'r Rib<u32>> {
        if let Routes::Ipv4(rib) = self.routes { Some(rib) } else { None }
    }

    /// Returns the routes themselves, if they are of IPv6.
    #[must_use]
    pub fn ipv6(&self) -> Option<&'r Rib<u128>> {
        if let Routes::Ipv6(rib) = self.routes { Some(rib) } else { None }
    }

    /// Returns the family.
    #[must_use]
    pub fn family(&self) -> Family {
        self.shape.family
    }

    /// Returns the number of routes.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.shape.lengths.routes()
    }

    /// Returns the levels of a tree of `children` children a node in which each route takes two
    /// intervals, not rounded. It grows with the logarithm of the routes, as what a lookup waits
    /// for does.
    #[must_use]
    pub fn levels_of(&self, children: usize) -> f32 {
        (2.0 * self.routes().max(1) as f32).log(children as f32)
    }

    /// Returns the share of routes that are longer, 0 to 1.
    #[must_use]
    pub fn share_longer_than(&self, length: u8) -> f32 {
        self.shape.lengths.longer_than(length) as f32 / self.routes().max(1) as f32
    }

    /// Returns the survey of the table without a share of the routes of one length, 0 to 1.
    #[must_use]
    pub fn without(&self, length: u8, share: f32) -> Self {
        let mut survey = self.clone();
        let lengths = &mut survey.shape.lengths;
        lengths.remove(length, (lengths.count(length) as f32 * share) as u32);
        let longer = [self, &survey].map(|survey| survey.shape.lengths.longer_than(24) as u64);
        let left = self.different_24s() as u64 * longer[1] / longer[0].max(1);
        survey.different_24s = OnceCell::from(left as usize);
        survey
    }

    /// Returns the number of /24s that differ in their longer routes, of IPv4: those whose longer
    /// routes are elsewhere in the /24, or lead elsewhere. O(n) the first time.
    #[must_use]
    pub fn different_24s(&self) -> usize {
        *self.different_24s.get_or_init(|| match self.routes {
            Routes::Ipv4(rib) if self.shape.lengths.longer_than(24) > 0 => different(rib, 24, 32),
            _ => 0,
        })
    }

    /// Returns the number of /18s that differ in their longer routes up to /24, of IPv4; see
    /// [`different_24s`](Self::different_24s).
    #[must_use]
    pub fn different_18s(&self) -> usize {
        *self.different_18s.get_or_init(|| self.ipv4().map_or(0, |rib| different(rib, 18, 24)))
    }

    /// Returns the nanoseconds that a lookup waits for the answers of a /24 with longer routes,
    /// where each that is different takes `bytes`. They grow as long as more of those are in a
    /// cache.
    #[must_use]
    pub fn wait_below_24(&self, bytes: usize) -> f32 {
        let mebibytes = self.different_24s() as f32 * bytes as f32 / (1 << 20) as f32;
        0.45 * mebibytes.min(40.0)
    }
}

/// What an engine would cost for a table.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The nanoseconds of a lookup in the slowest of its traces, in batches on one core.
    pub ns: f32,
    /// The bytes of the compiled table, roughly.
    pub bytes: usize,
}

/// The nanoseconds that each doubling of a compiled table's bytes is worth. What a table takes of
/// the caches, the program around it lacks: so of two engines of nearly one speed the smaller is
/// taken, and a table of a few routes gets no root of a hundred kilobytes.
const NS_A_DOUBLING: f32 = 0.3;

/// The bytes that are in proportion to a table: some at least, and some for each route. The engines
/// for large tables take a tenth of that a route, those for few routes half.
const IN_PROPORTION: (f32, f32) = (4096.0, 128.0);

/// The nanoseconds that each doubling from there on is worth besides. Engines with a root or with
/// tiles are the fastest for forty hosts as well, and take kilobytes for each: where a program has
/// hundreds of such tables, they hold the caches of none.
const NS_OUT_OF_PROPORTION: f32 = 0.8;

/// The bytes of a table that the near caches hold.
const NEAR_CACHES: f32 = (512 << 10) as f32;

/// The nanoseconds that a single lookup waits longer for each doubling of the bytes from there on:
/// nothing overlaps with it, and more of its loads miss. With `mosaic` and `mosaic-runs` of 5 to 27
/// MB it was 2 to 3 on an EPYC of the fourth generation.
const NS_A_MISS: f32 = 2.5;

/// What the calls of lookups are like that a table is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Of hundreds of addresses or more.
    #[default]
    Many,
    /// Of one address as often as of many.
    Any,
}

impl Estimate {
    /// An engine that was not measured: it costs more than any that was.
    pub const UNKNOWN: Self = Self { ns: 1e6, bytes: 0 };

    /// An engine whose purpose is to check others: it is taken only where no other holds the table.
    pub const JUDGE: Self = Self { ns: f32::INFINITY, bytes: 0 };

    /// Returns the estimate with an instruction set: without vectors, lookups that compare the
    /// numbers of a line take `factor` times as long.
    #[must_use]
    pub fn on(self, isa: Level, factor: f32) -> Self {
        Self { ns: self.ns * if isa == Level::SCALAR { factor } else { 1.0 }, ..self }
    }

    /// Returns the cost that [`best`](super::BEST) compares for a table of `routes` routes, in
    /// nanoseconds: those of a lookup, and what its bytes are worth. In calls of any length, a
    /// lookup is a single one as often as one of a batch.
    pub(crate) fn cost(self, calls: Calls, routes: usize) -> f32 {
        let wait = NS_A_MISS * (self.bytes as f32 / NEAR_CACHES).max(1.0).log2();
        let ns = match calls {
            Calls::Many => self.ns,
            Calls::Any => self.ns + wait / 2.0,
        };
        ns + price(self.bytes, routes)
    }
}

/// Returns the nanoseconds of a lookup that the bytes of a compiled table of `routes` routes are
/// worth.
pub(crate) fn price(bytes: usize, routes: usize) -> f32 {
    let doublings = |from: f32| (bytes as f32 / from).max(1.0).log2();
    let (least, each) = IN_PROPORTION;
    NS_A_DOUBLING * doublings(least) + NS_OUT_OF_PROPORTION * doublings(least + each * routes as f32)
}

/// Returns the number of prefixes of length `len` that differ in their longer routes up to
/// `longest`. O(n).
fn different(rib: &Rib<u32>, len: u8, longest: u8) -> usize {
    let mut longer = rib.iter().filter(|route| (len + 1..=longest).contains(&route.prefix.len())).peekable();
    let mut different = HashSet::new();
    while let Some(first) = longer.next() {
        let network = Prefix::containing(first.prefix.first(), len);
        let mut hasher = DefaultHasher::new();
        let mut next = Some(first);
        while let Some(Route { prefix, next_hop }) = next {
            (prefix.first().bits(len, 32 - len), prefix.len(), next_hop).hash(&mut hasher);
            next = longer.next_if(|route| network.contains(route.prefix.first()));
        }
        different.insert(hasher.finish());
    }
    different.len()
}
