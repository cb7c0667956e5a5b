//! [`Hash16`]: the routes of 49 to 64 bits, found by one hash of the address.
//!
//! # Concurrent readers
//! No entry moves. A new entry is written into a bucket before its key is. A removed entry leaves a
//! key that no address has, and searches continue past it. Such a bucket is reused after a grace
//! period, because until then a reader may still use the entry.

use super::entry::{Counting, Entry15_6, SLOTS, Slots as _, overwrite};
use super::extra::ExtraNhia;
use super::nhi::Nhi;
use fibula::Limit;
use fibula::arch::{crc32c, prefetch};
use fibula::blocks::retired::Retired;
use fibula::engine::Meter;
use fibula::memory::{Around, Pages, Pair, Published, Shareable, Words, WordsView};
use zerocopy::FromZeros;

/// What [`HASH16_ENTRIES_MAX`] limits, as errors name it.
pub(super) const HASH16_ENTRIES: &str = "Hash16 entries";

/// The most entries. With this number, a pointer of 32 bits reaches all their ExtraNHIAs.
pub const HASH16_ENTRIES_MAX: u64 = 1 << 25;

/// The bits of an address's first half that choose a slot within an entry. Those before them are
/// the entry's key.
pub(super) const SLOT_BITS: u32 = 6;

/// The key of an unused bucket, which ends a search. Like the next two keys, it is outside
/// 2000::/3.
const FREE: u64 = 0;

/// The key of a removed entry that readers may still use.
const GONE: u64 = 1;

/// The key of a removed entry that all readers have passed.
const PASSED: u64 = 2;

/// An entry of the table: the paper's triple of prefix, next hop and pointer, for 64 neighbouring
/// /64s.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
struct Bucket<N> {
    /// The first 58 bits of the addresses, or the state of a bucket without an entry.
    key: u64,
    entry: Entry15_6<N>,
}

impl<N> Bucket<N> {
    /// Returns whether it holds an entry.
    fn is_used(&self) -> bool {
        self.key > PASSED
    }
}

/// Stores the key last: a reader that loads it sees the entry.
impl<N: Nhi> Around for Bucket<N> {
    type Inner = Pair<u64, Entry15_6<N>>;

    #[inline(always)]
    fn around(Pair(key, entry): Self::Inner) -> Self {
        Self { key, entry }
    }

    #[inline(always)]
    fn inner(self) -> Self::Inner {
        Pair(self.key, self.entry)
    }
}

/// The part of the table that lookups read.
#[derive(Clone, Debug)]
pub(super) struct Hash16View<N: Nhi> {
    buckets: WordsView<Bucket<N>>,
    extra: WordsView<N>,
}

impl<N: Nhi> Hash16View<N> {
    /// Returns the next-hop index for an address's first 64 bits, whose key has this hash; "no
    /// route" if there is none.
    #[inline(always)]
    pub(super) fn get<C: Counting>(&self, high: u64, hash: u32, meter: &mut impl Meter) -> N {
        let key = key_of(high);
        let buckets = &self.buckets[..];
        let mut at = home(hash, buckets.len());
        while let Some(bucket) = buckets.get(at) {
            let (found, entry) = bucket.parts().split();
            let found = meter.load_word::<u64>(found);
            if found == key {
                return entry.get_beside::<C>((high % SLOTS as u64) as u32, &self.extra, meter);
            }
            if found == FREE {
                break;
            }
            at = if at + 1 == buckets.len() { 0 } else { at + 1 };
        }
        N::NONE
    }

    /// Prefetches the bucket where a search for this hash begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        prefetch(&self.buckets[..], home(hash, self.buckets.len()));
    }
}

/// Returns the bucket of a hash by its share of the whole range, so that any number of buckets
/// works.
#[inline(always)]
fn home(hash: u32, buckets: usize) -> usize {
    ((u64::from(hash) * buckets as u64) >> 32) as usize
}

/// An open-addressed table, half full. A key is in the first bucket, from its home bucket on, that
/// was free when it came.
#[derive(Debug)]
pub(super) struct Hash16<N: Nhi> {
    buckets: Words<Bucket<N>>,
    entries: usize,
    /// In shared tables: the number of buckets of removed entries that searches still pass.
    gone: usize,
    extra: ExtraNhia<N>,
    /// The buckets whose entries were spread.
    spread: Retired<usize>,
    /// The buckets whose entries were removed.
    retired: Retired<usize>,
    pages: Pages,
}

/// Returns the key of the entry that an address belongs to, from its first 64 bits.
#[inline(always)]
pub(super) fn key_of(high: u64) -> u64 {
    high >> SLOT_BITS
}

impl<N: Nhi> Hash16<N> {
    /// The buckets per entry.
    const SPREAD: usize = 2;

    /// A `1 / SPARE` part of the buckets is spare when the table grows, and about twice that before
    /// it shrinks.
    const SPARE: usize = 16;

    /// This number of spare buckets never matters.
    const SPARE_IGNORED: usize = 16;

    /// The buckets that a shared table has beyond those it needs, because it cannot grow.
    const ROOM: usize = 1 << 12;

