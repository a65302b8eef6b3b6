#!/usr/bin/env bash
# usage: ci/fuzz.sh TARGET [SECONDS]
# Runs a fuzz target for ten minutes, or for SECONDS, built for this machine's CPU or for FUZZ_CPU. What it finds is left in
# fuzz/artifacts/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -f fuzz/fuzz_targets/$1.rs ]]; then
  echo "fuzz.sh: $1: no target; those in fuzz/fuzz_targets are" >&2
  exit 2
fi
ci/cargo-fuzz.sh
FUZZ_SECONDS=${2:-600} exec cargo test --locked --package p3-patches --test fuzz -- --ignored --nocapture --exact "$1"
