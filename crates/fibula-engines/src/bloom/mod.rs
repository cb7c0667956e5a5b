//! `bloom` and `bloom-base`: a direct array for the short prefixes, and a Bloom filter with a hash
//! table each for /24 and /32.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom
//! filters based approach" (Journal of Internet Services and Applications 9, 2018). Section 3.2 is
//! `bloom-base`, their Baseline; section 4 is `bloom`.
//!
//! # Layout
//! Controlled prefix expansion leaves three lengths, 20, 24 and 32:
//!
//! ```text
//! G2    filter: m bits   ->  table: key a            ->  next hop, length      from /25 to /32
//! G1    filter: m bits   ->  table: key a >> 8       ->  next hop, length      from /21 to /24
//! DLA   [a >> 12]                                    ->  next hop              from /0 to /20,
//!                                                                              2^20 entries
//!
//! a bucket of a table, one cache line whatever the width of the next hops:
//! +-------------------+-----------------------+-----+-----------------------+
//! | 6 keys of 32 bits | next hop 0, length, 0 | ... | next hop 5, length, 0 |
//! +-------------------+-----------------------+-----+-----------------------+
//! ```
//! A lookup tries G2, then G1: first the filter, then the table if all k bits are set. A false
//! positive of a filter costs a table lookup, never a wrong answer. If neither table has the key,
//! the DLA answers; it also holds the default route. Each filter has its own size (*asymmetric*),
//! from the number of its keys and its ratio of false positives f: m = -n ln f / (ln 2)^2, k =
//! -log2 f (`Parameters`).
//!
//! The two engines differ only in their hashes, as in the paper:
//!
//! | | `bloom-base` | `bloom` |
//! | --- | --- | --- |
//! | hash for the *i*-th bit | the *i*-th draw of C's `rand`, seeded with the key | h1 + *i* h2 |
//! | hash for the table | one more evaluation | h1 again, or `table-hash=` |
//! | hash function | `rand` | `hash=h2`, `murmur`, `knuth` or `fmix`, in vectors over a block |
//!
//! # Updates
//! Every next hop is stored with the length of the route it is expanded from. The DLA stores the
//! lengths in a separate array, which lookups never touch. An announced prefix takes the entries
//! under it whose length is not greater. A withdrawn prefix gives those of its own length to the
//! next route above it in the same group, or removes them from table and counting filter. A filter
//! and its table are rebuilt for their current entries when those have become a sixteenth more or
//! fewer (`filtered`).
//!
//! # Worked example
//! ```text
//! 10.1.16.0/20    -> 1      DLA  0x0A011                    1
//! 10.1.16.0/22    -> 2      G1   0x0A0110, 0x0A0111         2, length 22
//! 10.1.18.0/23    -> 3      G1   0x0A0112, 0x0A0113         3, length 23
//! 10.1.18.128/31  -> 4      G2   0x0A011280, 0x0A011281     4, length 31
//! ```
//! After 10.1.18.0/23 is withdrawn, 0x0A0112 and 0x0A0113 lead to 2, length 22.
//!
//! # What differs from the paper
//! - Hash values are scaled to a size by a multiplication that keeps their high bits, where the
//!   paper takes the remainder of a division: `reduce=remainder`.
//! - The paper's hash tables are chained: `tables=chains`. These have `buckets` of one cache line.
//! - h2 is the hash of h1 by the same function. The paper does not say where its second hash comes
//!   from.
//! - C's `rand` is implemented here with 32 bits of state and 32 bits per draw. The C library's has
//!   a lock and a state that all threads share.
//! - A batch asks G1's filter also for addresses that G2 will answer. Whether G2's table has the
//!   key is known only a block later, when the lines of both tables have arrived; to ask G1 after
//!   that would wait for its lines again. With `order=g2-first` a batch does, as the paper's
//!   algorithm. A single lookup always skips G1 after a hit in G2.
//! - In both engines a batch goes through the filters a block ahead of the tables, so that the
//!   lines of the tables arrive in time. The paper's processor had four threads per core for that.
//! - The default ratio is 10 %, not the paper's 30 %. Here a table lookup is a cache miss, which
//!   the paper's evaluation hid behind more threads.
//! - At ratios of false positives above one half, k would be less than 1. It is 1, as in the
//!   paper's table, and the measured ratio is higher than the one asked for. [`Engine::figures`]
//!   reports both.

mod batch;
mod direct;
#[cfg(test)]
pub(crate) mod tests;
mod update;
mod validate;

use crate::blocks::bloom::Aim;
use crate::blocks::buckets::Buckets;
use crate::blocks::chains::Chains;
use crate::blocks::expanded::Expanded;
use crate::blocks::expansion::counts;
use crate::blocks::filtered::{Filtered, random_keys};
use crate::blocks::hashing::{HashFunction, Remainder, Scaled};
use crate::blocks::probing::{Combined, Drawn, Hashing, Mixed};
use crate::blocks::table::HashTable;
use direct::Direct;
use fibula::engine::{
    About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Delta, Error, Limit, Rib};

