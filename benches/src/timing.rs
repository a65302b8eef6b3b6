//! The clocks, and the cores that a row may use.

use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::hashing;

/// How long the timed part of a run took.
pub struct Timing {
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// The part of `wall_ns` that Merkle trees took.
    pub hashing_ns: u64,
}

/// Runs and times `work`. Inputs are made before and outputs are encoded and dropped after, at no cost to the figure.
pub fn time<T>(work: impl FnOnce() -> T) -> (Timing, T) {
    hashing::start();
    let cpu = cpu_ns();
    let wall = Instant::now();
    let output = black_box(work());
    let wall_ns = wall.elapsed().as_nanos() as u64;
    (
        Timing {
            wall_ns,
            cpu_ns: cpu_ns() - cpu,
            hashing_ns: hashing::spent_ns(),
        },
        output,
    )
}

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The most memory that the process has had resident, in KiB: inputs, outputs and what was freed again.
#[cfg(target_os = "linux")]
pub fn peak_kib() -> Option<u64> {
    // Not `ru_maxrss`, which still has the size of the process that started this one.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub fn peak_kib() -> Option<u64> {
    None
}

/// Confines the process to `threads` cores and gives rayon as many threads, this one among them: on one core nothing
/// is ever handed to another thread.
pub fn confine(threads: usize) -> Result<(), String> {
    #[cfg(target_os = "linux")]
    pin(threads)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build_global()
        .map_err(|error| format!("thread pool: {error}"))
}

/// Takes the last of the cores that the process may use, so that `taskset -c 3 cargo p3 ab` means core 3, and core 0,
/// where most interrupts land, comes last in the choice.
#[cfg(target_os = "linux")]
fn pin(threads: usize) -> Result<(), String> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let allowed = sched_getaffinity(None).map_err(|error| format!("affinity: {error}"))?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .rev()
        .filter(|&core| allowed.is_set(core))
        .take(threads)
        .collect();
    if cores.len() < threads {
        return Err(format!(
            "the row needs {threads} cores, {} may be used",
            cores.len()
        ));
    }
    let mut set = CpuSet::new();
    cores.into_iter().for_each(|core| set.set(core));
    sched_setaffinity(None, &set).map_err(|error| format!("affinity: {error}"))
}
