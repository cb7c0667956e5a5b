//! [`Fallback`]: the next hop of a default route, beside the table of an engine.
//!
//! An address that no longer route covers has the next hop of the default route. Written into the
//! table, it would be in most entries, and a default route that comes or goes would write them all.
//! So an engine with a fallback compiles the other routes only. The answer *no route* then stands
//! for the fallback, which is one word. A batch has it filled in at the end: one comparison and one
//! choice for as many answers as a vector holds.
//!
//! # Layout
//! ```text
//!   63                     32 31                      0
//! +--------------------------+-------------------------+
//! |  version: changes so far |        next hop         |
//! +--------------------------+-------------------------+
//! ```
//!
//! # Concurrent readers
//! One publication may change the default route and other routes. An answer is then put together
//! from two words: a cell of the table, and the fallback. No order of two stores and two loads
//! shows each reader the old or the new answer. Three things together do:
//!
//! - A reader loads the fallback, then the cell. If the cell is *no route*, it loads the fallback
//!   again, and begins again if the version has changed. So both words had their values at the
//!   moment when the cell was loaded.
//! - The writer gives a cell that was *no route* its next hop before it stores the fallback, and
//!   makes a cell *no route* after that ([`steps`]). So every address goes from its old answer to
//!   its new one by one store.
//! - One word of an engine may lead to the cells of many addresses, some of which get a route while
//!   others lose theirs. Then the engine compiles its changes in two passes ([`Routes`]): before
//!   the fallback is stored, the new and changed routes, with the withdrawn ones where no other is;
//!   after that, what is withdrawn.
//!
//! A reader starts again only if the default route has changed during its lookup. In a batch that
//! looks up the addresses without a route one by one. The version would repeat after 2^32 changes
//! of the default route during one lookup.

use crate::engine::{Meter, Unmetered, Width};
use crate::memory::{OneWord, OneWordView};
use crate::rib::Range;
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Delta, Error, NextHop, Prefix, Rib};
use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::atomic::{Ordering, fence};

#[cfg(test)]
mod tests;

/// The name of the section.
const NAME: &str = "default route";

/// The position of the version in the word.
const VERSION_AT: u32 = 32;

/// The next hop of a default route; that of no route if there is none.
#[derive(Clone, Debug)]
pub(crate) struct Fallback<W: Width>(OneWord, PhantomData<W>);

/// The same, as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct FallbackView<W: Width>(OneWordView, PhantomData<W>);

/// The fallback at the beginning of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(u64);

impl Seen {
    #[inline(always)]
    fn next_hop<W: Width>(self) -> W {
        W::narrow(NextHop(self.0 as u32))
    }
}

impl<W: Width> Fallback<W> {
    /// Returns that of a table.
    pub(crate) fn of<A: Address>(rib: &Rib<A>) -> Self {
        Self(OneWord::new(of_default(rib).0.into()), PhantomData)
    }

    /// Takes the default route of a table, which readers see at once. O(log n).
    pub(crate) fn follow<A: Address>(&self, rib: &Rib<A>) {
        let (word, next_hop) = (self.0.get(), of_default(rib));
        if word as u32 != next_hop.0 {
            let version = (word >> VERSION_AT).wrapping_add(1);
            self.0.set(version << VERSION_AT | u64::from(next_hop.0));
        }
    }

    /// Returns the view that lookups read.
    pub(crate) fn view(&self) -> FallbackView<W> {
        FallbackView(self.0.view(), PhantomData)
    }

    /// Returns its next hop.
    fn next_hop(&self) -> NextHop {
        NextHop(self.0.get() as u32)
    }

    /// Checks that it is that of a table.
    pub(crate) fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        let (here, expected) = (self.next_hop(), of_default(rib));
        if here == expected { Ok(()) } else { Err(format!("the default route's next hop is {here:?}")) }
    }

    /// Adds it to a snapshot, without its version.
    pub(crate) fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.number(NAME, self.next_hop().0.into());
    }
}

/// Returns the next hop of the default route.
fn of_default<A: Address>(rib: &Rib<A>) -> NextHop {
    rib.get(Prefix::ALL).unwrap_or_default()
}

impl<W: Width> FallbackView<W> {
    /// Reads it from a snapshot. Where there is none, the default route is in the table.
    pub(crate) fn open(sections: &Sections<'_>) -> Result<Self, Error> {
        let next_hop = if sections.has(NAME) { sections.number(NAME)? } else { 0 };
        let word = u64::from(next_hop as u32 & W::MAX);
        Ok(Self(OneWord::new(word).view(), PhantomData))
    }

    /// Returns the word as it is before a lookup reads the table.
    #[inline(always)]
    pub(crate) fn before(&self, meter: &mut impl Meter) -> Seen {
        Seen(meter.load_word::<u64>(&self.0))
    }

    /// Returns the answer of an address for which the table says `found`, or `None` if the default
    /// route has changed since `before`.
    ///
    /// The word is compared whatever the table says. A branch on that is mispredicted where
    /// addresses with and without a route alternate.
    #[inline(always)]
    pub(crate) fn answer(&self, before: Seen, found: W, meter: &mut impl Meter) -> Option<W> {
        let is_same = meter.load_again::<u64>(&self.0) == before.0;
        is_same.then(|| select_unpredictable(found == W::default(), before.next_hop(), found))
    }

    /// Returns the answer of an address for which the table says what `of_table` returns, once the
    /// default route stays as it is meanwhile. For [`answer`](Self::answer), out of line: what a
    /// loop keeps for its next round, the others would pay for.
    pub(crate) fn answer_again<M: Meter>(&self, meter: &mut M, of_table: impl Fn(&mut M) -> W) -> W {
        loop {
            let before = self.before(meter);
            let found = of_table(meter);
            if found != W::default() {
                return found;
            }
            if let Some(answer) = self.answer(before, found, meter) {
                return answer;
            }
        }
    }

