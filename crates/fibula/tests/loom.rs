//! Every order of events between writer and readers that the memory model allows at the
//! reclamation. The tests compile the very source of the library's `live/quiescent.rs` with loom's
//! atomics.
//!
//! Tables are cells that loom watches. The model fails on a write to a cell that some reader may
//! still be reading, in any order of events. It also fails on a read of a cell that was written
//! without a happens-before edge to the reader.
#![cfg(target_pointer_width = "64")]

#[path = "../src/live/quiescent.rs"]
#[allow(dead_code, reason = "the models ask for less than the library")]
mod quiescent;

mod sync {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
}

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use quiescent::{Publisher, Subscriber};
use std::sync::Arc;

/// A table that holds its version.
type Table = UnsafeCell<u32>;

#[allow(
    clippy::arc_with_non_send_sync,
    reason = "loom's threads are not the system's, its cells are watched"
)]
fn table(version: u32) -> Arc<Table> {
    Arc::new(UnsafeCell::new(version))
}

/// Reads the table under a guard twice: loom lets the other threads run in between.
#[allow(unsafe_code, reason = "loom hands out pointers, and watches who follows them")]
fn read(reader: &mut Subscriber<Table>) -> u32 {
    let table = reader.guard();
    // SAFETY: this is what is tested; loom panics if any thread writes it meanwhile.
    let [first, again] = [(); 2].map(|()| table.with(|version| unsafe { *version }));
    assert_eq!(first, again);
    first
}

/// Writes a table that was reclaimed.
#[allow(unsafe_code, reason = "loom hands out pointers, and watches who follows them")]
fn write(table: &Table, version: u32) {
    // SAFETY: as above.
    table.with_mut(|cell| unsafe { *cell = version });
}

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

/// Double-buffered: the reclaimed copy is changed and published again.
fn twins(publisher: &mut Publisher<Table>, versions: std::ops::RangeInclusive<u32>) -> u32 {
    let mut published = 0;
    for version in versions {
        let Some(copy) = publisher.take_back() else { continue };
        write(&copy, version);
        publisher.publish(copy);
        published = version;
    }
    published
}

#[test]
fn a_copy_is_written_only_when_readers_have_passed() {
    model(|| {
        let mut publisher = Publisher::new(table(1));
        let mut reader = publisher.subscribe();
        let thread = thread::spawn(move || {
            let first = read(&mut reader);
            let second = read(&mut reader);
            assert!(first <= second, "{first} and then {second}");
        });
        publisher.publish(table(2));
        twins(&mut publisher, 3..=4);
        thread.join().unwrap();
    });
}

#[test]
fn a_reader_may_rest_and_come_back_at_any_moment() {
    model(|| {
        let mut publisher = Publisher::new(table(1));
        let mut reader = publisher.subscribe();
        let thread = thread::spawn(move || {
            let first = read(&mut reader);
            reader.rest();
            let second = read(&mut reader);
            assert!(first <= second, "{first} and then {second}");
        });
        publisher.publish(table(2));
        twins(&mut publisher, 3..=3);
        thread.join().unwrap();
    });
}

#[test]
fn readers_come_and_go() {
    model(|| {
        let mut publisher = Publisher::new(table(1));
        let mut reader = publisher.subscribe();
        let thread = thread::spawn(move || {
            let mut another = reader.clone();
            read(&mut reader);
            drop(reader);
            read(&mut another)
        });
        publisher.publish(table(2));
        let last = twins(&mut publisher, 3..=3);
        drop(publisher);
        assert!(thread.join().unwrap() <= last.max(2));
    });
}

#[test]
fn what_is_published_before_is_seen_after() {
    model(|| {
        let mut publisher = Publisher::new(table(1));
        let mut reader = publisher.subscribe();
        publisher.publish(table(2));
        let last = twins(&mut publisher, 3..=3);
        assert_eq!(last, 3); // no reader is in the way
        let thread = thread::spawn(move || assert_eq!(read(&mut reader), 3));
        assert!(publisher.take_back().is_none_or(|copy| {
            write(&copy, 4);
            true
        }));
        thread.join().unwrap();
    });
}

/// A table that is changed in place: a word says which block answers.
struct InPlace {
    root: AtomicUsize,
    blocks: [UnsafeCell<u32>; 3],
}

/// When a writer may reuse a block that it has replaced.
#[derive(Clone, Copy)]
enum Reuse {
    /// As `live/attached.rs` and `blocks/unique.rs` do: after two grace periods.
    PassedTwice,
    /// An epoch early: after the grace period for what was published before the block was replaced.
    PassedOnce,
}

/// The writer of a table in place, with the bookkeeping that `Unique` has for its chunks.
struct Writer {
    publisher: Publisher<InPlace>,
    told: u64,
    free: Vec<usize>,
    retired: [Vec<usize>; 2],
    reuse: Reuse,
}

impl Writer {
    #[allow(clippy::arc_with_non_send_sync, reason = "as above")]
    fn new(reuse: Reuse) -> Self {
        let table = InPlace { root: AtomicUsize::new(0), blocks: [1, 0, 0].map(UnsafeCell::new) };
        let mut publisher = Publisher::new(Arc::new(table));
        let told = publisher.advance();
        Self { publisher, told, free: vec![2, 1], retired: [Vec::new(), Vec::new()], reuse }
    }

    /// Builds a version in a free block, if there is one, and publishes it by one store.
    #[allow(unsafe_code, reason = "loom hands out pointers, and watches who follows them")]
    fn replace(&mut self, version: u32) {
        let Some(block) = self.free.pop() else { return };
        let table = self.publisher.current();
        // SAFETY: this is what is tested; loom panics if any thread reads it meanwhile.
        table.blocks[block].with_mut(|cell| unsafe { *cell = version });
        let before = table.root.load(Ordering::Relaxed);
        table.root.store(block, Ordering::Release);
        self.retired[1].push(before);
    }

    /// Frees the blocks that no reader can hold any more.
    fn tidy(&mut self) {
        if self.publisher.has_passed(self.told) {
            self.free.append(&mut self.retired[0]);
            self.retired.reverse();
            if matches!(self.reuse, Reuse::PassedOnce) {
                self.free.append(&mut self.retired[0]);
            }
            self.told = self.publisher.advance();
        }
    }
}

/// A reader takes two guards while a writer repeatedly replaces what it reads, with any free block.
fn reads_in_place(reuse: Reuse) {
    model(move || {
        let mut writer = Writer::new(reuse);
        let mut reader = writer.publisher.subscribe();
        let thread = thread::spawn(move || {
            let mut versions = [0; 2];
            for version in &mut versions {
                let table = reader.guard();
                let block = &table.blocks[table.root.load(Ordering::Acquire)];
                #[allow(unsafe_code, reason = "loom hands out pointers, and watches who follows them")]
                // SAFETY: this is what is tested; loom panics if any thread writes it meanwhile.
                let [first, again] = [(); 2].map(|()| block.with(|cell| unsafe { *cell }));
                assert_eq!(first, again);
                *version = first;
            }
            assert!(versions.is_sorted(), "{versions:?}");
        });
        for version in 2..=4 {
            writer.replace(version);
            writer.tidy();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_block_replaced_in_place_is_used_again_only_when_readers_have_passed() {
    reads_in_place(Reuse::PassedTwice);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_block_used_again_an_epoch_early_is_read_while_it_is_written() {
    reads_in_place(Reuse::PassedOnce);
}
