//! Runs workers in pairs. `benches/METHODOLOGY.md` says why it is done this way.

#[path = "../../../benches/src/protocol.rs"]
pub mod protocol;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub use self::protocol::RowInfo;
use self::protocol::{Reply, Request, Sample, UnitInfo};
use crate::error::Failure;
use crate::interrupt;
use crate::isa::Isa;

/// The two executables of one comparison.
#[derive(Clone)]
pub struct Workers {
    pub baseline: PathBuf,
    pub candidate: PathBuf,
}

/// How much to measure.
pub struct Plan {
    pub seeds: u64,
    /// Rounds per seed; a round is one pair.
    pub reps: usize,
    /// After this long no new round of a seed begins.
    pub budget: Option<Duration>,
    /// How long a worker may take to answer.
    pub timeout: Duration,
}

/// Which process a run was made in.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Baseline,
    Candidate,
    /// The baseline's executable again, in a process of its own.
    Control,
}

/// A raw sample, as it is kept in the CSV.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    pub workload: String,
    pub isa: String,
    pub threads: usize,
    pub seed: u64,
    /// Counts on through all seeds.
    pub round: usize,
    pub side: Side,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// Older records have none.
    #[serde(default)]
    pub peak_kib: Option<u64>,
    /// Of `wall_ns`, what Merkle trees took.
    #[serde(default)]
    pub hashing_ns: Option<u64>,
}

impl Run {
    /// Whether the run took longer than its CPU time says, so that something else must have had its core. With several
    /// threads the two times are not comparable.
    pub fn disturbed(&self) -> bool {
        self.threads == 1 && self.wall_ns as f64 > 1.05 * self.cpu_ns as f64
    }
}

/// One round, and the next: each process runs as often after itself as after the other executable, and in each round
/// the candidate's two runs lie symmetrically between the baseline's.
const ORDERS: [[Side; 4]; 2] = [
    [
        Side::Baseline,
        Side::Candidate,
        Side::Candidate,
        Side::Control,
    ],
    [
        Side::Control,
        Side::Candidate,
        Side::Candidate,
        Side::Baseline,
    ],
];

/// The rows there are, which come from the one source of both executables.
pub fn rows(baseline: &Path, timeout: Duration) -> Result<Vec<RowInfo>> {
    let mut worker = Worker::start(baseline, Side::Baseline, timeout)?;
    match worker.ask(&Request::List)? {
        Reply::Rows(rows) => Ok(rows),
        other => Err(worker.confused(&other)),
    }
}

/// The cycles of one repetition of a unit, by the clock that the core has meanwhile.
pub fn cycles(executable: &Path, unit: &UnitInfo) -> Result<f64> {
    /// Some milliseconds, for a permutation, and not much more for a tree.
    const TIMES: usize = 1 << 11;
    const TIMEOUT: Duration = Duration::from_secs(300);
    let mut worker = Worker::start(executable, Side::Baseline, TIMEOUT)?;
    let request = Request::Time {
        unit: unit.name.clone(),
        times: TIMES / unit.leaves,
    };
    match worker.ask(&request)? {
        Reply::Timed(timed) => Ok(timed.unit_ns / timed.cycle_ns),
        other => Err(worker.confused(&other)),
    }
}

impl Workers {
    /// Measures one row. `progress` is called after each round.
    pub fn measure(
        &self,
        row: &RowInfo,
        isa: Isa,
        plan: &Plan,
        mut progress: impl FnMut(),
    ) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        let mut round = 0;
        for seed in 1..=plan.seeds {
            let mut trio = Trio::prepare(self, row, seed, plan.timeout)?;
            // The first run of a process pays for page faults and cold caches, and settles whether outputs agree.
            trio.compare()?;
            let start = Instant::now();
            for rep in 0..plan.reps {
                if rep > 0 && plan.budget.is_some_and(|budget| start.elapsed() > budget) {
                    break;
                }
                for side in ORDERS[round % ORDERS.len()] {
                    let Sample {
                        wall_ns,
                        cpu_ns,
                        peak_kib,
                        hashing_ns,
                        ..
                    } = trio.run(side)?;
                    runs.push(Run {
                        workload: row.name.clone(),
                        isa: isa.to_string(),
                        threads: row.threads,
                        seed,
                        round,
                        side,
                        wall_ns,
                        cpu_ns,
                        peak_kib,
                        hashing_ns,
                    });
                }
                round += 1;
                progress();
            }
        }
        Ok(runs)
    }

    /// Runs one row once on each side, measures nothing, and fails unless the outputs are equal.
    pub fn compare_outputs(&self, row: &RowInfo, seed: u64, timeout: Duration) -> Result<()> {
        Trio::prepare(self, row, seed, timeout)?.compare()
    }
}

/// The three processes of one row and seed.
struct Trio<'a> {
    row: &'a str,
    seed: u64,
    proof: bool,
    digest: Option<String>,
    baseline: Worker,
    candidate: Worker,
    control: Worker,
}

