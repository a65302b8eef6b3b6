#!/usr/bin/env bash
# usage: ci/ab.sh [NAME]..
# Records what patches gain on this machine, all of them together without a NAME. Leaves in target/ab the rows, the samples, a page
# of both and the files for benches/record, and appends the effects to the job's summary where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/ab
mkdir -p "$out"

case $(uname -m) in
  aarch64 | arm64)
    isa=neon
    # Both sides of a choice that a patch makes at compile time, on this core.
    RUSTFLAGS='-C target-cpu=native' cargo bench --package p3-bench --bench 'neon-*' | tee "$out/neon.txt"
    ;;
  *) isa=x86-64-v3 ;;
esac

# Rows are filed as they are measured, and kept whatever ends the run.
trap 'git ls-files --others benches/record | tar -czf "$out/records.tgz" -T -' EXIT
cargo p3 ab "$@" --isa "$isa" --seeds 5 --record --loaded --json "$out/ab.json" --html "$out/ab.html"
cargo p3 report "$out/ab.json" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
