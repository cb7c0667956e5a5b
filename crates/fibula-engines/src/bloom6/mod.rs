//! `bloom6`: IPv6 routes expanded to a few lengths, each with a Bloom filter and a hash table.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom
//! filters based approach" (Journal of Internet Services and Applications 9, 2018), section 4.2 and
//! Table 4.
//!
//! # Layout
//! `dpcpe` chooses *n* lengths, the last of which is 64, and the table is
//! expanded to those:
//!
//! ```text
//! /64            filter -> table: key a >> 64       -> next hop, length, longer? -> tree from /65
//!   ...
//! /L1            filter -> table: key a >> 128 - L1 -> next hop, length
//! default route  next hop
//!
//! a bucket of a table, one cache line: | 4 keys of 64 bits | 4 x next hop, length, longer? |
//! ```
//! A lookup goes from /64 down. At each level it tests the filter, then reads the table if all bits
//! are set. The first entry with an answer has the longest match. Without one, the default route
//! answers. There is no direct array, because the first of the levels is too long for one. The
//! steps are those of `by_length`. Hashes are combined of two as in
//! [`bloom`](super::bloom).
//!
//! # Levels
//! Fewer levels mean fewer filters to test and more prefixes to store. `levels=` sets their number.
//! By default it is the least that expands the table to no more than [`EXPANSION`] prefixes a
//! route. Of the full table of May 2026 (246,175 routes), 5 levels made 4.5 prefixes a route and
//! 120 bytes. 6 were as fast with half the bytes, and 8 a sixth slower.
//!
//! # Updates
//! As in `bloom`, by the length beside every next hop. The levels stay until the estimated prefixes
//! have become a quarter more (or [`EXPANDED_MIN`] more, if that is more) than when they were
//! chosen. Then a new table is built.
//!
//! # Worked example
//! ```text
//! ::/0                       -> 5    default route
//! 2001:db8::/32              -> 1    /32  0x20010DB8                1, length 32
//! 2001:db8::/47              -> 2    /48  0x20010DB80000            2, length 47
//! 2001:db8:1::/48            -> 3    /48  0x20010DB80001            3, length 48
//! 2001:db8:2:3:4::/80        -> 4    /64  0x20010DB800020003        none, but longer ones; tree
//! ```
//! With three levels, 32, 48 and 64 are the best: four prefixes estimated, three in fact.
//! 2001:db8:2:3:4::1 finds the mark at /64 and 4 in the tree. 2001:db8:2:3:: finds the mark,
//! nothing in the tree and nothing at /48, and its answer is 1.
//!
//! # What differs from the paper
//! - Routes from /65 on are exact; the paper has none.
//! - The levels are optimal; `choice=dpcpe` takes the paper's.
//! - The paper gives IPv6 MurmurHash3, the default here, because its H2 had no 64-bit form. Here
//!   all functions have one (`hashing`).
//! - Tables have `buckets` where the paper chains.

#[cfg(test)]
mod tests;

use crate::blocks::bloom::Aim;
use crate::blocks::by_length::{ByLength, KEY_BITS, LEVELS_MAX};
use crate::blocks::dpcpe::{Choice, Distribution, EXPANDED};
use crate::blocks::hashing::HashFunction;
use crate::blocks::probing::Combined;
use fibula::engine::{
    About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Delta, Error, Rib};

/// The most prefixes that a table may be expanded to: some 3.5 GB of them.
pub const EXPANDED_MAX: u64 = 1 << 27;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "bloom6",
    paper: "Lucchesi, Drummond, Teodoro, High-performance IP lookup using Intel Xeon Phi: a Bloom filters based \
            approach, JISA 9 (2018)",
    year: 2018,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: EXPANDED, max: EXPANDED_MAX }],
    parameters: &[
        ParameterInfo {
            name: "levels",
            meaning: "lengths that prefixes are expanded to, 1 to 64; default: as few as will do",
        },
        ParameterInfo {
            name: "choice",
            meaning: "how the levels are chosen: best (default) or dpcpe, the paper's way",
        },
        ParameterInfo { name: "hash", meaning: "hash function: murmur (default), fmix, h2 or knuth" },
        ParameterInfo {
            name: "fpr",
            meaning: "false positives of every filter in percent, 1 to 90, default 30",
        },
    ],
    ..About::DEFAULT
};

/// The default ratio of false positives in percent.
const PERCENT: u8 = 30;

/// The most prefixes per route, if no number of levels is given.
pub const EXPANSION: u64 = 4;

/// The prefixes that a small table may be expanded to, however few routes it has.
pub const EXPANDED_MIN: u64 = 1 << 11;

/// The levels are chosen again when the estimated prefixes have become a `1 / SPARE` part more.
const SPARE: u64 = 4;

/// A function that chooses a given number of levels.
type Chooser = fn(&Distribution, usize) -> Choice;

/// The `bloom6` engine; see the [module page](self).
#[derive(Clone, Debug)]
pub struct Bloom6<W: Width> {
    table: ByLength<u128, W, Combined, 4>,
    /// The most estimated prefixes before the levels are chosen again.
    room: u64,
}

/// Returns the levels for a table: the number that `config` gives, or the fewest that do not expand
/// it too much.
fn choose(rib: &Rib<u128>, config: &Config) -> Result<Vec<u8>, Error> {
    let choosers: [(&str, Chooser); 2] = [("best", Distribution::best), ("dpcpe", Distribution::dpcpe)];
    let chooser = config.choice("choice", &choosers)?;
    let distribution = Distribution::of(rib, KEY_BITS);
    let choice = match config.parameter("levels", 1..=LEVELS_MAX, 0)? {
        0 => {
            let most = u128::from(EXPANDED_MIN.max(EXPANSION * rib.len() as u64));
            let choices = (1..LEVELS_MAX.into()).map(|n| chooser(&distribution, n));
            let found = { choices }.find(|choice| choice.expanded <= most);
            found.unwrap_or_else(|| chooser(&distribution, LEVELS_MAX.into()))
        }
        n => chooser(&distribution, n.into()),
    };
    Ok(choice.at_most(EXPANDED_MAX)?.levels)
}

impl<W: Width> Lookup<u128> for Bloom6<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        self.table.look_up(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u128], next_hops: &mut [W]) {
        self.table.look_up_all::<false>(addresses, next_hops);
    }
}

impl<W: Width> Engine<u128> for Bloom6<W> {
    type View = Self;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        let [h2, murmur, knuth, fmix] = HashFunction::NAMED;
        let hashing = Combined(config.choice("hash", &[murmur, fmix, h2, knuth])?); // the paper's first
        let percent = config.parameter("fpr", 1..=90, PERCENT)?;
        let levels = choose(rib, config)?;
        let table = ByLength::build(rib, &levels, hashing, Aim::Percent(percent), config.pages)?;
        let room = table.estimated().saturating_add(EXPANDED_MIN.max(table.estimated() / SPARE));
        Ok(Self { table, room })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        if self.table.estimated().saturating_add(self.table.growth(deltas)) > self.room {
            return Update::Rebuild;
        }
        self.table.follow(rib, deltas).map_or(Update::Rebuild, Update::Applied)
    }

    fn memory(&self) -> Memory {
        self.table.memory(Memory::off_chip)
    }

    fn figures(&self) -> Vec<Figure> {
        self.table.figures()
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.table.validate(rib)
    }
}
