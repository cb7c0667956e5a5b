//! [`CountingAllocator`]: measured bytes instead of computed ones.
#![allow(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting the live bytes: those that were requested, without the system's
/// rounding.
///
/// A binary or a test that measures bytes makes it its global allocator:
///
/// ```
/// use fibula::{Fib, NextHop, Rib};
/// use fibula_lab::allocation::CountingAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
///
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
/// let before = ALLOCATOR.live();
/// let fib = Fib::build("oracle", &rib).unwrap();
/// assert!(ALLOCATOR.live() > before);
/// drop(fib);
/// assert_eq!(ALLOCATOR.live(), before);
/// ```
#[derive(Debug, Default)]
pub struct CountingAllocator {
    live: AtomicUsize,
}

impl CountingAllocator {
    /// Nothing counted yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { live: AtomicUsize::new(0) }
    }

    /// Returns the bytes allocated and not yet freed.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.live.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call goes unchanged to `System`, which upholds the contract. The counter is an
// atomic and allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, under the caller's promise.
        let start = unsafe { System.alloc(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let start = unsafe { System.alloc_zeroed(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller frees what `System` allocated, with the same layout.
        unsafe { System.dealloc(start, layout) };
        self.subtract(layout.size());
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`; `new_size` is under the caller's promise.
        let moved = unsafe { System.realloc(start, layout, new_size) };
        if !moved.is_null() {
            self.add(new_size);
            self.subtract(layout.size());
        }
        moved
    }
}