impl<'a> Trio<'a> {
    fn prepare(workers: &Workers, row: &'a RowInfo, seed: u64, timeout: Duration) -> Result<Self> {
        let start = |executable: &Path, side| {
            let mut worker = Worker::start(executable, side, timeout)?;
            match worker.ask(&Request::Prepare {
                row: row.name.clone(),
                seed,
            })? {
                Reply::Ready { proof } => Ok((worker, proof)),
                other => Err(worker.confused(&other)),
            }
        };
        let (baseline, proof) = start(&workers.baseline, Side::Baseline)?;
        let (candidate, _) = start(&workers.candidate, Side::Candidate)?;
        let (control, _) = start(&workers.baseline, Side::Control)?;
        Ok(Self {
            row: &row.name,
            seed,
            proof,
            digest: None,
            baseline,
            candidate,
            control,
        })
    }

    fn worker(&mut self, side: Side) -> &mut Worker {
        match side {
            Side::Baseline => &mut self.baseline,
            Side::Candidate => &mut self.candidate,
            Side::Control => &mut self.control,
        }
    }

    /// One run, whose outputs must be those of every run before.
    fn run(&mut self, side: Side) -> Result<Sample> {
        let worker = self.worker(side);
        let sample = match worker.ask(&Request::Run)? {
            Reply::Sample(sample) => sample,
            other => return Err(worker.confused(&other)),
        };
        let expected = self.digest.get_or_insert_with(|| sample.digest.clone());
        if *expected != sample.digest {
            let side = side.name();
            return Err(Failure::check(format!(
                "{}, seed {}: the {side}'s outputs differ from the baseline's (digest {} for {expected})",
                self.row, self.seed, sample.digest
            ))
            .hint("no time is reported for a row whose outputs differ")
            .into());
        }
        Ok(sample)
    }

    /// One run of each; where the outputs are proofs, each side's verifier has to accept the other's.
    fn compare(&mut self) -> Result<()> {
        for side in [Side::Baseline, Side::Control, Side::Candidate] {
            self.run(side)?;
        }
        if self.proof {
            let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
            let path = folder.path().join("proof");
            self.baseline.hand_over(&mut self.candidate, &path)?;
            self.candidate.hand_over(&mut self.baseline, &path)?;
        }
        Ok(())
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
            Self::Control => "control",
        }
    }
}

/// A worker process. It dies with the value.
struct Worker {
    side: Side,
    child: Child,
    /// Lines of its standard output, which a thread reads: a pipe cannot be read with a timeout.
    lines: Receiver<std::io::Result<String>>,
    timeout: Duration,
}

impl Worker {
    fn start(executable: &Path, side: Side, timeout: Duration) -> Result<Self> {
        let mut child = Command::new(executable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", executable.display()))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            side,
            child,
            lines,
            timeout,
        })
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        let line =
            serde_json::to_string(request).context("a request with a path that is no text")?;
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        if writeln!(stdin, "{line}").is_err() {
            return Err(self.died());
        }
        let line = self.line()?;
        match serde_json::from_str(&line) {
            Ok(Reply::Error(error)) => Err(self.failure(&error)),
            Ok(reply) => Ok(reply),
            Err(_) => {
                let line: String = line.chars().take(80).collect();
                Err(self.failure(&format!("printed what is no reply: {line}")))
            }
        }
    }

    fn line(&mut self) -> Result<String> {
        // Short waits, so that Ctrl-C is seen; on the core that the workers are not pinned to.
        const WAIT: Duration = Duration::from_millis(100);
        let start = Instant::now();
        loop {
            interrupt::check()?;
            match self.lines.recv_timeout(WAIT) {
                Ok(line) => return line.map_err(|error| self.failure(&error.to_string())),
                Err(RecvTimeoutError::Disconnected) => {
                    // A terminal's Ctrl-C ends the workers too.
                    interrupt::check()?;
                    return Err(self.died());
                }
                Err(RecvTimeoutError::Timeout) if start.elapsed() > self.timeout => {
                    let seconds = self.timeout.as_secs_f32();
                    return Err(self.failure(&format!("gave no answer in {seconds} s")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Has `self`'s last outputs verified by `other`.
    fn hand_over(&mut self, other: &mut Self, path: &Path) -> Result<()> {
        let path = path.to_owned();
        match self.ask(&Request::Save { path: path.clone() })? {
            Reply::Saved => {}
            reply => return Err(self.confused(&reply)),
        }
        match other.ask(&Request::Verify { path })? {
            Reply::Accepted => Ok(()),
            reply => Err(other.confused(&reply)),
        }
    }

    fn died(&mut self) -> anyhow::Error {
        match self.child.wait() {
            Ok(status) => self.failure(&format!("ended early: {status}")),
            Err(error) => error.into(),
        }
    }

    fn confused(&self, reply: &Reply) -> anyhow::Error {
        self.failure(&format!("gave an answer to another question: {reply:?}"))
    }

    fn failure(&self, what: &str) -> anyhow::Error {
        Failure::check(format!("{} worker: {what}", self.side.name())).into()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Fails only for a process that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
