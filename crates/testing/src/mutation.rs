//! Kernels with one operation changed at a time, to see that their tests would notice.
//!
//! A lane asks [`goes_wrong`] before each operation whether this one is to go wrong, and how. [`MutationTest`] runs a kernel on
//! such lanes once to find all operations, and then once for each way in which each of them can go wrong: the change has to
//! leave the bounds, as a lane of intervals sees it, or give a wrong value, as a lane of integers does. What does neither has
//! to be declared equivalent, with the reason. A lane of integers whose words leave their range, and still stand for the
//! right value, shows a bound.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::panic::{self, AssertUnwindSafe, Location};
use std::path::Path;
use std::sync::Once;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// A lane whose operations may be mutated. The kernels' crates implement their traits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutated<T>(pub T);

/// An operation in a kernel's text, one of those that it executes, and how it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mutation {
    place: &'static Location<'static>,
    kind: &'static str,
}

/// The operations that go wrong.
#[derive(Default, PartialEq)]
enum Target {
    #[default]
    None,
    /// One of those that are executed.
    Nth(usize),
    /// One in the text, wherever it is executed.
    Everywhere(Mutation),
}

#[derive(Default)]
struct Run {
    /// The ends of the paths of the files whose operations are mutated.
    files: &'static [&'static str],
    target: Target,
    next: usize,
    record: Option<Vec<Mutation>>,
}

thread_local! {
    static RUN: RefCell<Run> = RefCell::default();
}

/// The file for operations that a kernel does not call, but passes to a function: `array.map(Lane::splat)`.
pub const AS_FUNCTION: &str = "core/src/ops/function.rs";

/// Tells whether the caller's caller is to do `kind` this time, instead of what it is there for.
#[track_caller]
pub fn goes_wrong(kind: &'static str) -> bool {
    let place = Location::caller();
    RUN.with_borrow_mut(|run| {
        // Millions ask, in an emulator. Lines differ before names do.
        if let Target::Everywhere(target) = run.target {
            return place.line() == target.place.line() && target == Mutation { place, kind };
        }
        if !run.files.iter().any(|file| place.file().ends_with(file)) {
            return false;
        }
        let mutation = Mutation { place, kind };
        if let Some(record) = &mut run.record {
            record.push(mutation);
        }
        run.next += 1;
        match run.target {
            Target::None | Target::Everywhere(_) => false,
            Target::Nth(target) => target == run.next - 1,
        }
    })
}

/// A constant, or another one.
#[track_caller]
#[must_use]
pub fn constant(x: u64) -> u64 {
    if goes_wrong("constant + 1") {
        x.wrapping_add(1)
    } else if goes_wrong("constant - 1") {
        x.wrapping_sub(1)
    } else if x != 0 && goes_wrong("constant 0") {
        0
    } else {
        x
    }
}

/// A factor, or another one.
#[track_caller]
#[must_use]
pub fn coefficient(x: f64) -> f64 {
    if goes_wrong("constant + 1") {
        x + 1.0
    } else if goes_wrong("constant - 1") {
        x - 1.0
    } else if x != 0.0 && goes_wrong("constant 0") {
        0.0
    } else {
        x
    }
}

/// The distance of a shift, or one bit less, if there is one.
#[track_caller]
#[must_use]
pub fn distance(bits: u32) -> u32 {
    bits - u32::from(bits != 0 && goes_wrong("a bit less"))
}

/// A sum, or one of its operands.
#[track_caller]
pub fn sum<T>(left: T, right: T, add: impl FnOnce(T, T) -> T) -> T {
    if goes_wrong("left operand lost") {
        right
    } else if goes_wrong("right operand lost") {
        left
    } else {
        add(left, right)
    }
}

/// A result, or the operand as it was.
#[track_caller]
pub fn skippable<T>(operand: T, operation: impl FnOnce(T) -> T) -> T {
    if goes_wrong("skipped") {
        operand
    } else {
        operation(operand)
    }
}

/// A mutation that changes nothing which is observable, and why.
#[derive(Clone, Copy, Debug)]
pub struct Equivalent {
    /// A part of the operation's line, as the report has it.
    pub place: &'static str,
    /// How the operation goes wrong.
    pub kind: &'static str,
    /// Why that is the same.
    pub why: &'static str,
}

impl Equivalent {
    /// The operation at `place` may go wrong as `kind` says, since `why`.
    #[must_use]
    pub const fn new(place: &'static str, kind: &'static str, why: &'static str) -> Self {
        Self { place, kind, why }
    }
}

