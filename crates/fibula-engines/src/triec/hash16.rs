//! [`Hash16`]: the routes of 49 to 64 bits, found by one hash of the address.

use super::entry::{Atlas, Counting, Entry, SLOTS};
use super::extra::ExtraNhia;
use super::nhi::Nhi;
use super::table::HASHED_TO;
use fibula::Limit;
use fibula::engine::Meter;
use fibula::parts::arch::{crc32c, prefetch};
use fibula::parts::memory::{Array, Pages};
use zerocopy::FromZeros;

/// What [`HASH16_ENTRIES_MAX`] limits, as errors name it.
pub(super) const HASH16_ENTRIES: &str = "Hash16 entries";

/// The most entries. With this number, a pointer of 32 bits reaches all their ExtraNHIAs.
pub const HASH16_ENTRIES_MAX: u64 = 1 << 25;

/// The key of an unused bucket, which ends a search. It is outside 2000::/3.
const FREE: u64 = 0;

/// An entry of the table: the paper's triple of prefix, next hop and pointer, for as many
/// neighbouring /64s as the BitAtlas maps.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
struct Bucket<N, M, const HELD: usize> {
    /// The first bits of the addresses, or [`FREE`].
    key: u64,
    entry: Entry<N, M, HELD>,
}

impl<N, M, const HELD: usize> Bucket<N, M, HELD> {
    /// Returns whether it holds an entry.
    fn is_used(&self) -> bool {
        self.key != FREE
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
pub(super) struct Hash16<N: Nhi, M: Atlas, const HELD: usize> {
    buckets: Array<Bucket<N, M, HELD>>,
    entries: usize,
    extra: ExtraNhia<N>,
    pages: Pages,
}

impl<N: Nhi, M: Atlas, const HELD: usize> Hash16<N, M, HELD> {
    /// The bits of an address's first half that choose a slot within an entry. Those before them
    /// are the entry's key.
    const SLOT_BITS: u32 = M::SLOTS.ilog2();

    /// The bits of a key.
    pub(super) const KEY_BITS: u8 = HASHED_TO - Self::SLOT_BITS as u8;

    /// The buckets per entry.
    const SPREAD: usize = 2;

    /// A `1 / SPARE` part of the buckets is spare when the table grows, and about twice that before
    /// it shrinks.
    const SPARE: usize = 16;

    /// This number of spare buckets never matters.
    const SPARE_IGNORED: usize = 16;

    pub(super) fn new(pages: Pages) -> Self {
        Self { buckets: Array::zeroed(0, pages), entries: 0, extra: ExtraNhia::new(pages), pages }
    }

    /// Returns the key of the entry that an address belongs to, from its first 64 bits.
    #[inline(always)]
    pub(super) fn key_of(high: u64) -> u64 {
        high >> Self::SLOT_BITS
    }

    /// Returns the next-hop index for an address's first 64 bits, whose key has this hash; "no
    /// route" if there is none.
    #[inline(always)]
    pub(super) fn get<C: Counting>(&self, high: u64, hash: u32, meter: &mut impl Meter) -> N {
        let key = Self::key_of(high);
        let buckets = &self.buckets[..];
        let mut at = home(hash, buckets.len());
        while let Some(bucket) = buckets.get(at) {
            let found = meter.load(&bucket.key);
            if found == key {
                let slot = (high % M::SLOTS as u64) as u32;
                return bucket.entry.get_beside::<C>(slot, self.extra.indices(), meter);
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

    /// Changes the slots of an entry. Adds the entry if it is missing, and removes it if no slot
    /// has an answer.
    pub(super) fn edit(&mut self, key: u64, change: impl FnOnce(&mut [N; SLOTS])) {
        let found = self.find(key);
        let mut slots = found.map_or([N::NONE; SLOTS], |at| self.slots(at));
        change(&mut slots);
        let says_something = slots != [N::NONE; SLOTS];
        match found {
            Some(at) if says_something => self.extra.replace(&mut self.buckets[at].entry, &slots),
            Some(at) => self.remove(at),
            None if says_something => self.insert(key, &slots),
            None => {}
        }
    }

    fn slots(&self, at: usize) -> [N; SLOTS] {
        self.buckets[at].entry.slots(&self.extra)
    }

    /// Does what [`Self::edit`] does to one slot, if its entry is there.
    pub(super) fn edit_slot(&mut self, high: u64, change: impl FnOnce(N) -> N) {
        let key = Self::key_of(high);
        if self.find(key).is_some() {
            self.edit(key, |slots| {
                let slot = &mut slots[(high % M::SLOTS as u64) as usize];
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
        self.extra.move_in(&old, self.buckets.iter_mut().map(|bucket| &mut bucket.entry));
    }

    /// Checks that `more` more entries fit.
    pub(super) fn check_room(&self, more: u64) -> Result<(), Limit> {
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
    fn used(&self) -> impl Iterator<Item = (usize, &Bucket<N, M, HELD>)> {
        self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.is_used())
    }

    /// Returns the number of entries that have an ExtraNHIA.
    pub(super) fn in_extra(&self) -> usize {
        self.used().filter(|(_, bucket)| bucket.entry.extra().is_some()).count()
    }

    /// Returns the number of buckets that the longest search for an entry reads.
    pub(super) fn longest_search(&self) -> usize {
        let len = self.buckets.len();
        let searched =
            |(at, bucket): (usize, &Bucket<N, M, HELD>)| (at + len - self.home(crc32c(bucket.key))) % len + 1;
        self.used().map(searched).max().unwrap_or(0)
    }

    /// Checks the bookkeeping, and that all answers equal those of `fresh`.
    pub(super) fn validate(&self, fresh: &Self) -> Result<(), String> {
        self.extra.validate()?;
        let entries = self.used().count();
        if (entries, entries) != (self.entries, fresh.entries) {
            return Err(format!("{entries} Hash16 entries of {}, expected {}", self.entries, fresh.entries));
        }
        let mut in_extra = 0;
        for (_, Bucket { key, entry }) in self.used() {
            let of = |table: &Self| table.find(*key).map(|at| table.slots(at));
            if of(self) != of(fresh) {
                return Err(format!(
                    "Hash16 entry {key:#x}/{}: not what a build gives, or not found",
                    Self::KEY_BITS
                ));
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
            match self.buckets.get(at)?.key {
                found if found == key => return Some(at),
                FREE => return None,
                _ => at = self.after(at),
            }
        }
    }

    /// Adds an entry in the first unused bucket from its home bucket on.
    fn insert(&mut self, key: u64, slots: &[N; SLOTS]) {
        self.entries += 1;
        if self.entries * Self::SPREAD > self.buckets.len() {
            self.move_to(Self::wanted(self.entries));
        }
        let at = self.place_for(key);
        self.buckets[at] = Bucket { key, entry: self.extra.entry(slots) };
    }

    /// Returns the first unused bucket for a key.
    fn place_for(&self, key: u64) -> usize {
        let mut at = self.home(crc32c(key));
        while self.buckets[at].is_used() {
            at = self.after(at);
        }
        at
    }

    /// Frees a bucket.
    fn remove(&mut self, at: usize) {
        self.entries -= 1;
        self.extra.release(&self.buckets[at].entry);
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
            let bucket = self.buckets[at];
            if bucket.key == FREE {
                break;
            }
            let home = self.home(crc32c(bucket.key));
            // The bucket's distance from its home, and from the hole, counted around the end.
            let len = self.buckets.len();
            if (at + len - home) % len >= (at + len - hole) % len {
                self.buckets[hole] = bucket;
                hole = at;
            }
        }
        self.buckets[hole] = Bucket::new_zeroed();
    }

    /// Moves all entries to a table of `buckets` buckets.
    fn move_to(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, Array::zeroed(buckets, self.pages));
        for bucket in old.iter().filter(|bucket| bucket.is_used()) {
            let at = self.place_for(bucket.key);
            self.buckets[at] = *bucket;
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
