//! The tool as its users run it: on a project of two small patches and a real downstream crate, both in temporary
//! folders. The snapshots hold what a user reads.

#![cfg(unix)] // signals, permission bits, `ulimit`

mod action;
mod built;
mod chosen;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod disk;
mod drift;
mod edited;
mod fixture;
mod from_git;
mod hints;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod history;
mod interrupted;
mod killed;
mod launched;
mod lifecycle;
mod linked;
mod outside;
mod overlay;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power_failure;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recorder;
mod refused;
mod sandboxed;
mod stages;
mod step;
mod supply;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod synced;
mod trial;
mod trial_flags;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod unsynced;
mod upstream;
mod vendored;
mod verified;
mod without_cargo;
mod workflows;
