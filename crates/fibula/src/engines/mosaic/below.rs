//! [`Below`]: how a table stores the answers of /24s with more-specific routes, and how it marks
//! such a /24 in its tile.

use super::root::TileNumber;
use super::tiles::Tiles;
use super::view::MosaicView;
use super::{BELOW, SLOTS, TILE};
use crate::Error;
use crate::engine::{Config, Meter, Width};
use crate::memory::{Pages, Published};
use crate::sections::{SectionWriter, Sections};
use std::fmt::Debug;

/// A store of 256 answers, one per address, for each /24 with more-specific routes.
///
/// A tile holds an *entry* for each /24: its answer, or a mark. The number of a /24 is its first 24
/// bits.
pub(crate) trait Below<W: Width>: Clone + Debug + Send + Sync + Sized + 'static {
    /// The entries of a tile.
    type Entry: Width;
    /// What lookups read.
    type View: BelowView<W, Self::Entry>;

    /// The least answer that readers cannot tell from a mark.
    const MARK: u32;

    /// See [`Lookup::FEW`](crate::engine::Lookup::FEW).
    const FEW: usize = 6;

    /// Returns an empty store.
    fn new(pages: Pages) -> Self;

    /// Returns the entry of a /24 that has one answer.
    fn entry(answer: W) -> Self::Entry;

    /// Returns the answer of a /24 that has this `entry`, which is no mark.
    fn answer(entry: Self::Entry) -> W;

    /// Returns whether the /24 with this `number` has no mark now, but readers that have loaded an
    /// earlier one still find what is stored under its number.
    fn is_leaving(&self, _number: u32) -> bool {
        false
    }

    /// Returns a bound of the number of such /24s among those of `longer` routes longer than /24.
    fn most_marked_again(&self, _longer: usize) -> usize {
        0
    }

    /// Stores the answers of the /24 with this `number` and returns its mark. The tile with that
    /// mark must be [kept](Self::keep) before [`settle`](Self::settle) is called.
    fn mark(&mut self, number: u32, answers: &[W; BELOW]) -> Self::Entry;

    /// Removes what is stored under the numbers of the /24s from `first` on, which have these
    /// `entries`. Returns whether the other /24s with equal entries must be removed by themselves.
    fn unmark(&mut self, entries: &[Self::Entry], first: u32) -> bool;

    /// Adds the references of a tile that was just created.
    fn keep(&mut self, _: &[Self::Entry; TILE]) {}

    /// Removes the references of a tile that was just freed.
    fn forget(&mut self, _: impl FnOnce() -> [Self::Entry; TILE]) {}

    /// Frees the answers that were stored by [`mark`](Self::mark) and are in no tile.
    fn settle(&mut self) {}

    /// Copies what is stored under the numbers of /24s from `piece`, which has painted other /24s.
    fn join(&mut self, piece: &Self);

    /// Returns the entry here of a tile of `piece`, as [`mark`](Self::mark) would.
    fn taken_over(&mut self, entry: Self::Entry, piece: &Self) -> Self::Entry;

    /// Shares the store: other threads may read it from now on.
    fn share(&mut self);

    /// Ends a grace period: every reader has passed what was changed before the previous call.
    fn readers_passed(&mut self);

    /// Returns whether changes of `longer` routes longer than /24 fit without moving an array,
    /// where `painted` /24s are painted. `marked` counts the marks that the changes may paint
    /// again.
    fn has_room(&self, longer: usize, painted: usize, marked: impl FnOnce() -> usize) -> bool;

    /// Returns whether it is time to [`compact`](Self::compact).
    fn is_sparse(&self) -> bool;

    /// Frees all unused memory. Returns the new numbers of all blocks that marks name, if marks
    /// name any. O(all).
    fn compact(&mut self) -> Option<Vec<u32>>;

    /// Returns the entry after blocks were renumbered.
    fn renumbered(entry: Self::Entry, _: &[u32]) -> Self::Entry {
        entry
    }

    /// Returns the number of /24s and the number of different 256 answers. `marked` counts the
    /// marks of the table.
    fn counts(&self, marked: impl FnOnce() -> usize) -> (usize, usize);

    /// Returns the bytes that lookups read.
    fn bytes(&self) -> usize;

    /// Returns the bytes that only updates read.
    fn book_bytes(&self) -> usize;

    /// Returns whether this entry, and the `other` of the table `fresh`, stand for the same
    /// answers.
    fn is_same(&self, entry: Self::Entry, fresh: &Self, other: Self::Entry) -> bool;

    /// Checks the bookkeeping, and what is stored under numbers of /24s against `fresh`. `tiles`
    /// are all that are in use.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    fn validate(&self, fresh: &Self, tiles: impl Iterator<Item = [Self::Entry; TILE]>) -> Result<(), String>;

    /// Returns the view that lookups read.
    fn view(&self) -> Self::View;

    /// Updates `view` after an array has moved.
    fn show_in(&self, view: &mut Self::View);

    /// Passes what lookups read to a snapshot.
    fn save(&self, sections: &mut SectionWriter<'_>);

    /// Returns the view that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If a section is missing, or has another size than lookups rely on.
    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self::View, Error>;

    /// Looks up all addresses.
    fn look_up<T: TileNumber, F: Tiles<Self::Entry>>(
        table: &MosaicView<W, F, Self>,
        root: &[Published<T>; SLOTS],
        addresses: &[u32],
        next_hops: &mut [W],
    );
}

/// The part of a [`Below`] that lookups read.
pub(crate) trait BelowView<W: Width, E: Width>: Clone + Debug + Send + Sync + 'static {
    /// Returns whether the answer of an entry is searched for.
    fn is_far(entry: E) -> bool;

    /// Returns the answer of `address`, whose /24 has this `entry`.
    fn answer(&self, entry: E, address: u32, meter: &mut impl Meter) -> W;
}
