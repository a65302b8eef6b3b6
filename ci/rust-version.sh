#!/usr/bin/env bash
# Installs the oldest Rust that the tool promises to compile with. It says so where it could not; the tests skip that by name.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed --quiet 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup run "$version" cargo --version >/dev/null 2>&1 ||
  rustup toolchain install "$version" --profile minimal >&2 ||
  echo "rust-version.sh: could not install Rust $version" >&2
