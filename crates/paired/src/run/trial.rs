//! A trial: two builds of a user's program run in pairs, as [`pairs`](crate::run::pairs) runs workers, and their outputs are
//! compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use indexmap::IndexMap;

use crate::address::without_credentials;
use crate::error::Failure;
use crate::files::claimed;
use crate::files::contents::sha256;
use crate::files::plain;
use crate::interrupt::{self, Group};
use crate::isa::Isa;
use crate::run::figures;
use crate::run::input::Input;
use crate::run::program::{Done, Program, contents};
use crate::run::protocol::LONGEST_NAME;
use crate::run::resident::{self, Moment, Resident};
use crate::run::sample::{BENCH, ITERATIONS, ROUND, RUN, Run, SPAN, Side};
use crate::run::spans::{self, IN, Spans};
use crate::terminal::{print_lines, shown};

/// The shortest run that is compared: the start of a process is too large a part of shorter ones.
const SHORTEST: Duration = Duration::from_millis(10);

/// An output that must be the same for both programs.
#[derive(Clone, Debug)]
pub enum Output {
    /// The standard output.
    Stdout,
    /// The file of this path, relative to the folder in which the program runs.
    File(PathBuf),
}

impl From<&OsStr> for Output {
    fn from(name: &OsStr) -> Self {
        if name == "stdout" {
            Self::Stdout
        } else {
            Self::File(name.into())
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::File(path) => f.write_str(&shown(path)),
        }
    }
}

/// The two programs of a comparison, and the way in which they run.
pub struct Trial<'a> {
    /// The program without the patches.
    pub baseline: Program,
    /// The program with the patches.
    pub candidate: Program,
    /// The instruction set of both builds, for the samples.
    pub isa: Isa,
    /// The shell command that runs before each run, and is not measured.
    pub setup: Option<&'a str>,
    /// The outputs that are compared.
    pub same: &'a [Output],
    /// The standard input of each run.
    pub input: Input,
    /// Tells whether the times of tracing spans are read from the output.
    pub phases: bool,
    /// Tells whether the program is a bench, whose figures are read.
    pub bench: bool,
}

/// The samples of a trial.
pub struct Samples {
    /// The samples of whole runs, in the order in which they were taken.
    pub runs: Vec<Run>,
    /// The samples of each span or figure that every run has, in the same order.
    pub parts: Vec<Vec<Run>>,
    /// The most resident memory while a span is open, in bytes, of the baseline and of the candidate, for each span of which both sides' first
    /// runs tell.
    pub resident: Vec<(String, [i64; 2])>,
}