    pub(super) fn new(pages: Pages) -> Self {
        let (buckets, extra) = (Words::zeroed(0, pages), ExtraNhia::new(pages));
        let (spread, retired) = (Retired::new(), Retired::new());
        Self { buckets, entries: 0, gone: 0, extra, spread, retired, pages }
    }

    /// Shares the table: other threads may read it from now on.
    pub(super) fn share(&mut self) {
        self.move_to(Self::wanted(self.entries) + Self::ROOM);
        self.extra.share();
    }

    /// Returns the view that lookups read.
    pub(super) fn view(&self) -> Hash16View<N> {
        Hash16View { buckets: self.buckets.view(), extra: self.extra.view() }
    }

    /// Updates `view` after an array has moved.
    pub(super) fn show_in(&self, view: &mut Hash16View<N>) {
        self.buckets.show_in(&mut view.buckets);
        self.extra.show_in(&mut view.extra);
    }

    /// Ends a grace period: all readers have passed what was replaced before the previous call.
    pub(super) fn readers_passed(&mut self) {
        let spread: Vec<usize> = self.spread.readers_passed().collect();
        for at in spread {
            if self.key(at) > PASSED && !self.extra.pack(&self.buckets.places(at..at + 1)[0].1) {
                self.spread.retire(at);
            }
        }
        self.extra.readers_passed();
        let passed: Vec<usize> = self.retired.readers_passed().collect();
        for mut at in passed {
            self.set_key(at, PASSED);
            // A passed bucket before a free one can be free too: every search that reaches it ends
            // at the next one.
            while self.key(at) == PASSED && self.key(self.after(at)) == FREE {
                self.set_key(at, FREE);
                self.gone -= 1;
                at = at.checked_sub(1).unwrap_or(self.buckets.len() - 1);
            }
        }
    }

    /// Returns whether there are no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns whether one more entry may be written.
    pub(super) fn has_room(&self) -> bool {
        self.extra.has_room()
    }

    /// Returns whether so much is unused that a rebuild is worth it.
    pub(super) fn is_wasteful(&self) -> bool {
        self.extra.is_wasteful()
    }

    /// Changes the slots of an entry. Adds the entry if it is missing, and removes it if no slot
    /// has an answer.
    pub(super) fn edit(&mut self, key: u64, change: impl FnOnce(&mut [N; SLOTS])) {
        let found = self.find(key);
        let mut slots = found.map_or([N::NONE; SLOTS], |at| self.slots(at));
        change(&mut slots);
        let says_something = slots != [N::NONE; SLOTS];
        match found {
            Some(at) if says_something => self.write(at, &slots),
            Some(at) => self.remove(at),
            None if says_something => self.insert(key, &slots),
            None => {}
        }
    }

    fn write(&mut self, at: usize, slots: &[N; SLOTS]) {
        let place = &self.buckets.places(at..at + 1)[0].1;
        if overwrite::<N, u64, 4>(place, slots, &self.extra) {
            return;
        }
        if self.extra.is_shared() {
            self.extra.spread(place, slots);
            self.spread.retire(at);
        } else {
            self.extra.replace::<u64, 4>(place, slots);
        }
    }

    fn slots(&self, at: usize) -> [N; SLOTS] {
        self.buckets.get(at).entry.slots(&self.extra)
    }

    fn key(&self, at: usize) -> u64 {
        self.buckets[at].parts().split().0.load()
    }

    fn set_key(&self, at: usize, key: u64) {
        key.store(&self.buckets.places(at..at + 1)[0].0);
    }

    /// Does what [`Self::edit`] does to one slot, if its entry is there.
    pub(super) fn edit_slot(&mut self, high: u64, change: impl FnOnce(N) -> N) {
        let key = key_of(high);
        if self.find(key).is_some() {
            self.edit(key, |slots| {
                let slot = &mut slots[(high % SLOTS as u64) as usize];
                *slot = change(*slot);
            });
        }
    }

    /// Frees unused capacity at the end of a build.
    pub(super) fn shrink_to_fit(&mut self) {
        self.move_to(Self::wanted(self.entries));
        self.close_holes();
        self.extra.shrink_to_fit();
    }

    /// Closes the holes between the ExtraNHIAs, if there are many.
    pub(super) fn close_many_holes(&mut self) {
        if self.extra.has_many_holes() {
            self.close_holes();
        }
    }

    fn close_holes(&mut self) {
        let old = self.extra.start_afresh();
        let buckets = self.buckets.places(0..self.buckets.len());
        self.extra.move_in::<u64, 4>(&old, buckets.iter().map(|Pair(_, entry)| entry));
    }

