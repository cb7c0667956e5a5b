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
//! A bit for each /16 says whether it may have entries. Where few addresses of a batch are in such
//! a /16, `mosaic` or `terrace` answers all of them, and then those few read their lines.
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
#[cfg(test)]
mod tests;
mod update;
mod validate;

use super::{Front, Part, is_few};
use crate::arch::Isa;
use crate::engine::{About, Config, Estimate, Figure, Lengths, Level, LimitInfo, Meter, Survey, Updates};
use crate::engines::{mosaic, terrace};
use crate::memory::{Array, Memory, Pages};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Address, Change, Delta, Error, Family, NextHop, Prefix, Rib, Route};
use lines::{InLines, Lines};

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
pub(crate) type Ledger<A> = Front<Exact<A>, A>;

/// The names of the sections.
const LINES: [&str; 2] = ["exact lines", "second exact lines"];
const LENGTH: &str = "exact length";
const PRESENT: &str = "networks with entries";

/// The length of the networks for which a bit says whether they may have entries.
const NETWORK: u8 = 16;
/// The words of those bits.
const WORDS: usize = (1 << NETWORK) / 64;

/// The entries.
#[derive(Clone, Debug)]
pub(crate) struct Exact<A: InLines> {
    lines: Lines<A>,
    /// The length of the entries' prefixes.
    length: u8,
    /// The networks of [`NETWORK`] bits that may have entries, one bit each. Stays set until the
    /// next build.
    present: Array<u64>,
    /// The lengths of all routes.
    lengths: Lengths,
    /// Each entry that has changed since the last commit, and its next hop before.
    changed: Vec<(A, NextHop)>,
}

impl<A: InLines> Exact<A> {
    /// Returns whether an address may have an entry.
    #[inline(always)]
    fn may_have(&self, address: A) -> bool {
        let network = address.bits(0, NETWORK) as usize;
        self.present[network / 64] >> (network % 64) & 1 == 1
    }
}

impl<A: InLines> Part<A> for Exact<A> {
    type Inner = A::Inner;
    const FEW: usize = if A::BITS == 32 { 6 } else { 12 };

    fn build(rib: &Rib<A>, config: &Config) -> Result<(Self, Rib<A>), Error> {
        let lengths = Lengths::of(rib);
        let (length, count) = lengths.most_frequent();
        let length = if count == 0 { A::BITS } else { length };
        let mut lines = Lines::with_room_for(count, length, config.pages);
        let mut present = Array::filled(0, WORDS, Pages::Small);
        let mut routes = rib.iter().peekable();
        let mut is_other = |route: Route<A>, next: Option<&Route<A>>| {
            route.prefix.len() != length
                || next.is_some_and(|next| route.prefix.covers(next.prefix))
                || !lines.set(route.prefix.first(), route.next_hop)
                || !note(&mut present, route.prefix)
        };
        let others = std::iter::from_fn(|| {
            loop {
                let route = routes.next()?;
                if is_other(route, routes.peek()) {
                    return Some(route);
                }
            }
        });
        let others = others.collect();
        Ok((Self { lines, length, present, lengths, changed: Vec::new() }, others))
    }

    #[inline(always)]
    fn find(&self, isa: impl Isa, address: A, meter: &mut impl Meter) -> u32 {
        let key = address & A::mask(self.length);
        if A::is_short(self.length) {
            self.lines.get::<true>(isa, key, meter)
        } else {
            self.lines.get::<false>(isa, key, meter)
        }
    }

    #[inline(always)]
    fn find_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        self.many(isa, addresses, next_hops);
    }

    #[inline(always)]
    fn has_few_of(&self, addresses: &[A]) -> bool {
        is_few(addresses, |address| self.may_have(address))
    }

    #[inline(always)]
    fn find_few<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        self.few(isa, addresses, next_hops);
    }

    fn follow(&mut self, rib: &Rib<A>, others: &Rib<A>, deltas: &[Delta<A>]) -> Option<Vec<Change<A>>> {
        self.divide_all(rib, others, deltas)
    }

    fn commit(&mut self) -> u64 {
        self.changed.drain(..).len() as u64
    }

    fn take_back(&mut self, deltas: &[Delta<A>]) {
        self.restore(deltas);
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("exact lines", self.lines.bytes())
            .off_chip("networks with entries", self.present.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure::count("length", self.length.into()), Figure::count("entries", self.lines.entries())]
    }

    fn check(&self, rib: &Rib<A>, others: &Rib<A>) -> Result<(), String> {
        self.check_lines(rib, others)
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        for (name, lines) in LINES.into_iter().zip(&self.lines.arrays) {
            sections.array(name, lines);
        }
        sections.number(LENGTH, self.length.into());
        sections.array(PRESENT, &self.present);
    }

    fn open(sections: &Sections<'_>) -> Result<Self, Error> {
        let lines = LINES.map(|name| {
            let lines = sections.array(name)?;
            // The number of a line is computed in 32 bits.
            if lines.is_empty() || u32::try_from(lines.len()).is_err() {
                return Err(unsound(name, format!("has {} lines", lines.len())));
            }
            Ok(lines)
        });
        let [first, second] = lines;
        let length = sections.number(LENGTH)?;
        let Some(length) = u8::try_from(length).ok().filter(|&length| length <= A::BITS) else {
            return Err(unsound(LENGTH, format!("is {length}, at most {}", A::BITS)));
        };
        let lines = Lines::holding([first?, second?], length);
        // Files of before had no such bits.
        let present = if sections.has(PRESENT) {
            sections.array_of(PRESENT, WORDS)?
        } else {
            Array::filled(u64::MAX, WORDS, Pages::Small)
        };
        Ok(Self { lines, length, present, lengths: Lengths::default(), changed: Vec::new() })
    }
}

/// Notes that the networks of an entry may have entries. Returns true.
fn note<A: Address>(present: &mut [u64], entry: Prefix<A>) -> bool {
    let [first, last] = [entry.first(), entry.last()].map(|address| address.bits(0, NETWORK) as usize);
    for network in first..=last {
        present[network / 64] |= 1 << (network % 64);
    }
    true
}
