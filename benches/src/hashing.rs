//! How much of a run is hashing: the time inside the spans in which upstream builds Merkle trees.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::Instant;

use crate::spans::{self, Listen};

/// Upstream's name for the building of one tree, its leaves included.
const SPAN: &str = "build merkle tree";

/// Nanoseconds since [`start`].
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Adds up the time in [`SPAN`].
struct Hashing {
    /// Trees are built one after the other, by the thread that proves.
    entered: Mutex<Option<Instant>>,
}

/// Listens from now on, in this process.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        spans::listen(Hashing {
            entered: Mutex::new(None),
        });
    });
}

/// Begins a run.
pub fn start() {
    SPENT.store(0, Ordering::Relaxed);
}

/// The run's hashing so far.
pub fn spent_ns() -> u64 {
    SPENT.load(Ordering::Relaxed)
}

impl Listen for Hashing {
    fn hears(&self, name: &str) -> bool {
        name == SPAN
    }

    fn number(&self, _: &'static str) -> u64 {
        1
    }

    fn enter(&self, _: u64) {
        let before = self.entered.lock().unwrap().replace(Instant::now());
        assert!(before.is_none(), "two Merkle trees are built at once");
    }

    fn leave(&self) {
        let entered = self.entered.lock().unwrap().take();
        let entered = entered.expect("a span is left after it is entered");
        SPENT.fetch_add(entered.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}