/// A kernel to be mutated.
pub struct MutationTest<'a, I> {
    /// A name for the report.
    pub name: &'a str,
    /// The ends of the paths of the files whose operations are mutated.
    pub files: &'static [&'static str],
    /// Runs the kernel on intervals, and panics where a bound is left. Has to execute the same operations as `value`.
    pub bounds: Option<&'a dyn Fn()>,
    /// The inputs that `value` is called with, one after the other.
    pub inputs: &'a [I],
    /// Runs the kernel on integers: whether the result stands for the right value. If so, panics where it is out of range.
    pub value: &'a dyn Fn(&I) -> bool,
    /// Mutations that neither of the two can see.
    pub equivalent: &'a [Equivalent],
}

/// How a run of a kernel that is mutated ends.
#[derive(PartialEq)]
enum Ending {
    Right,
    Wrong,
    Panic,
}

#[derive(Default)]
struct Tally {
    sites: usize,
    bounds: usize,
    value: usize,
    missed: usize,
}

impl<I> MutationTest<'_, I> {
    /// Makes every operation go wrong in every way, and returns the list, a line for each operation in the text.
    ///
    /// # Panics
    ///
    /// Panics if a mutation is missed and not declared equivalent, or declared and none of its kind is missed.
    #[must_use]
    pub fn run(&self) -> String {
        let mutations = survey(self.files, &|| {
            (self.value)(&self.inputs[0]);
        });
        if let Some(bounds) = self.bounds {
            let same = survey(self.files, bounds) == mutations;
            assert!(same, "{}: other operations on intervals", self.name);
        }
        for (i, input) in self.inputs.iter().enumerate() {
            assert!((self.value)(input), "{}: wrong for input {i}", self.name);
        }

        let mut tallies: BTreeMap<_, (Mutation, Tally)> = BTreeMap::new();
        for (target, mutation) in mutations.iter().enumerate() {
            let place = mutation.place;
            let key = (place.file(), place.line(), place.column(), mutation.kind);
            let (_, tally) = tallies
                .entry(key)
                .or_insert_with(|| (*mutation, Tally::default()));
            let mut by_bounds = self.bounds.is_some_and(|bounds| {
                let bounded = || {
                    bounds();
                    true
                };
                self.ending(target, &bounded) == Ending::Panic
            });
            let mut by_value = false;
            let mut out_of_range = false;
            for input in self.inputs {
                match self.ending(target, &|| (self.value)(input)) {
                    Ending::Right => {}
                    Ending::Panic => out_of_range = true,
                    Ending::Wrong => {
                        by_value = true;
                        break;
                    }
                }
            }
            by_bounds |= out_of_range && !by_value;
            tally.sites += 1;
            tally.bounds += usize::from(by_bounds);
            tally.value += usize::from(by_value);
            tally.missed += usize::from(!by_bounds && !by_value);
        }
        self.report(tallies.into_values())
    }

    fn report(&self, tallies: impl Iterator<Item = (Mutation, Tally)>) -> String {
        let mut sources = Sources::default();
        let (mut list, mut unexplained) = (String::new(), String::new());
        let mut total = Tally::default();
        let mut declared = vec![false; self.equivalent.len()];
        for (Mutation { place, kind }, tally) in tallies {
            let line = sources.line(place);
            total.sites += tally.sites;
            total.bounds += tally.bounds;
            total.value += tally.value;
            total.missed += tally.missed;
            let (sites, missed) = (tally.sites, tally.missed);
            let caught = format!("{} by bounds, {} by value", tally.bounds, tally.value);
            let mut verdict = format!("{sites}: {caught}");
            if missed > 0 {
                let reason = (self.equivalent.iter())
                    .position(|known| kind == known.kind && line.contains(known.place));
                if let Some(reason) = reason {
                    declared[reason] = true;
                    let why = self.equivalent[reason].why;
                    write!(verdict, ", {missed} equivalent: {why}").expect("a string");
                } else {
                    writeln!(unexplained, "{line} [{kind}]: {missed} of {sites}")
                        .expect("a string");
                }
            }
            writeln!(list, "  {line} [{kind}] {verdict}").expect("a string");
        }
        let Self { name, .. } = self;
        assert!(
            unexplained.is_empty(),
            "{name}: nobody would notice\n{unexplained}"
        );
        for (known, used) in self.equivalent.iter().zip(declared) {
            assert!(used, "{name}: {known:?} is caught, or not there");
        }
        format!(
            "{name}: {} mutations, {} caught by bounds, {} by value, {} equivalent\n{list}",
            total.sites, total.bounds, total.value, total.missed
        )
    }

    fn ending(&self, target: usize, kernel: &dyn Fn() -> bool) -> Ending {
        let mut right = false;
        start(self.files, Target::Nth(target), None);
        let panic = panics(|| right = kernel());
        stop();
        match panic {
            Some(_) => Ending::Panic,
            None if right => Ending::Right,
            None => Ending::Wrong,
        }
    }
}

