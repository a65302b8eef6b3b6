//! How much of a run is hashing: the time inside the spans in which upstream builds Merkle trees.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::Instant;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Upstream's name for the building of one tree, its leaves included.
const SPAN: &str = "build merkle tree";

/// Nanoseconds since [`start`].
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Adds up the time in [`SPAN`], and has every other span cost one look at a cached flag.
struct Hashing {
    /// Trees are built one after the other, by the thread that proves.
    entered: Mutex<Option<Instant>>,
}

/// Listens from now on, in this process.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let hashing = Hashing {
            entered: Mutex::new(None),
        };
        let set = tracing::subscriber::set_global_default(hashing);
        set.expect("nothing else listens in this process");
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

impl Subscriber for Hashing {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == SPAN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn enter(&self, _: &Id) {
        let before = self.entered.lock().unwrap().replace(Instant::now());
        assert!(before.is_none(), "two Merkle trees are built at once");
    }

    fn exit(&self, _: &Id) {
        let entered = self.entered.lock().unwrap().take();
        let entered = entered.expect("a span is left after it is entered");
        SPENT.fetch_add(entered.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}
