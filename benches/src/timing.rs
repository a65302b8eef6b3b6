//! The clocks, and the cores that a row may use.

use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::protocol::Busy;
use crate::{hashing, watched};

/// How long the timed part of a run took.
pub struct Timing {
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// The part of `wall_ns` that Merkle trees took.
    pub hashing_ns: u64,
    /// The times by spans, in a process that listens to all.
    pub busy: Vec<Busy>,
}

/// Runs and times `work`. Inputs are made before and outputs are encoded and dropped after, at no cost to the figure.
pub fn time<T>(work: impl FnOnce() -> T) -> (Timing, T) {
    hashing::start();
    watched::start();
    let cpu = cpu_ns();
    let wall = Instant::now();
    let output = black_box(work());
    let wall_ns = wall.elapsed().as_nanos() as u64;
    (
        Timing {
            wall_ns,
            cpu_ns: cpu_ns() - cpu,
            hashing_ns: hashing::spent_ns(),
            busy: watched::stop(),
        },
        output,
    )
}

/// Returns the CPU time of all threads of the process so far.
pub fn cpu_ns() -> u64 {
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

/// Takes the first of the cores that the process may use, in the order of [`by_preference`].
#[cfg(target_os = "linux")]
fn pin(threads: usize) -> Result<(), String> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let allowed = sched_getaffinity(None).map_err(|error| format!("affinity: {error}"))?;
    let allowed = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let cores = by_preference(allowed.map(|core| (core, place(core))).collect());
    if cores.len() < threads {
        return Err(format!(
            "the row needs {threads} cores, {} may be used",
            cores.len()
        ));
    }
    let mut set = CpuSet::new();
    cores[..threads].iter().for_each(|&core| set.set(core));
    sched_setaffinity(None, &set).map_err(|error| format!("affinity: {error}"))
}

/// The place of a core as the system numbers it: its socket, and the physical core there that it is a hardware thread of.
#[cfg(target_os = "linux")]
type Place = (usize, usize);

/// Returns the place of a core. Where the system does not tell it, each is a physical core of one socket.
#[cfg(target_os = "linux")]
fn place(core: usize) -> Place {
    let told = |what: &str| {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/{what}");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    };
    let place = told("physical_package_id").zip(told("core_id"));
    place.unwrap_or((0, core))
}

/// Orders cores: physical cores before second hardware threads, the last core's socket before others, and a last core before the ones
/// in front of it. So `taskset -c 3 cargo p3 ab` means core 3, and core 0, where most interrupts land, comes last in the choice.
#[cfg(target_os = "linux")]
fn by_preference(cores: Vec<(usize, Place)>) -> Vec<usize> {
    let first = cores.iter().max().map(|(_, (socket, _))| *socket);
    let mut ranked: Vec<_> = (cores.iter())
        .map(|&(core, place)| {
            let twins = cores
                .iter()
                .filter(|(other, at)| *at == place && *other > core);
            let (socket, _) = place;
            (
                twins.count(),
                Some(socket) != first,
                socket,
                std::cmp::Reverse(core),
            )
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(.., core)| core.0).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::by_preference;

    #[test]
    fn physical_cores_of_one_socket_come_first() {
        // Two sockets of two cores, whose second hardware threads have the numbers from 4 on.
        let cores = (0..8).map(|core| (core, (core / 2 % 2, core % 2)));
        assert_eq!(
            by_preference(cores.clone().collect()),
            [7, 6, 5, 4, 3, 2, 1, 0]
        );
        let first_socket_last = cores.map(|(core, (socket, at))| (core, (1 - socket, at)));
        assert_eq!(
            by_preference(first_socket_last.collect()),
            [7, 6, 5, 4, 3, 2, 1, 0]
        );
        // Neighbours are hardware threads of one core, of one socket.
        let neighbours = (0..4).map(|core| (core, (0, core / 2)));
        assert_eq!(by_preference(neighbours.collect()), [3, 1, 2, 0]);
        // Sockets take turns: core 5 is in the last socket.
        let turns = (0..6).map(|core| (core, (core % 2, core)));
        assert_eq!(by_preference(turns.collect()), [5, 3, 1, 4, 2, 0]);
    }
}
