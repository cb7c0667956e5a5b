//! [`Hash16`]: the routes of 49 to 64 bits, found by one hash of the address.

use super::entry::{Entry15_6, ExtraNhia, SLOTS};
use super::nhi::Nhi;
use crate::Limit;
use crate::arch::{crc32c, prefetch};
use crate::engine::Meter;
use crate::memory::{Array, Pages};
use zerocopy::FromZeros;

/// What [`HASH16_ENTRIES_MAX`] limits, as errors name it.
pub(super) const HASH16_ENTRIES: &str = "Hash16 entries";

/// The most entries: so many that every ExtraNHIA of theirs is within a pointer of 32 bits.
pub const HASH16_ENTRIES_MAX: u64 = 1 << 25;

/// The bits of an address's first half that pick a slot within an entry; those before them are the entry's key.
pub(super) const SLOT_BITS: u32 = 6;

/// An entry of the table: the paper's triple of prefix, next hop and pointer, for 64 neighbouring /64.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
struct Bucket<N> {
    /// The first 58 bits of the addresses; 0 where the bucket is free (2000::/3 has no such key).
    key: u64,
    entry: Entry15_6<N>,
}

/// An open-addressed table, half full: a key stands in the first bucket from its own on that was free.
#[derive(Clone, Debug)]
pub(super) struct Hash16<N: Copy> {
    buckets: Array<Bucket<N>>,
    entries: usize,
    extra: ExtraNhia<N>,
    pages: Pages,
}

/// The key of the entry that an address belongs to, from its first 64 bits.
#[inline(always)]
pub(super) fn key_of(high: u64) -> u64 {
    high >> SLOT_BITS
}

impl<N: Nhi> Hash16<N> {
    /// Buckets for one entry.
    const SPREAD: usize = 2;

    /// Spare buckets are one part in so many when the table grows, and about twice that before it shrinks.
    const SPARE: usize = 16;

    /// This much spare never matters.
    const SPARE_IGNORED: usize = 16;

    pub(super) fn new(pages: Pages) -> Self {
        Self { buckets: Array::new(pages), entries: 0, extra: ExtraNhia::new(pages), pages }
    }

    /// The next-hop index for an address's first 64 bits, whose key has this hash; "no route" if there is none.
    #[inline(always)]
    pub(super) fn get(&self, high: u64, hash: u32, meter: &mut impl Meter) -> N {
        let key = key_of(high);
        let mut at = self.home(hash);
        while let Some(place) = self.buckets.get(at) {
            let bucket = meter.load(place);
            if bucket.key == key {
                return bucket.entry.pick((high % SLOTS as u64) as u32, &self.extra, meter);
            }
            if bucket.key == 0 {
                break;
            }
            at = self.after(at);
        }
        N::NONE
    }

