//! A Bloom filter and a hash table for each of some prefix lengths, tried from the longest to the
//! shortest.
//!
//! Dharmapurikar, Krishnamurthy and Taylor, "Longest Prefix Matching Using Bloom Filters" (2006).
//! Prefixes of other lengths are [expanded](super::expanded) to the next of those lengths. If every
//! length has a level, none is.
//!
//! ```text
//! level n        filter -> table: key, first Ln bits of a -> next hop, length, longer? -> routes
//!   ...                                                                                   from /65
//! level 1        filter -> table: key, first L1 bits of a -> next hop, length             (tree)
//! default route  next hop
//! ```
//! Keys have at most 64 bits. Longer routes of IPv6 are kept in a
//! [tree](fibula::parts::blocks::patricia). The entry of the /64 that such a route begins with is
//! marked, and lookups go to the tree first.
//! A /64 that no other route covers has an entry for the mark alone.

mod batch;
#[cfg(test)]
mod tests;
mod update;
mod validate;

use super::bloom::Aim;
use super::expanded::Expanded;
use super::filtered::{Filtered, random_keys};
use super::probing::Hashing;
use crate::blocks::expansion::counts;
use crate::blocks::hashing::Key;
use fibula::engine::{Figure, Meter, Width};
use fibula::parts::blocks::patricia::Patricia;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Address, Limit, Prefix, Rib, Route};

/// The number of bits of the longest key.
pub const KEY_BITS: u8 = 64;

/// The greatest number of levels.
pub const LEVELS_MAX: u8 = KEY_BITS;

/// An address whose first bits, up to 64 of them, are keys.
pub trait Keyed: Address {
    /// The type of the keys.
    type Key: Key;

    /// The number of bits of the longest key.
    const LONGEST: u8;

    /// Returns the longest key.
    #[must_use]
    fn longest(self) -> Self::Key;

    /// Returns the key of the first `len` bits, right-aligned, from the longest key. `len` is at
    /// least 1.
    #[must_use]
    fn first(longest: Self::Key, len: u8) -> Self::Key;
}

impl Keyed for u32 {
    type Key = u32;
    const LONGEST: u8 = 32;

    #[inline(always)]
    fn longest(self) -> u32 {
        self
    }

    #[inline(always)]
    fn first(longest: u32, len: u8) -> u32 {
        longest >> (32 - len)
    }
}

impl Keyed for u128 {
    type Key = u64;
    const LONGEST: u8 = KEY_BITS;

    #[inline(always)]
    fn longest(self) -> u64 {
        (self >> 64) as u64
    }

    #[inline(always)]
    fn first(longest: u64, len: u8) -> u64 {
        longest >> (64 - len)
    }
}

/// The filter and the table of one length.
#[derive(Clone, Debug)]
struct Level<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> {
    /// The length of the prefixes.
    len: u8,
    /// The next shorter length, 0 for none: the routes expanded to this level are longer.
    above: u8,
    /// The routes expanded to this level.
    routes: usize,
    /// The number of prefixes they would become if none overlapped.
    estimated: u64,
    /// Keys are the first bits of addresses, right-aligned.
    pair: Filtered<A::Key, Expanded<W>, H, SLOTS>,
}

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> Level<A, W, H, SLOTS> {
    /// Returns the number of prefixes that a route of this level is expanded to.
    fn share(&self, prefix: Prefix<A>) -> u64 {
        1_u64.checked_shl((self.len - prefix.len()).into()).unwrap_or(u64::MAX)
    }

    /// Returns the key of an address at this level.
    #[inline(always)]
    fn key(&self, address: A) -> A::Key {
        A::first(address.longest(), self.len)
    }
}

