#!/usr/bin/env bash
# usage: ci/ab.sh NAME [ARGUMENT]..
# Measures a patch with `cargo p3 ab`. Leaves the table in ab.txt, the rows in ab.json and the raw samples in ab.csv, and
# appends the table to the job's summary where there is one. Without a NAME, prints all names, as the variable that the matrix of ab.yml reads.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# == 0 ]]; then
  echo "patches=$(cargo p3 list --json | jq --compact-output 'map(.name)')"
  exit
fi

cargo p3 ab "$@" --json ab.json | tee ab.txt
mapfile -t lines <ab.txt
{
  printf '### %s\n\n' "$1"
  printf '    %s\n' "${lines[@]}"
} >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
