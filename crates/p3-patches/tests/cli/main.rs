//! The tool as its users run it: on a project of two small patches and a real downstream crate, both in temporary
//! folders. The snapshots hold what a user reads.

#![cfg(unix)] // signals, permission bits, `ulimit`

mod action;
mod cached;
mod chosen;
mod edited;
mod fixture;
mod foreign;
mod from_git;
mod hints;
mod indexes;
mod interrupted;
mod killed;
mod killer;
mod launched;
mod lifecycle;
mod outside;
mod overlay;
mod refused;
mod trial;
mod trial_flags;
mod vendored;
mod verified;
mod without_cargo;
mod workflows;
