//! [`Fallback`]: the next hop of a default route, beside the table of an engine.
//!
//! An address that no longer route covers has the next hop of the default route. Written into the
//! table, it would be in most entries, and a default route that comes or goes would write them all.
//! So an engine with a fallback compiles the other routes only. The answer *no route* then stands
//! for the fallback, which is one word. A batch has it filled in at the end: one comparison and one
//! choice for as many answers as a vector holds.
//!
//! # While the table changes
//! A reader loads an entry and the word, and a writer may store both in between. So the word has a
//! version, which grows with each change of it:
//!
//! ```text
//!  63          32 31            0
//! +--------------+---------------+
//! |   version    |   next hop    |
//! +--------------+---------------+
//! ```
//! A lookup loads the word before the entry and after it. Where both are equal, the default route
//! did not change meanwhile, and an entry of *no route* was published beside this default route.
//! Where they differ, an address with *no route* is looked up again. An address with a route
//! needs no word.
//!
//! That is right if each publication changes either the word or entries. One that [changes
//! both](changes_both) is a rebuild where the table is shared. Without versions, a default route
//! that changes and comes back would pass for one that never changed.

use crate::engine::{Lookup, Meter, Unmetered, Width};
use crate::memory::{Array, Pages, Words, WordsView};
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Delta, Error, NextHop, Prefix, Rib};
use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};

/// The name of the section.
const NAME: &str = "default route";

/// Returns whether these changes are of the default route and of others.
pub(crate) fn changes_both<A: Address>(deltas: &[Delta<A>]) -> bool {
    deltas.len() > 1 && deltas.iter().any(|delta| delta.prefix == Prefix::ALL)
}

/// Returns the next hop of a word.
#[inline(always)]
fn next_hop<W: Width>(word: u64) -> W {
    W::narrow(NextHop(word as u32))
}

/// The next hop of a default route; that of no route if there is none.
#[derive(Clone, Debug)]
pub(crate) struct Fallback<W: Width>(Words<u64>, PhantomData<W>);

/// The same, as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct FallbackView<W: Width>(WordsView<u64>, PhantomData<W>);

impl<W: Width> Fallback<W> {
    /// Returns that of a table.
    pub(crate) fn of<A: Address>(rib: &Rib<A>) -> Self {
        let fallback = Self(Words::zeroed(1, Pages::Small), PhantomData);
        fallback.follow(rib);
        fallback
    }

    /// Takes the default route of a table, which readers see at once. O(log n).
    pub(crate) fn follow<A: Address>(&self, rib: &Rib<A>) {
        let (word, now) = (self.0.get(0), rib.get(Prefix::ALL).unwrap_or_default());
        if next_hop::<W>(word).widen() != now {
            let version = (word >> 32).wrapping_add(1);
            self.0.set(0, version << 32 | u64::from(now.0));
        }
    }

    /// Returns the view that lookups read.
    pub(crate) fn view(&self) -> FallbackView<W> {
        FallbackView(self.0.view(), PhantomData)
    }

    /// Checks that it is that of a table.
    pub(crate) fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        let here = next_hop::<W>(self.0.get(0)).widen();
        let expected = rib.get(Prefix::ALL).unwrap_or_default();
        if here == expected { Ok(()) } else { Err(format!("the default route's next hop is {here:?}")) }
    }

    /// Adds it to a snapshot.
    pub(crate) fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.number(NAME, next_hop::<W>(self.0.get(0)).widen().0.into());
    }
}

impl<W: Width> FallbackView<W> {
    /// Reads it from a snapshot. Where there is none, the default route is in the table.
    pub(crate) fn open(sections: &Sections<'_>) -> Result<Self, Error> {
        let next_hop = if sections.has(NAME) { sections.number(NAME)? } else { 0 };
        let mut one = Array::new(Pages::Small);
        one.push(u64::from(next_hop as u32 & W::MAX));
        Ok(Self(WordsView::holding(one), PhantomData))
    }

    /// Returns the word, as it is before the table is read.
    #[inline(always)]
    pub(crate) fn before(&self) -> u64 {
        self.0[0].load()
    }

    /// Returns the answer of an address for which `table` returns what the table says.
    #[inline(always)]
    pub(crate) fn answer<M: Meter>(&self, meter: &mut M, table: impl Fn(&mut M) -> W) -> W {
        loop {
            let before = self.before();
            let answer = table(meter);
            // A vector's gather orders no later load.
            fence(Ordering::Acquire);
            let now = meter.load_word::<u64>(&self.0[0]);
            let is_none = answer == W::default();
            if now == before || !is_none {
                return select_unpredictable(is_none, next_hop(now), answer);
            }
        }
    }