    /// Asks for the bucket where a search for this hash begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        prefetch(&self.buckets, self.home(hash));
    }

    /// Changes the slots of an entry, which is made if it is not there and goes when no slot says anything.
    pub(super) fn edit(&mut self, key: u64, change: impl FnOnce(&mut [N; SLOTS])) {
        let at = self.find(key).unwrap_or_else(|| self.insert(key));
        let entry = &mut self.buckets[at].entry;
        let mut slots = entry.slots(&self.extra);
        change(&mut slots);
        entry.set_slots(&slots, &mut self.extra);
        if *entry == Entry15_6::uniform(N::NONE) {
            self.remove(at);
        }
    }

    /// As [`Self::edit`] of one slot, if its entry is there.
    pub(super) fn edit_slot(&mut self, high: u64, change: impl FnOnce(N) -> N) {
        let key = key_of(high);
        if self.find(key).is_some() {
            self.edit(key, |slots| {
                let slot = &mut slots[(high % SLOTS as u64) as usize];
                *slot = change(*slot);
            });
        }
    }

    /// Gives unused capacity back, at the end of a build.
    pub(super) fn shrink_to_fit(&mut self) {
        self.resize();
        self.close_holes();
        self.extra.shrink_to_fit();
    }

    /// Closes the holes between its ExtraNHIAs, if there are many.
    pub(super) fn close_many_holes(&mut self) {
        if self.extra.has_many_holes() {
            self.close_holes();
        }
    }

    fn close_holes(&mut self) {
        let old = self.extra.start_afresh();
        self.extra.move_in(&old, self.buckets.iter_mut().map(|bucket| &mut bucket.entry));
    }

    /// Whether so many more entries fit.
    pub(super) fn check_room(&self, more: u64) -> Result<(), Limit> {
        Limit::check(HASH16_ENTRIES, self.entries as u64 + more, HASH16_ENTRIES_MAX)
    }

    /// The entries in use.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// The buckets, free ones included.
    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The bytes of the buckets, and of the ExtraNHIAs.
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.buckets.bytes(), self.extra.bytes())
    }

    /// How many entries have an ExtraNHIA.
    pub(super) fn in_extra(&self) -> usize {
        self.buckets.iter().filter(|bucket| bucket.entry.extra().is_some()).count()
    }

    /// How many buckets the longest search for an entry reads.
    pub(super) fn longest_search(&self) -> usize {
        let len = self.buckets.len();
        let searched =
            |(at, bucket): (usize, &Bucket<N>)| (at + len - self.home(crc32c(bucket.key))) % len + 1;
        self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.key != 0).map(searched).max().unwrap_or(0)
    }

    /// Checks the books, and that it answers as another does.
    pub(super) fn validate(&self, fresh: &Self) -> Result<(), String> {
        self.extra.validate()?;
        let used = self.buckets.iter().filter(|bucket| bucket.key != 0);
        let entries = used.clone().count();
        if (entries, entries) != (self.entries, fresh.entries) {
            return Err(format!("{entries} Hash16 entries of {}, expected {}", self.entries, fresh.entries));
        }
        let mut in_extra = 0;
        for bucket in used {
            let of =
                |table: &Self| table.find(bucket.key).map(|at| table.buckets[at].entry.slots(&table.extra));
            if of(self) != of(fresh) {
                return Err(format!(
                    "Hash16 entry {:#x}/58: not what a build gives, or not found",
                    bucket.key
                ));
            }
            in_extra += bucket.entry.extra().map_or(0, |(_, len)| len);
        }
        if in_extra != self.extra.used() {
            return Err(format!("Hash16: {in_extra} ExtraNHIA indices of {} are reached", self.extra.used()));
        }
        Ok(())
    }

    /// The bucket of a key.
    fn find(&self, key: u64) -> Option<usize> {
        let mut at = self.home(crc32c(key));
        while self.buckets.get(at)?.key != key {
            if self.buckets[at].key == 0 {
                return None;
            }
            at = self.after(at);
        }
        Some(at)
    }

    /// A bucket for a new key.
    fn insert(&mut self, key: u64) -> usize {
        self.entries += 1;
        if self.entries * Self::SPREAD > self.buckets.len() {
            self.resize();
        }
        self.place(Bucket { key, entry: Entry15_6::uniform(N::NONE) })
    }

    /// Puts an entry into the first free bucket from its own on.
    fn place(&mut self, bucket: Bucket<N>) -> usize {
        let mut at = self.home(crc32c(bucket.key));
        while self.buckets[at].key != 0 {
            at = self.after(at);
        }
        self.buckets[at] = bucket;
        at
    }

    /// Frees a bucket and closes the hole: what a search for another key passes here moves up.
    fn remove(&mut self, mut hole: usize) {
        self.entries -= 1;
        let mut at = hole;
        loop {
            at = self.after(at);
            let bucket = self.buckets[at];
            if bucket.key == 0 {
                break;
            }
            let home = self.home(crc32c(bucket.key));
            // How far the bucket is from its home, and the hole from it, counted around the end.
            let len = self.buckets.len();
            if (at + len - home) % len >= (at + len - hole) % len {
                self.buckets[hole] = bucket;
                hole = at;
            }
        }
        self.buckets[hole] = Bucket::new_zeroed();
        let wanted = Self::wanted(self.entries);
        if wanted + wanted / Self::SPARE + Self::SPARE_IGNORED < self.buckets.len() {
            self.resize();
        }
    }

    /// Moves all entries to as many buckets as they are to have.
    fn resize(&mut self) {
        let buckets = Array::zeroed(Self::wanted(self.entries), self.pages);
        let old = std::mem::replace(&mut self.buckets, buckets);
        for &bucket in old.iter().filter(|bucket| bucket.key != 0) {
            self.place(bucket);
        }
    }

    fn wanted(entries: usize) -> usize {
        let needed = entries * Self::SPREAD;
        needed + needed / Self::SPARE
    }

    /// The bucket of a hash: its share of the whole range, so that any number of buckets will do.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }
}
