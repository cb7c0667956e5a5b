//! [`Fallback`]: the next hop of a default route, beside the table of an engine.
//!
//! An address that no longer route covers has the next hop of the default route. Written into the
//! table, it would be in most entries, and a default route that comes or goes would write them all.
//! So an engine with a fallback compiles the other routes only. The answer *no route* then stands
//! for the fallback, which is one word. A batch has it filled in at the end: one comparison and one
//! choice for as many answers as a vector holds.

use crate::engine::{Meter, Width};
use crate::memory::{Array, Pages, Words, WordsView};
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Error, Prefix, Rib};
use std::hint::select_unpredictable;

/// The name of the section.
const NAME: &str = "default route";

/// The next hop of a default route; that of no route if there is none.
#[derive(Clone, Debug)]
pub(crate) struct Fallback<W: Width>(Words<W>);

/// The same, as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct FallbackView<W: Width>(WordsView<W>);

impl<W: Width> Fallback<W> {
    /// Returns that of a table.
    pub(crate) fn of<A: Address>(rib: &Rib<A>) -> Self {
        let fallback = Self(Words::zeroed(1, Pages::Small));
        fallback.follow(rib);
        fallback
    }

    /// Takes the default route of a table, which readers see at once. O(log n).
    pub(crate) fn follow<A: Address>(&self, rib: &Rib<A>) {
        self.0.set(0, W::narrow(rib.get(Prefix::ALL).unwrap_or_default()));
    }

    /// Returns the view that lookups read.
    pub(crate) fn view(&self) -> FallbackView<W> {
        FallbackView(self.0.view())
    }

    /// Checks that it is that of a table.
    pub(crate) fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        let (here, expected) = (self.0.get(0).widen(), rib.get(Prefix::ALL).unwrap_or_default());
        if here == expected { Ok(()) } else { Err(format!("the default route's next hop is {here:?}")) }
    }

    /// Adds it to a snapshot.
    pub(crate) fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.number(NAME, self.0.get(0).widen().0.into());
    }
}

impl<W: Width> FallbackView<W> {
    /// Reads it from a snapshot. Where there is none, the default route is in the table.
    pub(crate) fn open(sections: &Sections<'_>) -> Result<Self, Error> {
        let next_hop = if sections.has(NAME) { sections.number(NAME)? } else { 0 };
        let mut one = Array::new(Pages::Small);
        one.push(W::narrow(crate::NextHop(next_hop as u32 & W::MAX)));
        Ok(Self(WordsView::holding(one)))
    }

    /// Returns the answer of an address for which the table says `answer`.
    #[inline(always)]
    pub(crate) fn answer(&self, answer: W, meter: &mut impl Meter) -> W {
        let fallback = meter.load_word::<W>(&self.0[0]);
        select_unpredictable(answer == W::default(), fallback, answer)
    }

    /// Fills in the answers of a batch.
    #[inline(always)]
    pub(crate) fn fill(&self, next_hops: &mut [W]) {
        let fallback = self.0[0].load();
        if fallback == W::default() {
            return;
        }
        for next_hop in next_hops {
            *next_hop = if *next_hop == W::default() { fallback } else { *next_hop };
        }
    }
}
