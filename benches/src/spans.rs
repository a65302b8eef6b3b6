//! The tree of upstream's spans that a run enters, and listening to them.

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The span that stands for what is outside of all spans.
pub const OUTSIDE: usize = 0;

/// Spans inside of each other. All that the run enters inside of one span with one name are one.
pub struct Tree {
    spans: Vec<Span>,
    /// The names of the spans that the subscriber has numbered.
    names: Vec<&'static str>,
    /// The span that the run is in.
    current: usize,
}

struct Span {
    name: &'static str,
    around: usize,
}

impl Default for Tree {
    fn default() -> Self {
        let outside = Span {
            name: "",
            around: OUTSIDE,
        };
        Self {
            spans: vec![outside],
            names: Vec::new(),
            current: OUTSIDE,
        }
    }
}

impl Tree {
    /// Returns the span that the run is in.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Returns the number of spans, with [`OUTSIDE`].
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Numbers a span that the run will enter. Numbers begin at one.
    pub fn number(&mut self, name: &'static str) -> u64 {
        self.names.push(name);
        self.names.len() as u64
    }

    /// Enters the span of this number.
    pub fn enter(&mut self, number: u64) {
        // A span from before the run has no name here.
        let name = self.names.get(number as usize - 1).copied().unwrap_or("?");
        let around = self.current;
        let mut inner = self.spans.iter().skip(1);
        let known = inner.position(|span| span.name == name && span.around == around);
        self.current = known.map_or(self.spans.len(), |span| span + 1);
        if known.is_none() {
            self.spans.push(Span { name, around });
        }
    }

    /// Leaves the span that the run is in.
    pub fn leave(&mut self) {
        self.current = self.spans[self.current].around;
    }

    /// Returns the names of a span and of those around it, the outermost first.
    pub fn path(&self, mut span: usize) -> Vec<String> {
        let mut path = Vec::new();
        while span != OUTSIDE {
            path.push(self.spans[span].name.to_owned());
            span = self.spans[span].around;
        }
        path.reverse();
        path
    }
}

/// A listener to spans. The functions are called by the thread that makes or enters a span.
pub trait Listen: Send + Sync + 'static {
    /// Tells whether a span of this name is listened to. Each other span costs one look at a cached flag.
    fn hears(&self, name: &str) -> bool;
    /// Returns the number by which a new span is entered, one or more.
    fn number(&self, name: &'static str) -> u64;
    fn enter(&self, number: u64);
    fn leave(&self);
}

/// Makes `listener` hear the spans of this process from now on. There is one listener in a process.
pub fn listen(listener: impl Listen) {
    tracing::subscriber::set_global_default(Listening(listener))
        .expect("nothing else listens in this process");
}

struct Listening<L>(L);

impl<L: Listen> Subscriber for Listening<L> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && self.0.hears(metadata.name())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Id::from_u64(self.0.number(span.metadata().name()))
    }

    fn enter(&self, id: &Id) {
        self.0.enter(id.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.leave();
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}
