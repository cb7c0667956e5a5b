//! The stores to shared words, recorded for tests that take a reader through them.
//!
//! A test records what a writer stores, one word after the other. It can then put the memory into
//! the state between any two of these stores, and let a reader load there.
#![allow(unsafe_code, reason = "words are set back to what was stored there before")]

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// How many threads record.
static RECORDING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STORES: RefCell<Option<Vec<Store>>> = const { RefCell::new(None) };
}

/// A store to one word.
#[derive(Clone, Copy, Debug)]
struct Store {
    place: usize,
    bytes: usize,
    before: u64,
    after: u64,
}

/// Notes a store of this thread, if it records and the store changes the word.
pub(super) fn note<T>(place: &T, before: u64, after: u64) {
    if RECORDING.load(Ordering::Relaxed) > 0 && before != after {
        let place = std::ptr::from_ref(place).expose_provenance();
        let store = Store { place, bytes: size_of::<T>(), before, after };
        STORES.with_borrow_mut(|stores| stores.as_mut().map(|stores| stores.push(store)));
    }
}

/// An owner of words, and what was stored to them.
#[derive(Debug)]
pub(crate) struct Recorded<O> {
    pub(crate) owner: O,
    pub(crate) stores: Stores,
}

/// Stores in order, and how many of them the memory shows.
#[derive(Debug)]
pub(crate) struct Stores {
    stores: Vec<Store>,
    shown: usize,
}

/// Records the stores of this thread to words of `owner`, which `write` changes. No other thread
/// may use these words.
pub(crate) fn record<O>(mut owner: O, write: impl FnOnce(&mut O)) -> Recorded<O> {
    RECORDING.fetch_add(1, Ordering::Relaxed);
    STORES.set(Some(Vec::new()));
    write(&mut owner);
    let stores = STORES.take().unwrap_or_default();
    RECORDING.fetch_sub(1, Ordering::Relaxed);
    Recorded { owner, stores: Stores { shown: stores.len(), stores } }
}

/// Returns how many stores this thread has recorded so far.
pub(crate) fn count() -> usize {
    STORES.with_borrow(|stores| stores.as_ref().map_or(0, Vec::len))
}

impl<O> Recorded<O> {
    /// Shows the memory after all stores, and returns its owner.
    pub(crate) fn into_owner(mut self) -> O {
        self.stores.show(self.stores.len());
        self.owner
    }
}

impl Stores {
    /// Returns the number of stores.
    pub(crate) fn len(&self) -> usize {
        self.stores.len()
    }

    /// Returns the number of stores that the memory shows.
    pub(crate) fn shown(&self) -> usize {
        self.shown
    }

    /// Shows the memory as it was after the first `count` stores.
    pub(crate) fn show(&mut self, count: usize) {
        while self.shown > count {
            self.shown -= 1;
            let store = self.stores[self.shown];
            set(store, store.before);
        }
        while self.shown < count {
            let store = self.stores[self.shown];
            set(store, store.after);
            self.shown += 1;
        }
    }

    /// Returns the states, each as a number of stores, after the present one at which these bytes
    /// begin to have other values.
    pub(crate) fn changes_of(&self, bytes: Range<usize>) -> impl Iterator<Item = usize> {
        let from = self.shown;
        let is_of = move |store: &Store| store.place < bytes.end && bytes.start < store.place + store.bytes;
        (from + 1..).zip(&self.stores[from..]).filter(move |(_, store)| is_of(store)).map(|(at, _)| at)
    }
}

fn set(store: Store, value: u64) {
    let place = std::ptr::with_exposed_provenance::<()>(store.place);
    // SAFETY: the owner, which is kept, holds the words, and this one was stored to as an atomic of
    // this size.
    unsafe {
        match store.bytes {
            1 => (*place.cast::<AtomicU8>()).store(value as u8, Ordering::Relaxed),
            2 => (*place.cast::<AtomicU16>()).store(value as u16, Ordering::Relaxed),
            4 => (*place.cast::<AtomicU32>()).store(value as u32, Ordering::Relaxed),
            _ => (*place.cast::<AtomicU64>()).store(value, Ordering::Relaxed),
        }
    }
}
