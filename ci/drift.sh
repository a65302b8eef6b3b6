#!/usr/bin/env bash
# usage: ci/drift.sh [ARGUMENT]..
# Tries the patches on the newest release of Plonky3 with `cargo p3 refresh --dry-run`, and runs upstream's suites on those that apply.
# Appends what has moved to the job's summary where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

rustup target add aarch64-unknown-linux-gnu || echo "drift.sh: no Rust for aarch64, so NEON is not compiled" >&2
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
fence='```'
echo "$fence" >>"$summary"
trap 'echo "$fence" >>"$summary"' EXIT
cargo p3 refresh --dry-run --test "$@" | tee -a "$summary"
