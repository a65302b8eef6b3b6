//! The maintainers' tool as they run it: on a project of two small patches and a real downstream crate, both in temporary
//! folders. The snapshots hold what a user reads.

#![cfg(unix)] // signals, permission bits, `ulimit`

mod budget;
mod built;
mod checkout;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod disk;
mod drift;
#[path = "../../../crates/p3-patches/tests/cli/fixture.rs"]
mod fixture;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod history;
mod killed;
#[path = "../../../crates/p3-patches/tests/cli/killer.rs"]
mod killer;
mod linked;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power_failure;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recorder;
mod sandboxed;
mod stages;
mod step;
mod supply;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod synced;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod unsynced;
mod upstream;