/// A table expanded to some lengths, each with a filter and a hash table; see the [module](self).
///
/// ```
/// use fibula_engines::blocks::{bloom::Aim, by_length::ByLength, probing::Drawn};
/// use fibula::engine::Unmetered;
/// use fibula::{NextHop, Rib, parts::memory::Pages};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
/// rib.insert("10.1.2.0/23".parse()?, NextHop(2));
/// let table: ByLength<u32, u8, Drawn, 8> =
///     ByLength::build(&rib, &[12, 24, 32], Drawn, Aim::Percent(10), Pages::Small)?;
/// assert_eq!(table.estimated(), 16 + 2);
/// let addresses = [0x0A01_0300, 0x0A01_0400, 0x0B00_0000];
/// assert_eq!(addresses.map(|a| table.look_up(a, &mut Unmetered)), [2, 1, 0]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByLength<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> {
    /// The levels, ascending.
    levels: Vec<Level<A, W, H, SLOTS>>,
    default: W,
    /// The routes longer than the last level.
    longer: Patricia<A, W>,
}

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> ByLength<A, W, H, SLOTS> {
    /// Expands a table to ascending lengths. The last is 64, or the address's own length if that is
    /// shorter. `aim` decides the size of every filter.
    ///
    /// # Errors
    /// If there are more routes longer than 64 bits than a tree holds.
    pub fn build(rib: &Rib<A>, levels: &[u8], hashing: H, aim: Aim, pages: Pages) -> Result<Self, Limit> {
        debug_assert_eq!(levels.last(), Some(&A::LONGEST));
        let mut above = 0;
        let mut table = Self {
            levels: Vec::with_capacity(levels.len()),
            default: W::narrow(rib.get(Prefix::ALL).unwrap_or_default()),
            longer: Patricia::plant(longer_routes(rib), pages)?,
        };
        for count in counts(rib.iter().filter(|route| route.prefix.len() > 0), levels) {
            let marks = if count.level == KEY_BITS { marks_alone(rib, above).count() } else { 0 };
            table.levels.push(Level {
                len: count.level,
                above,
                routes: 0,
                estimated: 0,
                pair: Filtered::new(hashing, aim, count.expanded as usize + marks, pages),
            });
            above = count.level;
        }
        for route in rib {
            table.announce(route, true);
        }
        for prefix in longer_routes(rib).map(|route| route.prefix) {
            table.mark(rib, prefix);
        }
        Ok(table)
    }

    /// Returns the number of prefixes after expansion if none overlapped: at least the actual
    /// number.
    #[must_use]
    pub fn estimated(&self) -> u64 {
        self.levels.iter().fold(0, |sum, level| sum.saturating_add(level.estimated))
    }

    /// Returns the levels with entries, longest first.
    #[inline(always)]
    fn longest_first(&self) -> impl Iterator<Item = &Level<A, W, H, SLOTS>> {
        self.levels.iter().rev().filter(|level| !level.pair.is_empty())
    }

    /// Returns the answer of an address's entry: that of the longer routes, or its own; 0 for none.
    #[inline(always)]
    fn answer<M: Meter>(&self, entry: Expanded<W>, address: A, meter: &mut M) -> W {
        let longer = if entry.longer { self.longer.descend(address, meter) } else { W::default() };
        if longer == W::default() { entry.next_hop } else { longer }
    }

    /// Returns the answer for one address. The filter of a level is asked only if no longer level
    /// has answered.
    #[inline(always)]
    pub fn look_up<M: Meter>(&self, address: A, meter: &mut M) -> W {
        for level in self.longest_first() {
            let entry = level.pair.get(level.key(address), meter);
            let next_hop = self.answer(entry, address, meter);
            if next_hop != W::default() {
                return next_hop;
            }
        }
        meter.load(&self.default)
    }

    /// As [`look_up`](Self::look_up), where the filters of all levels are asked first, as hardware
    /// does that asks them at once. They count as [on chip](Meter::on_chip).
    #[inline(always)]
    pub fn look_up_after_all<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let mut passed = 0_u64;
        for (at, level) in self.longest_first().enumerate() {
            let passes = meter.on_chip(|meter| level.pair.passes(level.key(address), meter));
            passed |= u64::from(passes) << at;
        }
        for (at, level) in self.longest_first().enumerate() {
            if passed >> at & 1 == 1 {
                let entry = level.pair.search(level.key(address), meter);
                let next_hop = self.answer(entry, address, meter);
                if next_hop != W::default() {
                    return next_hop;
                }
            }
        }
        meter.load(&self.default)
    }

    /// Returns the memory it occupies. The filters are placed by `filters`, on or off chip.
    #[must_use]
    pub fn memory(&self, filters: impl FnOnce(Memory, &'static str, usize) -> Memory) -> Memory {
        let sum = |part: usize| self.levels.iter().map(|level| level.pair.bytes()[part]).sum();
        let memory = filters(Memory::new(), "filters", sum(0))
            .off_chip("tables", sum(2))
            .off_chip("default route", size_of::<W>())
            .off_chip("filter counters", sum(1));
        if A::BITS > KEY_BITS { memory.off_chip("routes from /65 on", self.longer.bytes()) } else { memory }
    }

    /// Returns the number of filters with keys, the prefixes before and after expansion, and the
    /// figures of each level with routes.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let sum = |count: fn(&Level<A, W, H, SLOTS>) -> usize| self.levels.iter().map(count).sum();
        let mut figures = vec![
            Figure::count("filters with keys", self.longest_first().count()),
            Figure::count("prefixes before expansion", sum(|level| level.routes)),
            Figure::new("prefixes after expansion, estimated", self.estimated() as f64),
            Figure::count("prefixes after expansion", sum(|level| level.pair.len())),
        ];
        for level in self.levels.iter().filter(|level| !level.pair.is_empty()) {
            let name = format!("/{}", level.len);
            figures.push(Figure::count(format!("{name}: prefixes before expansion"), level.routes));
            let estimated = format!("{name}: prefixes after expansion, estimated");
            figures.push(Figure::new(estimated, level.estimated as f64));
            figures.extend(level.pair.figures(&name, random_keys(level.len).map(A::Key::of)));
        }
        figures
    }
}

/// Returns the routes too long for a key.
fn longer_routes<A: Address>(rib: &Rib<A>) -> impl Iterator<Item = Route<A>> {
    rib.iter().filter(|route| route.prefix.len() > KEY_BITS)
}

/// Returns the prefixes of 64 bits that have an entry only because longer routes begin with them:
/// no route longer than `above` bits covers them.
fn marks_alone<A: Address>(rib: &Rib<A>, above: u8) -> impl Iterator<Item = Prefix<A>> {
    let mut last = None;
    let marked = longer_routes(rib).map(|route| Prefix::containing(route.prefix.first(), KEY_BITS));
    marked.filter(move |&prefix| {
        let first = last.replace(prefix) != Some(prefix);
        first && rib.longest_cover(prefix).is_none_or(|route| route.prefix.len() <= above)
    })
}