/// The result of `kernel` where an operation of the files goes wrong as `kind` says, wherever it is executed.
///
/// # Panics
///
/// Panics unless the lines of the files, as reports have them, have one such operation at `place`.
pub fn mutated<T>(
    files: &'static [&'static str],
    place: &str,
    kind: &str,
    kernel: impl Fn() -> T,
) -> T {
    let mut sources = Sources::default();
    let mut mutations = survey(files, &|| {
        kernel();
    });
    mutations
        .retain(|mutation| mutation.kind == kind && sources.line(mutation.place).contains(place));
    mutations.dedup();
    let [mutation] = mutations[..] else {
        panic!("{place} [{kind}]: {mutations:?}");
    };
    start(files, Target::Everywhere(mutation), None);
    let result = kernel();
    stop();
    result
}

fn start(files: &'static [&'static str], target: Target, record: Option<Vec<Mutation>>) {
    RUN.set(Run {
        files,
        target,
        next: 0,
        record,
    });
}

/// The operations that were executed since the start, if they were to be recorded.
fn stop() -> Option<Vec<Mutation>> {
    RUN.take().record
}

fn survey(files: &'static [&'static str], kernel: &dyn Fn()) -> Vec<Mutation> {
    start(files, Target::None, Some(Vec::new()));
    kernel();
    stop().expect("was there")
}

/// A crate's tests, with an instruction that is wrong wherever it is executed. Each instruction of the files, and each way in which
/// it can go wrong, has to make two of the tests panic.
#[derive(Clone, Copy)]
pub struct Instructions<'a> {
    /// The ends of the paths of the files whose instructions are mutated.
    pub files: &'static [&'static str],
    /// Tests with their names.
    pub tests: &'a [(&'a str, fn())],
    /// Mutations that no test can see.
    pub equivalent: &'a [Equivalent],
}

impl Instructions<'_> {
    /// Makes every instruction go wrong in every way, and returns the list, a line for each.
    ///
    /// # Panics
    ///
    /// Panics if fewer than two tests notice what is not declared equivalent, or one notices what is.
    #[must_use]
    pub fn run(&self) -> String {
        let mut mutations = BTreeMap::new();
        for (_, test) in self.tests {
            for mutation in survey(self.files, test) {
                let Mutation { place, kind } = mutation;
                let key = (place.file(), place.line(), place.column(), kind);
                mutations.insert(key, mutation);
            }
        }
        let mut sources = Sources::default();
        let (mut list, mut unexplained) = (String::new(), String::new());
        let mut equivalent = 0;
        let mut declared = vec![false; self.equivalent.len()];
        for &mutation in mutations.values() {
            let noticed = self.tests.iter().filter(|(_, test)| {
                start(self.files, Target::Everywhere(mutation), None);
                let panic = panics(test);
                stop();
                panic.is_some()
            });
            let noticed: Vec<_> = noticed.map(|(name, _)| *name).collect();
            let Mutation { place, kind } = mutation;
            let line = sources.line(place);
            let reason = (self.equivalent.iter())
                .position(|known| kind == known.kind && line.contains(known.place));
            let verdict = match (reason, noticed.len()) {
                (Some(reason), 0) => {
                    declared[reason] = true;
                    equivalent += 1;
                    format!("equivalent: {}", self.equivalent[reason].why)
                }
                (None, 2..) => noticed.join(", "),
                _ => {
                    writeln!(unexplained, "{line} [{kind}]: {noticed:?}").expect("a string");
                    continue;
                }
            };
            writeln!(list, "  {line} [{kind}] {verdict}").expect("a string");
        }
        assert!(unexplained.is_empty(), "not noticed twice\n{unexplained}");
        for (known, used) in self.equivalent.iter().zip(declared) {
            assert!(used, "{known:?} is not there");
        }
        let count = mutations.len();
        format!("{count} mutations, {equivalent} equivalent\n{list}")
    }
}