impl Trial<'_> {
    /// Returns the number of runs for this number of pairs, the warm-up included.
    pub fn len(pairs: usize) -> u64 {
        (WARM.len() + pairs * QUARTET) as u64
    }

    /// Runs both programs in pairs, after one run of each for cold caches. `progress` is called after each run.
    ///
    /// Fails where a run ends with an exit code other than 0, takes less than 10 ms, or produces another output than the first
    /// one; where it has no spans or figures, if these are asked for; and after an interrupt.
    pub fn measure(&self, pairs: usize, mut progress: impl FnMut()) -> Result<Samples> {
        self.refuse_pipes()?;
        let mut expected = None;
        let mut shortest = Duration::MAX;
        let mut resident: BTreeMap<Side, Resident> = BTreeMap::new();
        for side in WARM {
            let mut moments = Vec::new();
            let is_noted = self.phases && side != Side::Control;
            let noted = is_noted.then_some(&mut moments);
            let (done, parts) = self.run(side, self.program(side), &mut expected, noted)?;
            resident.insert(
                side,
                resident::by_span(&moments, [&done.stdout, &done.stderr]),
            );
            shortest = shortest.min(done.wall);
            if self.bench && parts.is_empty() {
                return Err(no_figures(&self.baseline.name).into());
            }
            if self.phases && parts.is_empty() {
                return Err(Failure::input("--phases: the program prints no spans")
                    .hint("tracing-forest prints them, or tracing-subscriber with FmtSpan::CLOSE; some programs ask for RUST_LOG=info")
                    .into());
            }
            progress();
        }
        refuse_short(&self.baseline.name, shortest)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut runs = Vec::new();
        let mut parts: IndexMap<String, Vec<Run>> = IndexMap::new();
        for round in 0..pairs {
            // New copies for each round, for the reason that `Copies` of workers gives.
            let copy = |side| Ok((side, self.program(side).copied()?));
            let copies: BTreeMap<_, _> = WARM.into_iter().map(copy).collect::<Result<_>>()?;
            for &side in &ROUND[round % 2 * QUARTET..][..QUARTET] {
                let (program, _) = &copies[&side];
                let (done, found) = self.run(side, program, &mut expected, None)?;
                let run = Run {
                    workload: format!("{RUN}wall"),
                    isa: self.isa.to_string(),
                    threads,
                    // Each run is a process of its own, so each round is a restart.
                    seed: round as u64,
                    round,
                    side,
                    wall_ns: done.wall.as_nanos() as u64,
                    cpu_ns: done.cpu.as_nanos() as u64,
                    peak_kib: done.peak_kib,
                    live_bytes: None,
                    hashing_ns: None,
                };
                for (workload, ns) in found {
                    let part = Run {
                        workload,
                        wall_ns: ns,
                        // The CPU time of a span is unknown: other threads work meanwhile.
                        cpu_ns: ns,
                        peak_kib: None,
                        live_bytes: None,
                        ..run.clone()
                    };
                    parts.entry(part.workload.clone()).or_default().push(part);
                }
                runs.push(run);
                progress();
            }
        }
        let mut parts: Vec<_> = parts.into_values().collect();
        parts.retain(|of| of.len() == runs.len());
        let were_named = !parts.is_empty();
        parts.retain(|of| of.iter().all(|part| part.wall_ns > 0));
        if self.bench && parts.is_empty() {
            let (what, hint) = match were_named {
                true => (
                    "no benchmark takes time in every run",
                    "the compiler removes work whose result is not used; `std::hint::black_box` uses it",
                ),
                false => (
                    "no benchmark has a figure in every run",
                    "a benchmark's name has to be the same in each run",
                ),
            };
            let what = format!("{}: {what}", self.baseline.name);
            return Err(Failure::input(what).hint(hint).into());
        }
        let bytes = |kib: u64| kib.cast_signed().saturating_mul(1024);
        let resident = (resident[&Side::Baseline].iter()).filter_map(|(span, baseline)| {
            let candidate = resident[&Side::Candidate].get(span)?;
            Some((span.clone(), [*baseline, *candidate].map(bytes)))
        });
        let resident = resident.collect();
        Ok(Samples {
            runs,
            parts,
            resident,
        })
    }

    /// Refuses outputs that are no plain files: a program that writes to a pipe waits for a reader.
    fn refuse_pipes(&self) -> Result<(), Failure> {
        for output in self.same {
            if let Output::File(path) = output
                && let Ok(present) = fs::metadata(self.baseline.folder.join(path))
                && !present.is_file()
            {
                return Err(Failure::input(format!("--same {output}: not a plain file"))
                    .hint("name a file that the program writes"));
            }
        }
        Ok(())
    }

    fn program(&self, side: Side) -> &Program {
        match side {
            Side::Baseline | Side::Control => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }

    /// Runs a program once, and compares its outputs with those of the first run, which are `expected`. Its memory is noted in
    /// `moments`, if there are some. Returns the times of its spans or figures, in nanoseconds, by name.
    fn run(
        &self,
        side: Side,
        program: &Program,
        expected: &mut Option<Vec<String>>,
        moments: Option<&mut Vec<Moment>>,
    ) -> Result<(Done, Vec<(String, u64)>)> {
        let name = match side {
            Side::Baseline | Side::Control => "baseline",
            Side::Candidate => "candidate",
        };
        let _background = self.set_up()?;
        let before: Vec<_> = self
            .same
            .iter()
            .map(|output| changed(program, output))
            .collect();
        let figures = self.bench.then(claimed::folder).transpose()?;
        let folder = figures.as_ref().map(|folder| folder.path());
        let done = program.run(&self.input, folder, moments)?;
        if !done.status.success() {
            show_last(&done.stderr);
            let what = format!("{}: the {name} ended with {}", program.name, done.status);
            return Err(match expected {
                None if self.input.is_terminal => Failure::input(what).hint("only runs that succeed are compared; if it reads its standard input, which is a terminal here, `< FILE` gives each run the same bytes"),
                None => Failure::input(what).hint("only runs that succeed are compared"),
                Some(_) => Failure::check(what).hint("an earlier run succeeded"),
            }
            .into());
        }
        let mut outputs = Vec::new();
        for (output, before) in self.same.iter().zip(before) {
            outputs.push(match output {
                Output::Stdout => sha256(&done.stdout),
                Output::File(path) => {
                    if changed(program, output) == before {
                        let what = format!("--same {output}: the {name} did not write this file");
                        return Err(Failure::check(what)
                            .hint("name it from the folder in which the program runs")
                            .into());
                    }
                    let contents = plain::read(&program.folder.join(path));
                    sha256(&contents.map_err(|error| {
                        Failure::check(format!("--same {output}: cannot read it: {error}"))
                            .hint("name a file that the program writes")
                    })?)
                }
            });
        }
        let expected = expected.get_or_insert_with(|| outputs.clone());
        let mut pairs = self.same.iter().zip(expected.iter().zip(&outputs));
        if let Some((output, _)) = pairs.find(|(_, (first, now))| first != now) {
            let failure = if side == Side::Candidate {
                Failure::check(format!(
                    "--same {output}: the candidate's output differs from the baseline's"
                ))
                .hint("no time is reported for programs whose outputs differ")
            } else {
                Failure::check(format!(
                    "--same {output}: the baseline's output differs from one run to the next"
                ))
                .hint("`--setup 'COMMAND'` can restore files that a run changes; an output with times or random numbers cannot be compared")
            };
            return Err(failure.into());
        }
        let parts = if let Some(folder) = folder {
            let figures = figures::read(folder, &done.stdout)?;
            refuse_longer(BENCH, &figures, done.wall)?;
            let part = |(name, ns): &(String, f64)| {
                Ok((workload(BENCH, name)?, (ns * ITERATIONS).round() as u64))
            };
            figures.iter().map(part).collect::<Result<_>>()?
        } else if self.phases {
            let mut spans = Spans::default();
            spans::read(&mut spans, &done.stdout);
            spans::read(&mut spans, &done.stderr);
            let times = spans.iter().map(|(path, ns)| (path.clone(), *ns as f64));
            refuse_longer(SPAN, &times.collect::<Vec<_>>(), done.wall)?;
            let part = |(path, ns): (&String, &u64)| Ok((workload(SPAN, path)?, *ns));
            spans.iter().map(part).collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        Ok((done, parts))
    }

    /// Runs the shell command before a run. Processes that it leaves in the background end when the value is dropped.
    fn set_up(&self) -> Result<Option<Group>> {
        let Some(setup) = self.setup else {
            return Ok(None);
        };
        // A file, since a process in the background may go on writing there.
        let stderr = claimed::file()?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", setup])
            .current_dir(&self.baseline.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr.try_clone()?);
        let mut group = Group::start(&mut shell)?;
        interrupt::wait(&group, &shell)?;
        if group.has_succeeded() {
            return Ok(Some(group));
        }
        show_last(&contents(stderr)?);
        let status = group.reap(Child::wait)?;
        Err(Failure::input(format!("--setup '{setup}' ended with {status}")).into())
    }
}

/// The number of runs of a pair: half of [`ROUND`], the two halves in turn. A half is enough where each run is a process of its
/// own, since no run then finds the caches warm from an earlier run of the same process.
const QUARTET: usize = ROUND.len() / 2;

/// The runs before the first pair. The baseline runs twice, so that an output that changes from run to run is found.
const WARM: [Side; 3] = [Side::Baseline, Side::Control, Side::Candidate];

fn refuse_short(name: &str, run: Duration) -> Result<(), Failure> {
    if run >= SHORTEST {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{name}: a run takes {run:.1?}, which is too short to compare"
    ))
    .hint(format!("give it work for {SHORTEST:?} or more")))
}

