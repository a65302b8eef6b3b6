#!/usr/bin/env bash
# usage: findings/newer-syntax-than-rust-version.sh
# One would guess that a current compiler keeps a package to the `rust-version` of its manifest, or that clippy does, whose lint
# incompatible_msrv is there for that and warns by default.
# - The lint knows the release of each function of the standard library, and of no syntax: the guard `if let` of a match, which is of
#   1.95, passes in a package for 1.91, and so does `cargo package` with its build. The function beside it, of 1.93, is reported.
# - cargo compares rust-version with the compiler that runs, not with the text.
# So the promise holds only where the oldest compiler has read the text: a run of `cargo check` with that toolchain.
# Prints what each of the two toolchains says of both texts; exits with 1 where that differs from the end of this file. Run by hand: it
# fetches Rust 1.95.0 with clippy and Rust 1.91.1 into a temporary folder.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The toolchains, as rustup names them.
current=1.95.0 promised=1.91.1
export RUSTUP_HOME=$work/rustup CARGO_TARGET_DIR=$work/target
unset RUSTUP_TOOLCHAIN RUSTFLAGS
rustup --quiet toolchain install --no-self-update --profile minimal --component clippy "$current"
rustup --quiet toolchain install --no-self-update --profile minimal "$promised"

# A package for each text.
package() {
  mkdir --parents "$work/$1/src"
  printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2024"\nrust-version = "1.91"\n' "$1" >"$work/$1/Cargo.toml"
  cat >"$work/$1/src/lib.rs"
}
package syntax <<'RUST'
pub fn length(text: Option<&str>, other: Option<&str>) -> usize {
    match text {
        Some(text) if let Some(other) = other => text.len() + other.len(),
        _ => 0,
    }
}
RUST
package function <<'RUST'
pub fn first_four(bytes: &[u8]) -> Option<&[u8; 4]> {
    bytes.get(..4)?.as_array()
}
RUST

# Prints the lint or the error that a command reports, and whether it succeeds.
reported() {
  local name=$1 text=$2 end=succeeds
  shift 2
  (cd "$work/$text" && "$@" >"$work/said" 2>&1) || end=fails
  printf '%s, %s: %s, %s\n' "$text" "$name" "$end" \
    "$(grep --only-matching --extended-regexp --max-count 1 'incompatible_msrv|error\[E[0-9]+\]' "$work/said" || echo nothing)"
}
rustup run "$current" cargo --version
rustup run "$promised" cargo --version
for text in syntax function; do
  reported 'clippy of 1.95' "$text" rustup run "$current" cargo clippy
  reported 'package of 1.95' "$text" rustup run "$current" cargo package --allow-dirty
  reported 'check of 1.91' "$text" rustup run "$promised" cargo check
done | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "the toolchains say something else now" >&2; exit 1; }
syntax, clippy of 1.95: succeeds, nothing
syntax, package of 1.95: succeeds, nothing
syntax, check of 1.91: fails, error[E0658]
function, clippy of 1.95: succeeds, incompatible_msrv
function, package of 1.95: succeeds, nothing
function, check of 1.91: fails, error[E0658]
EXPECTED
