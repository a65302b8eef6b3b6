#!/usr/bin/env bash
# usage: ci/ab.sh NAME [ARGUMENT]..
# Measures a patch with `cargo p3 ab`. Leaves the rows in ab.json, the raw samples in ab.csv and a page of both in ab.html,
# and appends the effects to the job's summary where there is one. Without a NAME, prints every patch with each runner whose
# builds it changes, as the variable that the matrix of ab.yml reads.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# == 0 ]]; then
  runners='{"ubuntu-24.04": "x86_64", "ubuntu-24.04-arm": "aarch64", "macos-15": "aarch64"}'
  jobs=$(cargo p3 list --json | jq --compact-output --argjson runners "$runners" '
    [.[] as $patch | $runners | to_entries[]
      | select($patch.architectures == [] or (.value | IN($patch.architectures[])))
      | {patch: $patch.name, runner: .key}]')
  echo "jobs=$jobs"
  exit
fi

cargo p3 ab "$@" --json ab.json --html ab.html
cargo p3 report ab.json >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