    /// Checks that `more` more entries fit.
    pub(super) fn check_room(&self, more: u64) -> Result<(), Limit> {
        if self.extra.is_shared() {
            let (taken, most) = ((self.entries + self.gone) as u64 + more, self.buckets.len() as u64 / 4 * 3);
            Limit::check("Hash16 entries that fit beside each other", taken, most)?;
        }
        Limit::check(HASH16_ENTRIES, self.entries as u64 + more, HASH16_ENTRIES_MAX)
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Returns the number of buckets, free ones included.
    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Returns the bytes of the buckets, and of the ExtraNHIAs.
    pub(super) fn bytes(&self) -> (usize, usize) {
        (size_of_val(&self.buckets[..]), self.extra.bytes())
    }

    /// Iterates over the buckets that hold an entry, with their indices.
    fn used(&self) -> impl Iterator<Item = (usize, Bucket<N>)> {
        let all = (0..self.buckets.len()).map(|at| (at, self.buckets.get(at)));
        all.filter(|(_, bucket)| bucket.is_used())
    }

    /// Returns the number of entries that have an ExtraNHIA.
    pub(super) fn in_extra(&self) -> usize {
        self.used().filter(|(_, bucket)| bucket.entry.extra().is_some()).count()
    }

    /// Returns the number of buckets that the longest search for an entry reads.
    pub(super) fn longest_search(&self) -> usize {
        let len = self.buckets.len();
        let searched =
            |(at, bucket): (usize, Bucket<N>)| (at + len - self.home(crc32c(bucket.key))) % len + 1;
        self.used().map(searched).max().unwrap_or(0)
    }

    /// Checks the bookkeeping, and that all answers equal those of `fresh`.
    pub(super) fn validate(&self, fresh: &Self) -> Result<(), String> {
        self.extra.validate()?;
        let entries = self.used().count();
        if (entries, entries) != (self.entries, fresh.entries) {
            return Err(format!("{entries} Hash16 entries of {}, expected {}", self.entries, fresh.entries));
        }
        let gone = (0..self.buckets.len()).filter(|&at| [GONE, PASSED].contains(&self.key(at))).count();
        if gone != self.gone {
            return Err(format!("{gone} Hash16 entries are gone, expected {}", self.gone));
        }
        let mut in_extra = 0;
        for (_, Bucket { key, entry }) in self.used() {
            let of = |table: &Self| table.find(key).map(|at| table.slots(at));
            if of(self) != of(fresh) {
                return Err(format!("Hash16 entry {key:#x}/58: not what a build gives, or not found"));
            }
            in_extra += entry.extra().map_or(0, |(_, len)| len);
        }
        if in_extra != self.extra.used() {
            return Err(format!("Hash16: {in_extra} ExtraNHIA indices of {} are reached", self.extra.used()));
        }
        Ok(())
    }

    /// Returns the bucket of a key.
    fn find(&self, key: u64) -> Option<usize> {
        let mut at = self.home(crc32c(key));
        loop {
            match self.buckets[..].get(at)?.parts().split().0.load() {
                found if found == key => return Some(at),
                FREE => return None,
                _ => at = self.after(at),
            }
        }
    }

    /// Adds an entry in the first unused bucket from its home bucket on.
    fn insert(&mut self, key: u64, slots: &[N; SLOTS]) {
        self.entries += 1;
        if self.entries * Self::SPREAD > self.buckets.len() && !self.extra.is_shared() {
            self.move_to(Self::wanted(self.entries));
        }
        let at = self.place_for(key);
        if self.key(at) == PASSED {
            self.gone -= 1;
            self.spread.retain(|&waiting| waiting != at);
        }
        self.buckets.set(at, Bucket { key, entry: self.extra.entry(slots) });
    }

    /// Returns the first unused bucket for a key.
    fn place_for(&self, key: u64) -> usize {
        let mut at = self.home(crc32c(key));
        while ![FREE, PASSED].contains(&self.key(at)) {
            at = self.after(at);
        }
        at
    }

    /// Frees a bucket.
    fn remove(&mut self, at: usize) {
        self.entries -= 1;
        self.extra.release(&self.buckets.get(at).entry);
        if self.extra.is_shared() {
            self.set_key(at, GONE);
            self.gone += 1;
            self.retired.retire(at);
            return;
        }
        self.close(at);
        let wanted = Self::wanted(self.entries);
        if wanted + wanted / Self::SPARE + Self::SPARE_IGNORED < self.buckets.len() {
            self.move_to(wanted);
        }
    }

    /// Closes the hole of a removed entry: entries whose search passes the hole move up.
    fn close(&mut self, mut hole: usize) {
        let mut at = hole;
        loop {
            at = self.after(at);
            let bucket = self.buckets.get(at);
            if bucket.key == FREE {
                break;
            }
            let home = self.home(crc32c(bucket.key));
            // The bucket's distance from its home, and from the hole, counted around the end.
            let len = self.buckets.len();
            if (at + len - home) % len >= (at + len - hole) % len {
                self.buckets.set(hole, bucket);
                hole = at;
            }
        }
        self.buckets.set(hole, Bucket::new_zeroed());
    }

    /// Moves all entries to a table of `buckets` buckets.
    fn move_to(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, Words::zeroed(buckets, self.pages));
        for bucket in old.iter().map(Published::load).filter(Bucket::is_used) {
            self.buckets.set(self.place_for(bucket.key), bucket);
        }
    }

    fn wanted(entries: usize) -> usize {
        let needed = entries * Self::SPREAD;
        needed + needed / Self::SPARE
    }

    fn home(&self, hash: u32) -> usize {
        home(hash, self.buckets.len())
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }
}