/// Returns the workload name for the name of a span or a benchmark. Refuses a name that a table would show as an empty cell, and
/// one that would be refused where the report is read.
fn workload(kind: &str, name: &str) -> Result<String, Failure> {
    const SHOWN: usize = 60;
    let what = kind.trim_end_matches('/');
    if name.split(IN).any(|part| part.trim().is_empty()) {
        return Err(Failure::input(format!("{what} {name:?}: has no name"))
            .hint("give it a name that can be seen"));
    }
    let workload = format!("{kind}{name}");
    if workload.len() > LONGEST_NAME {
        // An address that is cut may have lost the end of its user.
        let start: String = without_credentials(name).chars().take(SHOWN).collect();
        return Err(
            Failure::input(format!("{what} {start}..: a name of {} bytes", name.len())).hint(
                format!(
                    "give it a shorter one, of {LONGEST_NAME} bytes at most with what is above it"
                ),
            ),
        );
    }
    Ok(workload)
}

/// Refuses spans, and iterations of a bench, that took longer than the run on all cores together. Times are in nanoseconds.
fn refuse_longer(kind: &str, times: &[(String, f64)], run: Duration) -> Result<(), Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let most = run.as_nanos() as f64 * cores as f64;
    let Some((name, ns)) = times.iter().find(|(_, ns)| *ns > most) else {
        return Ok(());
    };
    let took = match Duration::try_from_secs_f64(ns / 1e9) {
        Ok(took) => format!("{took:.1?}"),
        Err(_) => format!("{ns:e} ns"),
    };
    let what = kind.trim_end_matches('/');
    let hint = match kind {
        SPAN => {
            "leave out --phases, or print the spans of this run, from no more threads than cores"
        }
        _ => "figures of another kind than times cannot be compared",
    };
    Err(Failure::input(format!(
        "{what} {name}: the program prints {took} for it, in a run of {run:.1?} on {cores} cores"
    ))
    .hint(hint))
}

