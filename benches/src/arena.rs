//! The allocator of counted runs. The system's takes a few instructions more or less by what was freed before; this one
//! always takes the same, and never takes anything back. Until counting begins, all memory is the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const SIZE: usize = 1 << 26;

/// Every allocation begins here, so that no copy takes another path for how its ends are aligned.
const ALIGN: usize = 128;

#[global_allocator]
static ARENA: Arena = Arena {
    memory: UnsafeCell::new([0; SIZE]),
    used: AtomicUsize::new(0),
    counting: AtomicBool::new(false),
};

/// From here on, memory is the arena's.
pub fn begin() {
    ARENA.counting.store(true, Ordering::Relaxed);
}

#[repr(C, align(128))]
struct Arena {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
    counting: AtomicBool,
}

impl Arena {
    fn counting(&self) -> bool {
        self.counting.load(Ordering::Relaxed)
    }

    fn owns(&self, block: *mut u8) -> bool {
        let start = self.memory.get() as usize;
        (start..start + SIZE).contains(&(block as usize))
    }
}

// SAFETY: `memory` is reached through `alloc` alone, which gives no byte away twice.
unsafe impl Sync for Arena {}

// SAFETY: a block lies inside `memory`, begins at a multiple of `ALIGN` in what is aligned to `ALIGN`, and shares no
// byte with another: `used` only grows, past the end of each block. All others are the system's, which `owns` tells apart.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.counting() {
            // SAFETY: the caller's promises are the ones that this asks for.
            return unsafe { System.alloc(layout) };
        }
        let end = |start: usize| {
            let end = start
                .checked_add(layout.size())?
                .checked_next_multiple_of(ALIGN)?;
            (end <= SIZE && layout.align() <= ALIGN).then_some(end)
        };
        let start = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, end);
        start.map_or(ptr::null_mut(), |start| {
            // SAFETY: `end` has seen to it that the block that begins here ends inside `memory`.
            unsafe { self.memory.get().cast::<u8>().add(start) }
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.owns(block) {
            // SAFETY: a block that is not the arena's is the system's, and the caller promises the rest.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.counting() {
            // SAFETY: the caller's promises are the ones that this asks for; no byte of the arena was given away before.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: the caller's promises are the ones that this asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.counting() {
            // SAFETY: counting has no end, so the block is the system's, and the caller promises the rest.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both blocks have that many bytes, and the new one is not part of any other.
            unsafe { ptr::copy_nonoverlapping(block, new, size.min(layout.size())) };
            // SAFETY: the caller gives this block back.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}
