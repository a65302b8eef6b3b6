//! The time of a run by upstream's spans, and how busy its threads are there.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, Once};
use std::time::Instant;

use crate::protocol::Busy;
use crate::spans::{self, Listen, Tree};
use crate::timing::cpu_ns;

/// The watch over the timed part of a run, while it goes on.
static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

thread_local! {
    /// Tells whether this thread is the one that runs: the spans of others are inside of what they do for it.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

struct Watch {
    spans: Tree,
    /// The times of each span, without those of the spans inside of it.
    times: Vec<Times>,
    /// The clocks when the run was last in another span.
    since: (Instant, u64),
}

#[derive(Clone, Copy, Default)]
struct Times {
    wall_ns: u64,
    cpu_ns: u64,
}

/// Listens from now on, in this process.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| spans::listen(Watching));
    RUNS.set(true);
}

/// Begins the timed part of a run, if this process listens.
pub fn start() {
    if RUNS.get() {
        *watch() = Some(Watch {
            spans: Tree::default(),
            times: vec![Times::default()],
            since: (Instant::now(), cpu_ns()),
        });
    }
}

/// Ends the timed part of a run, and returns the times of its spans that took any; none if this process does not listen.
pub fn stop() -> Vec<Busy> {
    let Some(mut watch) = watch().take() else {
        return Vec::new();
    };
    watch.charge();
    let busy = watch.times.iter().enumerate().map(|(span, times)| Busy {
        span: watch.spans.path(span),
        wall_ns: times.wall_ns,
        cpu_ns: times.cpu_ns,
    });
    busy.filter(|busy| busy.wall_ns > 0).collect()
}

fn watch() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().expect("no watcher panics")
}

impl Watch {
    /// Adds the time since the last change to the span that the run is in.
    fn charge(&mut self) {
        let (wall, cpu) = self.since;
        self.since = (Instant::now(), cpu_ns());
        let times = &mut self.times[self.spans.current()];
        times.wall_ns += (self.since.0 - wall).as_nanos() as u64;
        times.cpu_ns += self.since.1 - cpu;
    }
}

/// Charges the time of a run to its spans.
struct Watching;

/// Changes the watch, on the thread that runs and while it does.
fn with(change: impl FnOnce(&mut Watch)) {
    if RUNS.get()
        && let Some(watch) = &mut *watch()
    {
        watch.charge();
        change(watch);
    }
}

impl Listen for Watching {
    fn hears(&self, _: &str) -> bool {
        true
    }

    fn number(&self, name: &'static str) -> u64 {
        let mut number = 1;
        with(|watch| number = watch.spans.number(name));
        number
    }

    fn enter(&self, number: u64) {
        with(|watch| {
            watch.spans.enter(number);
            watch.times.resize(watch.spans.len(), Times::default());
        });
    }

    fn leave(&self) {
        with(|watch| watch.spans.leave());
    }
}