fn no_figures(name: &str) -> Failure {
    Failure::input(format!(
        "{name}: the bench prints no figures of criterion or libtest, and may run for a fixed time"
    ))
    .hint(format!(
        "compare a bench that does the same work in every run as a program: add a table `[[example]]` to the manifest, with \
         `name = \"{name}-work\"` and the bench's `path`; then give `-- run --release --example {name}-work`"
    ))
}

/// Returns the time of the last change of an output's file.
fn changed(program: &Program, output: &Output) -> Option<SystemTime> {
    let Output::File(path) = output else {
        return None;
    };
    fs::metadata(program.folder.join(path))
        .ok()?
        .modified()
        .ok()
}

/// Prints the last lines that a program wrote to stderr.
fn show_last(stderr: &[u8]) {
    const LINES: usize = 10;
    let stderr = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    print_lines(lines[lines.len().saturating_sub(LINES)..].iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_fit_into_their_run() {
        let spans = |ns| [("prove".to_owned(), ns)];
        let run = Duration::from_millis(10);
        refuse_longer(SPAN, &spans(1e7), run).unwrap();
        for ns in [u64::MAX as f64, 1e300] {
            refuse_longer(SPAN, &spans(ns), run).unwrap_err();
            refuse_longer(BENCH, &spans(ns), run).unwrap_err();
        }
    }

    #[test]
    fn names_can_be_shown_and_read_again() {
        assert_eq!(workload(SPAN, "a > b").unwrap(), "span/a > b");
        let longest = "a".repeat(LONGEST_NAME - BENCH.len());
        workload(BENCH, &longest).unwrap();
        let token = "s3cr3t".repeat(1 << 10);
        let refused = workload(BENCH, &format!("https://u:{token}@h")).unwrap_err();
        assert_eq!(refused.message, "bench https://h..: a name of 6156 bytes");
        for (refused, why) in [
            ("", "bench \"\": has no name"),
            ("  ", "bench \"  \": has no name"),
            ("a >  > b", "bench \"a >  > b\": has no name"),
            (&format!("{longest}b"), ": a name of 4091 bytes"),
        ] {
            let refused = workload(BENCH, refused).unwrap_err();
            assert!(refused.message.ends_with(why), "{refused}");
            assert!(refused.message.len() < 100, "{refused}");
        }
    }

    #[test]
    fn short_runs_are_refused() {
        refuse_short("prove", Duration::from_millis(10)).unwrap();
        let refused = refuse_short("prove", Duration::from_micros(9940)).unwrap_err();
        insta::assert_snapshot!(refused.message, @"prove: a run takes 9.9ms, which is too short to compare");
        assert_eq!(refused.hint.unwrap(), "give it work for 10ms or more");
    }
}