    /// Fills in the answers of a batch, before which the word was `before`. Returns whether it did:
    /// not if the default route has changed since.
    #[inline(always)]
    pub(crate) fn fill(&self, before: Seen, next_hops: &mut [W]) -> bool {
        // What a vector gathers is not ordered before later loads by itself.
        fence(Ordering::Acquire);
        if self.0.load() != before.0 {
            return false;
        }
        let fallback = before.next_hop();
        if fallback != W::default() {
            for next_hop in next_hops {
                *next_hop = if *next_hop == W::default() { fallback } else { *next_hop };
            }
        }
        true
    }

    /// Fills in the answers of a batch if the default route has changed. Looks up the addresses
    /// without a route one by one: a whole batch might never be faster than the changes.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill_again<A: Address>(
        &self,
        addresses: &[A],
        next_hops: &mut [W],
        of_table: impl Fn(A) -> W,
    ) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            if *next_hop == W::default() {
                *next_hop = self.answer_again(&mut Unmetered, |_| of_table(address));
            }
        }
    }
}

/// The changes that an engine with a fallback compiles in one pass, and the routes by which it
/// does.
#[derive(Debug)]
pub(crate) struct Routes<'r, A: Address> {
    rib: &'r Rib<A>,
    pass: Pass<A>,
}

/// Which changes are compiled.
#[derive(Debug)]
enum Pass<A: Address> {
    /// All of them.
    Only,
    /// Those of routes that are still there. The routes that are not are in this table.
    BeforeDefault(Rib<A>),
    /// The withdrawn routes.
    AfterDefault,
}

impl<'r, A: Address> Routes<'r, A> {
    /// Returns the routes of a table.
    pub(crate) fn of(rib: &'r Rib<A>) -> Self {
        Self { rib, pass: Pass::Only }
    }

    /// Returns the table, without withdrawn routes.
    pub(crate) fn rib(&self) -> &'r Rib<A> {
        self.rib
    }

    /// Returns those of the changes that are compiled in this pass, but for the default route's.
    pub(crate) fn changes<'d>(&self, deltas: &'d [Delta<A>]) -> impl Iterator<Item = &'d Delta<A>> {
        let of_which = match self.pass {
            Pass::Only => [true, true],
            Pass::BeforeDefault(_) => [false, true],
            Pass::AfterDefault => [true, false],
        };
        let is_one = move |delta: &&Delta<A>| of_which[usize::from(delta.after.is_some())];
        deltas.iter().filter(|delta| delta.prefix != Prefix::ALL).filter(is_one)
    }

    /// Returns the withdrawn routes if they are to be compiled where no other route is.
    pub(crate) fn withdrawn(&self) -> Option<&Rib<A>> {
        match &self.pass {
            Pass::BeforeDefault(withdrawn) => Some(withdrawn),
            Pass::Only | Pass::AfterDefault => None,
        }
    }

    /// Returns the intervals of `within` by the routes of these lengths, and by the `withdrawn`
    /// ones where there is none. Neighbours may have equal answers.
    pub(crate) fn ranges_beside(
        &self,
        withdrawn: &Rib<A>,
        lengths: RangeInclusive<u8>,
        within: Prefix<A>,
    ) -> impl Iterator<Item = Range<A>> {
        let ranges = self.rib.of_lengths(lengths.clone()).ranges_within(within);
        // The longest of them is the one that was there: all that covered the address are gone.
        let withdrawn = withdrawn.of_lengths(lengths);
        ranges.flat_map(move |range| {
            let (whole, empty) =
                if range.next_hop.is_some() { (Some(range), None) } else { (None, Some(range)) };
            let parts = empty.into_iter().flat_map(Range::prefixes);
            whole.into_iter().chain(parts.flat_map(move |part| withdrawn.ranges_within(part)))
        })
    }
}

/// A step of a publication. An engine takes them in order.
#[derive(Debug)]
pub(crate) enum Step<'r, A: Address> {
    /// Compile changes by routes.
    Table(Routes<'r, A>),
    /// [Follow](Fallback::follow) the default route.
    Default,
}

impl<'r, A: Address> Step<'r, A> {
    /// Returns the routes, if this step compiles any.
    pub(crate) fn routes(&self) -> Option<&Routes<'r, A>> {
        match self {
            Self::Table(routes) => Some(routes),
            Self::Default => None,
        }
    }
}

/// The steps of a publication.
pub(crate) type Steps<'r, A> = [Option<Step<'r, A>>; 3];

/// Returns the steps by which an engine goes to `rib`, which has just changed by `deltas`. See the
/// [module](self) for what they are if others read.
pub(crate) fn steps<'r, A: Address>(rib: &'r Rib<A>, deltas: &[Delta<A>], is_shared: bool) -> Steps<'r, A> {
    let table = |pass| Some(Step::Table(Routes { rib, pass }));
    let (default, others) =
        (Some(Step::Default), || deltas.iter().filter(|delta| delta.prefix != Prefix::ALL));
    if deltas.iter().all(|delta| delta.prefix != Prefix::ALL) {
        return [table(Pass::Only), None, None];
    }
    if !is_shared || others().all(|delta| delta.after.is_some()) {
        return [table(Pass::Only), default, None];
    }
    if others().all(|delta| delta.before.is_some()) {
        return [default, table(Pass::Only), None];
    }
    let mut withdrawn = Rib::new();
    for delta in others().filter(|delta| !delta.after.is_some()) {
        withdrawn.insert(delta.prefix, delta.before);
    }
    [table(Pass::BeforeDefault(withdrawn)), default, table(Pass::AfterDefault)]
}
