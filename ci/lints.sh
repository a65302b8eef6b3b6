#!/usr/bin/env bash
# Runs upstream's own checks on each patch of the series, with what it needs: what a pull request goes through. Installs
# what they need first, so that none is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

rustup toolchain install nightly --profile minimal --component rustfmt
rustup target add thumbv7em-none-eabi aarch64-unknown-linux-gnu
while read -r name _; do
  cargo p3 check --upstream-lints "$name" </dev/null
done <patches/series
