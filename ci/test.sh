#!/usr/bin/env bash
# Every test there is; arguments go to `cargo p3 test`.
set -euo pipefail
cd "$(dirname "$0")/.."

# All that a backtrace shows, and a fifth less to compile. Nothing is compiled a second time.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_INCREMENTAL=0

# What is installed here mostly waits for the network, and does not wait for the tool to be built.
cargo build --release --quiet --locked --package p3-patches &
build=$!
ci/tools.sh
ci/isa.sh
ci/cargo-fuzz.sh
ci/browser.sh
[[ $(uname -m) != x86_64 ]] || ci/miri.sh
wait "$build"
# Where rustup has no Rust for aarch64, Debian's builds what runs in the emulator, and nothing else: clippy and the
# libraries that it reads have to be of one release.
if [[ -x target/rustc-web/rustc ]]; then
  RUSTC=$PWD/target/rustc-web/rustc CARGO_TARGET_DIR=target/rustc-web/build cargo p3 test --only '*/neon'
fi
exec cargo p3 test "$@"
