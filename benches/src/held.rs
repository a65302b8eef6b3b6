//! The memory of a run by upstream's spans: which of them hold what is allocated where that is most.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use crate::heap::{self, Block};
use crate::protocol::{Held, Holding};
use crate::spans::{self, Listen, OUTSIDE, Tree};

/// The books of the run that [`of`] follows.
static BOOKS: Mutex<Option<Books>> = Mutex::new(None);

/// The blocks that are allocated, and the spans that made them.
#[derive(Default)]
struct Books {
    /// The span that made a block of the run, by the block's address.
    made_in: HashMap<usize, usize>,
    spans: Tree,
    /// The memory of each span.
    memory: Vec<Memory>,
    live: i64,
    peak: i64,
    /// The span that the run was in when the most was allocated.
    peak_in: usize,
    /// Tells whether nothing was given back since, so that `held` of the spans is not yet written.
    is_at_peak: bool,
}

#[derive(Clone, Default)]
struct Memory {
    /// The bytes that the span has made and nobody has given back.
    live: i64,
    /// The same bytes when the most was allocated.
    held: i64,
}

/// Runs `work`, whose spans one thread enters. Returns its output, and what each span holds where the most is allocated.
pub fn of<T>(work: impl FnOnce() -> T) -> (T, Holding) {
    *books() = Some(Books {
        memory: vec![Memory::default()],
        ..Books::default()
    });
    spans::listen(Entering);
    heap::tell(write);
    let (output, live_bytes) = heap::peak_of(work);
    let mut books = books().take().expect("the run is over");
    books.close();
    assert_eq!(
        books.peak.unsigned_abs(),
        live_bytes,
        "two counts of one run"
    );
    let held = (0..books.spans.len()).map(|span| Held {
        span: books.spans.path(span),
        bytes: books.memory[span].held,
    });
    let holding = Holding {
        live_bytes,
        peak_in: books.spans.path(books.peak_in),
        held: held.filter(|held| held.bytes != 0).collect(),
    };
    (output, holding)
}

fn books() -> MutexGuard<'static, Option<Books>> {
    BOOKS.lock().expect("no writer panics")
}

/// Changes the books while the run goes on. Their own memory is not the run's.
fn with(change: impl FnOnce(&mut Books)) {
    heap::uncounted(|| {
        if let Some(books) = &mut *books() {
            change(books);
        }
    });
}

/// Writes to the books that a block is new, given back, or another one than before.
fn write(before: Option<Block>, after: Option<Block>) {
    with(|books| books.write(before, after));
}

impl Books {
    fn write(&mut self, before: Option<Block>, after: Option<Block>) {
        let size = |block: Option<Block>| block.map_or(0, |block| block.size as i64);
        let more = size(after) - size(before);
        if more < 0 {
            self.close();
        }
        if let Some(block) = before {
            // A block from before the run is missing outside.
            let span = self.made_in.remove(&block.address).unwrap_or(OUTSIDE);
            self.memory[span].live -= block.size as i64;
        }
        if let Some(block) = after {
            let span = self.spans.current();
            self.made_in.insert(block.address, span);
            self.memory[span].live += block.size as i64;
        }
        self.live += more;
        if self.live > self.peak {
            self.peak = self.live;
            self.peak_in = self.spans.current();
            self.is_at_peak = true;
        }
    }

    /// Writes what the spans hold, if that is the most so far.
    fn close(&mut self) {
        if self.is_at_peak {
            self.memory
                .iter_mut()
                .for_each(|span| span.held = span.live);
            self.is_at_peak = false;
        }
    }
}

/// Tells the books which span the run is in.
struct Entering;

impl Listen for Entering {
    fn hears(&self, _: &str) -> bool {
        true
    }

    fn number(&self, name: &'static str) -> u64 {
        let mut number = 1;
        with(|books| number = books.spans.number(name));
        number
    }

    fn enter(&self, number: u64) {
        with(|books| {
            books.spans.enter(number);
            books.memory.resize(books.spans.len(), Memory::default());
        });
    }

    fn leave(&self) {
        with(|books| books.spans.leave());
    }
}
