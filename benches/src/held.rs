//! The memory of a run by upstream's spans: which of them hold what is allocated where that is most.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::heap::{self, Block};
use crate::protocol::{Held, Holding};

/// The span that stands for what is outside of all spans.
const OUTSIDE: usize = 0;

/// The books of the run that [`of`] follows.
static BOOKS: Mutex<Option<Books>> = Mutex::new(None);

/// The blocks that are allocated, and the spans that made them.
#[derive(Default)]
struct Books {
    /// The span that made a block of the run, by the block's address.
    made_in: HashMap<usize, usize>,
    spans: Vec<Span>,
    /// The names of the spans that the subscriber has numbered.
    names: Vec<&'static str>,
    /// The span that the run is in.
    current: usize,
    live: i64,
    peak: i64,
    /// The span that the run was in when the most was allocated.
    peak_in: usize,
    /// Whether nothing was given back since, so that `held` of the spans is not yet written.
    is_at_peak: bool,
}

/// A span inside of another one. All that the run enters there with this name are one.
#[derive(Default)]
struct Span {
    name: &'static str,
    around: usize,
    /// The bytes that the span has made and nobody has given back.
    live: i64,
    /// The same bytes when the most was allocated.
    held: i64,
}

/// Runs `work`, whose spans one thread enters. Returns its output, and what each span holds where the most is allocated.
pub fn of<T>(work: impl FnOnce() -> T) -> (T, Holding) {
    *books() = Some(Books {
        spans: vec![Span::default()],
        ..Books::default()
    });
    tracing::subscriber::set_global_default(Entering)
        .expect("nothing else listens in this process");
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
        span: books.path(span),
        bytes: books.spans[span].held,
    });
    let holding = Holding {
        live_bytes,
        peak_in: books.path(books.peak_in),
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
            self.spans[span].live -= block.size as i64;
        }
        if let Some(block) = after {
            self.made_in.insert(block.address, self.current);
            self.spans[self.current].live += block.size as i64;
        }
        self.live += more;
        if self.live > self.peak {
            self.peak = self.live;
            self.peak_in = self.current;
            self.is_at_peak = true;
        }
    }

    /// Writes what the spans hold, if that is the most so far.
    fn close(&mut self) {
        if self.is_at_peak {
            self.spans.iter_mut().for_each(|span| span.held = span.live);
            self.is_at_peak = false;
        }
    }

    fn enter(&mut self, name: &'static str) {
        let around = self.current;
        let mut inner = self.spans.iter().skip(1);
        let known = inner.position(|span| span.name == name && span.around == around);
        self.current = known.map_or(self.spans.len(), |span| span + 1);
        if known.is_none() {
            self.spans.push(Span {
                name,
                around,
                ..Span::default()
            });
        }
    }

    /// Returns the names of a span and of those around it, the outermost first.
    fn path(&self, mut span: usize) -> Vec<String> {
        let mut path = Vec::new();
        while span != OUTSIDE {
            path.push(self.spans[span].name.to_owned());
            span = self.spans[span].around;
        }
        path.reverse();
        path
    }
}

/// Tells the books which span the run is in.
struct Entering;

impl Subscriber for Entering {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut number = 0;
        with(|books| {
            books.names.push(span.metadata().name());
            number = books.names.len();
        });
        // The numbers begin at one; the run is over where there is none.
        Id::from_u64(number.max(1) as u64)
    }

    fn enter(&self, id: &Id) {
        with(|books| books.enter(books.names[id.into_u64() as usize - 1]));
    }

    fn exit(&self, _: &Id) {
        with(|books| books.current = books.spans[books.current].around);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}
