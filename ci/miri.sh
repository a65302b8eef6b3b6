#!/usr/bin/env bash
# Installs the compiler that crates/testing/miri/rust-toolchain.toml pins, with Miri. It says so where it could not; the tests skip
# by name what Miri runs.
set -euo pipefail
cd "$(dirname "$0")/../crates/testing/miri"

cargo miri --version >/dev/null 2>&1 || rustup toolchain install >&2 ||
  echo "miri.sh: could not install Miri" >&2
