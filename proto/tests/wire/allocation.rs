//! An allocator that knows how much each thread holds, and how much it held at most.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Bytes held since the last start of a measurement; negative when older memory was given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Counting;

/// What `work` gives, and the most bytes that this thread held at once during it beyond what it held before.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    HELD.set(0);
    PEAK.set(0);
    let result = work();
    (result, PEAK.get().unsigned_abs())
}

fn changed(taken: usize, given: usize) {
    let (taken, given) = (isize::try_from(taken).unwrap_or(isize::MAX), isize::try_from(given).unwrap_or(isize::MAX));
    // A thread that is ending has no counters any more; nothing is measured then.
    let _ = HELD.try_with(|held| {
        let now = held.get().wrapping_add(taken).wrapping_sub(given);
        held.set(now);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
    });
}

// SAFETY: every call goes to the system's allocator with its arguments as they are; counting touches no heap memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        changed(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        changed(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        changed(0, layout.size());
        // SAFETY: `block` came from `System` with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        changed(size, layout.size());
        // SAFETY: `block` came from `System` with this layout; the caller keeps the rest of the contract.
        unsafe { System.realloc(block, layout, size) }
    }
}
