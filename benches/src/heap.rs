//! The allocator of the worker: the system's, with a count of the live bytes of one run, and an arena for counted instructions.
//!
//! The system's allocator takes a few instructions more or less by what was freed before. The arena always takes the same, and never
//! takes anything back. Until counting of instructions begins, all memory is the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

const SIZE: usize = 1 << 26;

/// Every allocation begins here, so that no copy takes another path for how its ends are aligned.
const ALIGN: usize = 128;

#[global_allocator]
static HEAP: Heap = Heap {
    arena: Arena {
        memory: UnsafeCell::new([0; SIZE]),
        used: AtomicUsize::new(0),
        counting: AtomicBool::new(false),
    },
    live: Live {
        counting: AtomicBool::new(false),
        bytes: AtomicIsize::new(0),
        peak: AtomicIsize::new(0),
        told: OnceLock::new(),
    },
};

/// From here on, memory is the arena's.
pub fn count_instructions() {
    HEAP.arena.counting.store(true, Ordering::Relaxed);
}

/// Returns the most bytes that `work` had allocated at a time and not yet given back. A block that grows counts with its new size only,
/// since the system moves pages of large blocks, and copies none. What was allocated before counts where it is given back.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let live = &HEAP.live;
    live.bytes.store(0, Ordering::Relaxed);
    live.peak.store(0, Ordering::Relaxed);
    live.counting.store(true, Ordering::Relaxed);
    let output = work();
    live.counting.store(false, Ordering::Relaxed);
    let peak = live.peak.load(Ordering::Relaxed);
    (output, peak.unsigned_abs() as u64)
}

/// Tells of each block that is new, given back or another one than before, from the next [`peak_of`] on. What `told` allocates itself is to
/// be [`uncounted`].
pub fn tell(told: Told) {
    let first = HEAP.live.told.set(told);
    first.expect("one run of a process is followed");
}

/// The place and the size of what is allocated.
#[derive(Clone, Copy)]
pub struct Block {
    pub address: usize,
    pub size: usize,
}

impl Block {
    fn new(block: *mut u8, size: usize) -> Self {
        let address = block.addr();
        Self { address, size }
    }
}

thread_local! {
    static IS_UNCOUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, of which no block is counted or told.
pub fn uncounted(work: impl FnOnce()) {
    let before = IS_UNCOUNTED.replace(true);
    work();
    IS_UNCOUNTED.set(before);
}

/// Takes a block before and after a change.
type Told = fn(Option<Block>, Option<Block>);

struct Heap {
    arena: Arena,
    live: Live,
}

/// The bytes that are allocated at a time.
struct Live {
    counting: AtomicBool,
    /// Less than none where more was given back than allocated since counting began.
    bytes: AtomicIsize,
    peak: AtomicIsize,
    told: OnceLock<Told>,
}

impl Live {
    /// Counts a block that is new, given back or another one than before.
    fn count(&self, before: Option<Block>, after: Option<Block>) {
        if self.counting.load(Ordering::Relaxed) && !IS_UNCOUNTED.get() {
            let size = |block: Option<Block>| block.map_or(0, |block| block.size.cast_signed());
            let more = size(after) - size(before);
            let now = self.bytes.fetch_add(more, Ordering::Relaxed) + more;
            self.peak.fetch_max(now, Ordering::Relaxed);
            if let Some(told) = self.told.get() {
                told(before, after);
            }
        }
    }

    /// Counts a block of `size` bytes, if the system had memory for it.
    fn count_new(&self, block: *mut u8, size: usize) {
        if !block.is_null() {
            self.count(None, Some(Block::new(block, size)));
        }
    }
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

// SAFETY: a block of the arena lies inside `memory`, begins at a multiple of `ALIGN` in what is aligned to `ALIGN`, and shares no
// byte with another: `used` only grows, past the end of each block. All others are the system's, which `owns` tells apart.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.arena.counting() {
            // SAFETY: the caller's promises are the ones that this asks for.
            let block = unsafe { System.alloc(layout) };
            self.live.count_new(block, layout.size());
            return block;
        }
        let end = |start: usize| {
            let end = start
                .checked_add(layout.size())?
                .checked_next_multiple_of(ALIGN)?;
            (end <= SIZE && layout.align() <= ALIGN).then_some(end)
        };
        let start = (self.arena.used).fetch_update(Ordering::Relaxed, Ordering::Relaxed, end);
        start.map_or(ptr::null_mut(), |start| {
            // SAFETY: `end` has seen to it that the block that begins here ends inside `memory`.
            unsafe { self.arena.memory.get().cast::<u8>().add(start) }
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.arena.owns(block) {
            self.live
                .count(Some(Block::new(block, layout.size())), None);
            // SAFETY: a block that is not the arena's is the system's, and the caller promises the rest.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.arena.counting() {
            // SAFETY: the caller's promises are the ones that this asks for; no byte of the arena was given away before.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: the caller's promises are the ones that this asks for.
        let block = unsafe { System.alloc_zeroed(layout) };
        self.live.count_new(block, layout.size());
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.arena.counting() {
            // SAFETY: counting has no end, so the block is the system's, and the caller promises the rest.
            let new = unsafe { System.realloc(block, layout, size) };
            if !new.is_null() {
                let before = Block::new(block, layout.size());
                self.live.count(Some(before), Some(Block::new(new, size)));
            }
            return new;
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