    /// Fills in the answers of a batch, which began at the word `before`. `again` looks up those
    /// of all of its addresses that have no route, for a default route that has changed meanwhile.
    #[inline(always)]
    pub(crate) fn fill(&self, before: u64, next_hops: &mut [W], again: impl FnOnce(&mut [W])) {
        fence(Ordering::Acquire);
        if self.before() != before {
            again(next_hops);
            return;
        }
        let fallback = next_hop::<W>(before);
        if fallback == W::default() {
            return;
        }
        for next_hop in next_hops {
            *next_hop = if *next_hop == W::default() { fallback } else { *next_hop };
        }
    }
}

/// Looks up the addresses of a batch again that have no route.
#[cold]
#[inline(never)]
pub(crate) fn again<A: Address, L: Lookup<A>>(table: &L, addresses: &[A], next_hops: &mut [L::Width]) {
    for (&address, next_hop) in addresses.iter().zip(next_hops) {
        if *next_hop == L::Width::default() {
            *next_hop = table.lookup_metered(address, &mut Unmetered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::changes_both;
    use crate::{Change, NextHop, Prefix, Rib, Route};

    /// The stores of a writer: the next hop that an address has in the table, 0 for none, or the
    /// default route's word.
    #[derive(Clone, Copy)]
    enum Store {
        Entry(u64),
        Word(u64),
    }
    use Store::{Entry, Word};

    /// Runs a reader's loads (word, entry, word) at every moment between the stores of a writer.
    /// Each store is a publication. Returns the number of runs, and of those whose answer was of no
    /// table between their first load and their last.
    fn runs(stores: &[Store], same: impl Fn(u64, u64) -> bool) -> (usize, usize) {
        let mut states = vec![(0, 0)];
        for store in stores {
            let (entry, word) = *states.last().unwrap();
            states.push(match *store {
                Entry(entry) => (entry, word),
                Word(word) => (entry, word),
            });
        }
        let hop = |word: u64| word & 0xFFFF_FFFF;
        let answer = |&(entry, word): &(u64, u64)| if entry == 0 { hop(word) } else { entry };
        let (mut all, mut wrong) = (0, 0);
        for first in 0..states.len() {
            for second in first..states.len() {
                for third in second..states.len() {
                    let (before, entry, now) = (states[first].1, states[second].0, states[third].1);
                    if entry == 0 && !same(before, now) {
                        continue; // looks up again
                    }
                    let found = if entry == 0 { hop(now) } else { entry };
                    all += 1;
                    wrong += usize::from(!states[first..=third].iter().any(|state| answer(state) == found));
                }
            }
        }
        (all, wrong)
    }

    #[test]
    fn an_answer_is_of_a_published_table_in_every_order_of_loads_and_stores() {
        // All lists of six stores, each of which may change the entry or the word. The word takes
        // one of two next hops, so it comes back to what it was.
        let (mut all, mut wrong, mut without) = (0, 0, 0);
        for choice in 0..4_u32.pow(6) {
            let store = |at: u32| match choice >> (2 * at) & 3 {
                0 => Entry(0),
                1 => Entry(7),
                hop => Word(u64::from(at + 1) << 32 | u64::from(hop + 6)),
            };
            let stores: Vec<Store> = (0..6).map(store).collect();
            let (here, bad) = runs(&stores, |before, now| before == now);
            (all, wrong) = (all + here, wrong + bad);
            without += runs(&stores, |before, now| before as u32 == now as u32).1;
        }
        assert!(all > 10_000, "{all} runs");
        assert_eq!(wrong, 0, "of {all}");
        assert!(without > 0, "without versions some of these answers are wrong");
    }

    #[test]
    fn the_default_route_alone_is_no_change_of_both() {
        let mut rib: Rib<u32> = Rib::new();
        let mut route = |prefix: &str| {
            let prefix: Prefix<u32> = prefix.parse().unwrap();
            rib.apply(Change::Announce(Route { prefix, next_hop: NextHop(1) })).unwrap()
        };
        let (all, other, third) = (route("0.0.0.0/0"), route("10.0.0.0/8"), route("11.0.0.0/8"));
        assert!(changes_both(&[other, all]));
        assert!(!changes_both(&[all]) && !changes_both(&[other, third]) && !changes_both::<u32>(&[]));
    }
}