/// The lines of the kernels' files.
#[derive(Default)]
struct Sources(BTreeMap<&'static str, Vec<String>>);

impl Sources {
    /// `function: line`, with a mark before the operation.
    fn line(&mut self, place: &Location<'static>) -> String {
        if place.file().ends_with(AS_FUNCTION) {
            return "a function that is passed to another".to_owned();
        }
        let lines = self.0.entry(place.file()).or_insert_with(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let text = fs::read_to_string(root.join(place.file())).expect("a source file");
            text.lines().map(str::to_owned).collect()
        });
        let at = place.line() as usize - 1;
        let (before, after) = lines[at].split_at(place.column() as usize - 1);
        let name = |line: &String| {
            let rest = line.split_once("fn ")?.1;
            let end = rest.find(['(', '<'])?;
            (!line.trim_start().starts_with("//")).then(|| rest[..end].to_owned())
        };
        let function = lines[..=at].iter().rev().find_map(name).unwrap_or_default();
        format!("{function}: {}»{after}", before.trim_start())
    }
}

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The message that `kernel` panics with, which is not printed: mutations that are caught panic by the thousand.
pub fn panics(kernel: impl FnOnce()) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                hook(info);
            }
        }));
    });
    EXPECTED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(kernel));
    EXPECTED.set(false);
    let message = result.err()?.downcast::<String>();
    Some(message.map_or_else(|_| "a constant message".to_owned(), |message| *message))
}

/// Values of a strategy, the same each time.
///
/// # Panics
///
/// Panics if the strategy has none.
pub fn sample<S: Strategy>(strategy: S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    let mut value = || strategy.new_tree(&mut runner).expect("a value").current();
    (0..count).map(|_| value()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn add(x: u64, y: u64) -> u64 {
        sum(x, y, u64::wrapping_add)
    }

    fn examine(inputs: &[u64], equivalent: &[Equivalent]) -> String {
        MutationTest {
            name: "x + x + 0",
            files: &["mutation.rs"],
            bounds: None,
            inputs,
            value: &|&x| add(x, add(x, 0)) == 2 * x,
            equivalent,
        }
        .run()
    }

    const ZERO: Equivalent = Equivalent {
        place: "»add(x, 0)",
        kind: "right operand lost",
        why: "it is 0",
    };

    #[test]
    fn each_operation_is_struck_in_each_way() {
        let report = examine(&[0, 1], &[ZERO]);
        assert!(
            report.starts_with(
                "x + x + 0: 4 mutations, 0 caught by bounds, 3 by value, 1 equivalent\n"
            ),
            "{report}"
        );
    }

    #[test]
    fn the_right_value_out_of_range_is_caught_by_bounds() {
        #[track_caller]
        fn reduce(x: u64) -> u64 {
            skippable(x, |x| x % 4)
        }
        let report = MutationTest {
            name: "x modulo 4",
            files: &["mutation.rs"],
            bounds: None,
            inputs: &[5],
            value: &|&x| {
                let reduced = reduce(x);
                let right = reduced % 4 == x % 4;
                assert!(!right || reduced < 4, "{reduced} is not reduced");
                right
            },
            equivalent: &[],
        }
        .run();
        let expected = "x modulo 4: 1 mutations, 1 caught by bounds, 0 by value, 0 equivalent\n";
        assert!(report.starts_with(expected), "{report}");
    }

    #[test]
    fn one_operation_is_struck() {
        let sums = |place, kind| {
            mutated(&["mutation.rs"], place, kind, || {
                let (x, y) = (add(1, 2), add(4, 8));
                [x, y]
            })
        };
        assert_eq!(sums("»add(1, 2)", "left operand lost"), [2, 12]);
        assert_eq!(sums("»add(4, 8)", "right operand lost"), [3, 4]);
        for (place, kind) in [("»add(1, 2)", "skipped"), ("»add(", "left operand lost")] {
            let refused = panics(|| {
                sums(place, kind);
            });
            assert!(refused.is_some(), "{place} is none, or several");
        }
    }

    #[test]
    #[should_panic(expected = "nobody would notice")]
    fn a_mutation_that_no_input_shows() {
        let _ = examine(&[0], &[ZERO]);
    }

    #[test]
    #[should_panic(expected = "is caught, or not there")]
    fn an_equivalence_that_is_none() {
        let caught = Equivalent {
            kind: "left operand lost",
            ..ZERO
        };
        let _ = examine(&[0, 1], &[ZERO, caught]);
    }
}
