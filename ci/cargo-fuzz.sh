#!/usr/bin/env bash
# Installs what fuzzing needs: cargo-fuzz, and a C++ compiler for libFuzzer. It says what it could not get; the tests skip the
# fuzz targets by name then.
set -euo pipefail

command -v c++ >/dev/null || "$(dirname "$0")/apt.sh" g++
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz@0.13.2 ||
  echo "cargo-fuzz.sh: could not install cargo-fuzz" >&2
