//! [`About`]: an engine's description of itself, known before it is built.

use super::{Lengths, WidthBits, Window};
use crate::arch::Level;
use crate::{Address, Delta, Family, Limit, NextHop, Prefix, Rib, Route};
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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
    /// Its other capacities.
    pub limits: &'static [LimitInfo],
    /// The parameters that can be set (`name/parameter=value`).
    pub parameters: &'static [ParameterInfo],
    /// The parameters that this name fixes, as `dxr16` fixes `k`.
    pub preset: &'static [(&'static str, &'static str)],
    /// The cost of a lookup in the slowest of its traces, in nanoseconds on a full table, which
    /// `best` compares.
    pub cost: fn(&Shape) -> f32,
    /// What the cost is multiplied by on [`Level::SCALAR`], which compares the numbers of a line
    /// one by one and does not count bits by an instruction.
    pub scalar_factor: f32,
}

/// The properties of a table that the cost of a lookup depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its family.
    pub family: Family,
    /// The number of routes of each length.
    pub lengths: Lengths,
    /// The width of its next-hop indices.
    pub width: WidthBits,
    /// The number of different /24s with longer routes, of IPv4: those whose longer routes are
    /// elsewhere in the /24, or lead elsewhere. Not followed; see
    /// [`different_24s`](Self::different_24s).
    pub counted_24s: usize,
    /// The number of routes longer than /24 when those /24s were counted.
    pub counted_from: usize,
    /// The number of routes, of IPv6, that are in one network of at least 29 bits, and few of them
    /// in each of its slots; see [`casement`](crate::engines::casement). Not followed.
    pub held: usize,
}

impl Shape {
    /// Returns the shape of a table. O(n).
    #[must_use]
    pub fn of<A: Address>(rib: &Rib<A>) -> Self {
        let mut shape = Self::with_lengths(A::FAMILY, Lengths::of(rib));
        shape.width = WidthBits::holding(rib.max_next_hop());
        if A::FAMILY == Family::Ipv4 {
            (shape.counted_24s, shape.counted_from) = (different_24s(rib), shape.lengths.longer_than(24));
        }
        shape.held = Window::of(rib).held;
        shape
    }

    /// Returns the shape of a table with the routes that `lengths` counts. Its next hops fit in 8
    /// bits. No two of its /24s differ in their longer routes, and no route is held by a window.
    #[must_use]
    pub fn with_lengths(family: Family, lengths: Lengths) -> Self {
        Self { family, lengths, width: WidthBits::U8, counted_24s: 0, counted_from: 0, held: 0 }
    }

    /// Returns the number of routes.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.lengths.routes()
    }

    /// Follows a change of the table. O(1).
    pub fn follow<A: Address>(&mut self, delta: &Delta<A>) {
        self.lengths.follow(delta);
        self.width = Ord::max(self.width, WidthBits::holding(delta.after));
    }

    /// Returns the shape of the table without a share of the routes of one length, 0 to 1.
    #[must_use]
    pub fn without(&self, length: u8, share: f32) -> Self {
        let mut shape = *self;
        let routes = (self.lengths.count(length) as f32 * share) as u32;
        shape.lengths.remove(length, routes);
        let longer = [self, &shape].map(|shape| shape.lengths.longer_than(24) as u64);
        let left = |count: usize| (count as u64 * longer[1] / longer[0].max(1)) as usize;
        (shape.counted_24s, shape.counted_from) = (left(self.counted_24s), left(self.counted_from));
        shape
    }

    /// Returns the levels of a tree of `children` children a node in which each route takes two
    /// intervals, not rounded. It grows with the logarithm of the routes, as what a lookup waits
    /// for does.
    #[must_use]
    pub fn levels_of(&self, children: usize) -> f32 {
        (2.0 * self.routes().max(1) as f32).log(children as f32)
    }

    /// Returns the share of routes that are longer than /24, 0 to 1.
    #[must_use]
    pub fn share_longer_than_24(&self) -> f32 {
        self.lengths.longer_than(24) as f32 / self.routes().max(1) as f32
    }

    /// Returns the number of different /24s with longer routes. After changes it is an estimate:
    /// each further route makes one more, and each that is gone leaves its share fewer.
    #[must_use]
    pub fn different_24s(&self) -> usize {
        match self.lengths.longer_than(24).checked_sub(self.counted_from) {
            Some(more) => self.counted_24s + more,
            None => {
                (self.counted_24s as u64 * self.lengths.longer_than(24) as u64 / self.counted_from as u64)
                    as usize
            }
        }
    }

    /// Returns the nanoseconds that a lookup waits for the answers of a /24 with longer routes,
    /// where each that is different takes `bytes`. They grow as long as more of those are in a
    /// cache.
    #[must_use]
    pub fn wait_below_24(&self, bytes: usize) -> f32 {
        let mebibytes = self.different_24s() as f32 * bytes as f32 / (1 << 20) as f32;
        0.45 * mebibytes.min(40.0)
    }

    /// Returns the share of routes that are longer than /48, 0 to 1.
    #[must_use]
    pub fn share_longer_than_48(&self) -> f32 {
        self.lengths.longer_than(48) as f32 / self.routes().max(1) as f32
    }

    /// Returns the share of routes that are longer than /64, 0 to 1.
    #[must_use]
    pub fn share_longer_than_64(&self) -> f32 {
        self.lengths.longer_than(64) as f32 / self.routes().max(1) as f32
    }
}

/// Returns the number of /24s that differ in their longer routes. O(n).
fn different_24s<A: Address>(rib: &Rib<A>) -> usize {
    let mut longer = rib.iter().filter(|route| route.prefix.len() > 24).peekable();
    let mut different = HashSet::new();
    while let Some(first) = longer.next() {
        let network = Prefix::containing(first.prefix.first(), 24);
        let mut hasher = DefaultHasher::new();
        let mut next = Some(first);
        while let Some(Route { prefix, next_hop }) = next {
            (prefix.first().bits(24, 8), prefix.len(), next_hop).hash(&mut hasher);
            next = longer.next_if(|route| network.contains(route.prefix.first()));
        }
        different.insert(hasher.finish());
    }
    different.len()
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
        limits: &[],
        parameters: &[],
        preset: &[],
        cost: |_| Self::UNKNOWN_COST,
        scalar_factor: 1.0,
    };

    /// The cost of an engine that was not measured: more than that of any that was.
    pub const UNKNOWN_COST: f32 = 1e6;

    /// The cost of an engine whose purpose is to check others: it is chosen only where no other
    /// holds the table.
    pub const JUDGE_COST: f32 = f32::INFINITY;

    /// Returns the [cost](Self::cost) of a lookup with an instruction set, in nanoseconds.
    #[must_use]
    pub fn cost_on(&self, isa: Level, shape: &Shape) -> f32 {
        (self.cost)(shape) * if isa == Level::SCALAR { self.scalar_factor } else { 1.0 }
    }

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