/// The lengths that prefixes are expanded to: of the direct array, of G1 and of G2.
pub const LEVELS: [u8; 3] = [20, 24, 32];

/// The most /32 prefixes that a table may be expanded to: some 5 GB of them. G1 has at most 2^24.
pub const EXPANDED_MAX: u64 = 1 << 28;

const EXPANDED: &str = "expanded prefixes of length 32";

/// The default ratio of false positives in percent. On the table of January 2024 10 % gave two
/// fifths more than the paper's 30 % on random addresses, and about as much on those drawn from
/// prefixes, most of which end in G1. 1 % gave up to a quarter less than 10 % on those, 90 % three
/// fifths less on random ones.
const PERCENT: u8 = 10;

/// What the tools print about `bloom`.
pub const ABOUT: About = About {
    name: "bloom",
    paper: "Lucchesi, Drummond, Teodoro, High-performance IP lookup using Intel Xeon Phi: a Bloom filters based \
            approach, JISA 9 (2018)",
    year: 2018,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: EXPANDED, max: EXPANDED_MAX }],
    parameters: &[HASH, TABLE_HASH, FPR, FPR24, FPR32, REDUCE, TABLES, ORDER],
    ..About::DEFAULT
};

/// What the tools print about `bloom-base`.
pub const BASE: About =
    About { name: "bloom-base", parameters: &[FPR, FPR24, FPR32, REDUCE, TABLES, ORDER], ..ABOUT };

const HASH: ParameterInfo =
    ParameterInfo { name: "hash", meaning: "hash function: h2 (default), murmur, knuth or fmix" };
const TABLE_HASH: ParameterInfo = ParameterInfo {
    name: "table-hash",
    meaning: "hash function of the tables: reuse (default) the filter's first hash, or h2, murmur, knuth or fmix",
};
const FPR: ParameterInfo =
    ParameterInfo { name: "fpr", meaning: "false positives of the filters in percent, 1 to 90, default 10" };
const FPR24: ParameterInfo =
    ParameterInfo { name: "fpr24", meaning: "false positives of G1's filter in percent, default fpr" };
const FPR32: ParameterInfo =
    ParameterInfo { name: "fpr32", meaning: "false positives of G2's filter in percent, default fpr" };

const REDUCE: ParameterInfo = ParameterInfo {
    name: "reduce",
    meaning: "how a hash is reduced to a size: multiply (default), or remainder, as in the paper",
};
const TABLES: ParameterInfo = ParameterInfo {
    name: "tables",
    meaning: "hash tables: buckets (default) of a cache line, or chains, as in the paper",
};
const ORDER: ParameterInfo = ParameterInfo {
    name: "order",
    meaning: "filters that a batch asks: both (default) for every address, or g2-first, and G1 only without an answer",
};

/// A hashing that a configuration describes.
pub trait Configured: Hashing {
    /// Returns the hashing of a configuration.
    ///
    /// # Errors
    /// If a parameter has an illegal value.
    fn configured(config: &Config) -> Result<Self, Error>;
}

impl Configured for Drawn {
    fn configured(_: &Config) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Configured for Mixed {
    fn configured(config: &Config) -> Result<Self, Error> {
        let [h2, murmur, knuth, fmix] = HashFunction::NAMED.map(|(name, function)| (name, Some(function)));
        Ok(Self {
            filter: Combined(config.choice("hash", &HashFunction::NAMED)?),
            table: config.choice("table-hash", &[("reuse", None), h2, murmur, knuth, fmix])?,
        })
    }
}

/// The `bloom` engine; see the [module page](self).
pub type Bloom<W> = Forms<W, Mixed>;

/// The `bloom-base` engine; see the [module page](self).
pub type BloomBase<W> = Forms<W, Drawn>;

/// The slots of a bucket.
const SLOTS: usize = 6;

/// Buckets, and how hashes are reduced to their number.
type InBuckets<W, R> = Buckets<u32, Expanded<W>, SLOTS, R>;

/// A filter and a table. Keys are the first bits of addresses, right-aligned.
type Group<W, H, T> = Filtered<u32, Expanded<W>, H, SLOTS, T>;

/// A table expanded to three lengths, by the form of its hash tables and of the reduction of
/// hashes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named for what they have")]
pub enum Forms<W: Width, H: Hashing> {
    Buckets(Groups<W, H, InBuckets<W, Scaled>>),
    BucketsByRemainder(Groups<W, H, InBuckets<W, Remainder>>),
    Chains(Groups<W, H, Chains<u32, Expanded<W>, Scaled>>),
    ChainsByRemainder(Groups<W, H, Chains<u32, Expanded<W>, Remainder>>),
}

layouts!(($) with_groups: Buckets, BucketsByRemainder, Chains, ChainsByRemainder);

/// A table expanded to three lengths.
#[derive(Clone, Debug)]
pub struct Groups<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>> {
    direct: Direct<W>,
    g1: Group<W, H, T>,
    g2: Group<W, H, T>,
    /// The number of routes of each group before expansion.
    routes: [usize; 3],
    /// Whether a batch asks G1 only for what G2 does not answer.
    in_order: bool,
}

impl<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>> Groups<W, H, T> {
    #[inline(always)]
    fn lookup_one<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        let none = W::default();
        let g2 = self.g2.get(address, meter).next_hop;
        if g2 != none {
            return g2;
        }
        let g1 = self.g1.get(address >> 8, meter).next_hop;
        if g1 == none { self.direct.get(address, meter) } else { g1 }
    }

