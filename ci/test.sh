#!/usr/bin/env bash
# Every test there is; arguments go to `cargo p3 test`.
set -euo pipefail
cd "$(dirname "$0")/.."

# As the stages compile. Nothing is compiled a second time. Cargo's default of 256 units of code for each package is for builds
# that are repeated.
export CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=4
# Tests of the tool wait for the programs that they run.
RUST_TEST_THREADS=$((2 * $(getconf _NPROCESSORS_ONLN)))
export RUST_TEST_THREADS

# The installation of tools mostly waits for the network, so the build of the tool runs beside it.
cargo test --quiet --locked --package paired --package p3-patches --package xtask --no-run &
build=$!
ci/tools.sh
ci/isa.sh
ci/cargo-fuzz.sh
ci/browser.sh
ci/rust-version.sh
[[ $(uname -m) != x86_64 ]] || ci/miri.sh
wait "$build"
# The program that cargo's alias xtask runs.
export CARGO=cargo
tool=${CARGO_TARGET_DIR:-target}/debug/xtask
# Where rustup has no Rust for aarch64, Debian's builds what runs in the emulator, and nothing else: clippy and the
# libraries that it reads have to be of one release.
if [[ -x target/rustc-web/rustc ]]; then
  RUSTC=$PWD/target/rustc-web/rustc CARGO_TARGET_DIR=target/rustc-web/build "$tool" --checkout test \
    --only kernels/neon --only outputs/neon --only count/neon --only upstream/neon --only instructions/neon
fi
exec "$tool" --checkout test "$@"
