#!/usr/bin/env bash
# On x86-64 Linux, installs what the tests of NEON need: Rust for aarch64, a cross linker, an emulator. Without them the
# tests skip NEON by name. Elsewhere there is nothing to install.
set -euo pipefail

[[ $(uname -sm) == "Linux x86_64" ]] || exit 0

rustup target add aarch64-unknown-linux-gnu || echo "isa.sh: no Rust for aarch64" >&2
if ! command -v qemu-aarch64-static >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
  "$(dirname "$0")/apt.sh" qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross
fi