    /// Returns the numbers of section 6: prefixes before and after expansion, and the parameters of
    /// the filters.
    fn figures_of_section_6(&self) -> Vec<Figure> {
        let after = [1 << LEVELS[0], self.g1.len(), self.g2.len()];
        let groups = ["/0../20", "/21../24", "/25../32"];
        let mut figures = Vec::new();
        for (group, (before, after)) in groups.iter().zip(self.routes.into_iter().zip(after)) {
            figures.push(Figure::count(format!("prefixes {group} before expansion"), before));
            figures.push(Figure::count(format!("prefixes {group} after expansion"), after));
        }
        let pairs: [(&str, &Group<W, H, T>, u8); 2] =
            [("G1", &self.g1, LEVELS[1]), ("G2", &self.g2, LEVELS[2])];
        for (name, pair, bits) in pairs {
            figures.extend(pair.figures(name, random_keys(bits).map(|key| key as u32)));
        }
        figures
    }
}

impl<W: Width, H: Configured, T: HashTable<u32, Expanded<W>>> Lookup<u32> for Groups<W, H, T> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.lookup_one(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        self.lookup_blocks(addresses, next_hops);
    }
}

impl<W: Width, H: Configured, T: HashTable<u32, Expanded<W>>> Engine<u32> for Groups<W, H, T> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let hashing = H::configured(config)?;
        let percent = config.parameter("fpr", 1..=90, PERCENT)?;
        let percent24 = config.parameter("fpr24", 1..=90, percent)?;
        let percent32 = config.parameter("fpr32", 1..=90, percent)?;
        let in_order = config.choice("order", &[("both", false), ("g2-first", true)])?;
        let counts = counts(rib, &LEVELS);
        let [_, g1, g2] = [0, 1, 2].map(|group| counts[group].expanded as usize);
        Limit::check(EXPANDED, g2 as u64, EXPANDED_MAX)?;
        let mut engine = Self {
            direct: Direct::new(config.pages),
            g1: Filtered::new(hashing, Aim::Percent(percent24), g1, config.pages),
            g2: Filtered::new(hashing, Aim::Percent(percent32), g2, config.pages),
            routes: [0, 1, 2].map(|group| counts[group].routes as usize),
            in_order,
        };
        for route in rib {
            engine.announce(route);
        }
        Ok(engine)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        match self.check_room(rib, deltas) {
            Ok(()) => Update::Applied(self.follow(rib, deltas)),
            Err(limit) => Update::Limit(limit),
        }
    }

    fn memory(&self) -> Memory {
        let [filter2, counters2, table2] = self.g2.bytes();
        let [filter1, counters1, table1] = self.g1.bytes();
        Memory::new()
            .off_chip("G2 filter", filter2)
            .off_chip("G2 table", table2)
            .off_chip("G1 filter", filter1)
            .off_chip("G1 table", table1)
            .off_chip("DLA", self.direct.bytes())
            .off_chip("DLA lengths", self.direct.len_bytes())
            .off_chip("filter counters", counters1 + counters2)
    }

    fn figures(&self) -> Vec<Figure> {
        self.figures_of_section_6()
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }
}

impl<W: Width, H: Configured> Lookup<u32> for Forms<W, H> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        with_groups!(self, Forms::groups => groups.lookup_one(address, meter))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        with_groups!(self, Forms::groups => groups.lookup_blocks(addresses, next_hops));
    }
}

impl<W: Width, H: Configured> Engine<u32> for Forms<W, H> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let chains = config.choice("tables", &[("buckets", false), ("chains", true)])?;
        let by_remainder = config.choice("reduce", &[("multiply", false), ("remainder", true)])?;
        Ok(match (chains, by_remainder) {
            (false, false) => Self::Buckets(Groups::build(rib, config)?),
            (false, true) => Self::BucketsByRemainder(Groups::build(rib, config)?),
            (true, false) => Self::Chains(Groups::build(rib, config)?),
            (true, true) => Self::ChainsByRemainder(Groups::build(rib, config)?),
        })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        with_groups!(self, Forms::groups => groups.apply(rib, deltas))
    }

    fn memory(&self) -> Memory {
        with_groups!(self, Forms::groups => groups.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        with_groups!(self, Forms::groups => groups.figures())
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        with_groups!(self, Forms::groups => groups.validate(rib))
    }
}
