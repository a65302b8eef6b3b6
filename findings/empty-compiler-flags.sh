#!/usr/bin/env bash
# usage: findings/empty-compiler-flags.sh
# One would guess that cargo takes an empty variable of the environment for one that is not set: so it does with RUSTC_WRAPPER. A workflow
# sets a variable to nothing where the input that it comes from was left out.
# - RUSTFLAGS and CARGO_ENCODED_RUSTFLAGS, empty, are a list of no flags, and take the place of the configuration's. The `target-cpu` that
#   a prover's .cargo/config.toml names is gone without a word: a packed KoalaBear has one lane where it had eight.
# - CARGO_BUILD_RUSTFLAGS, empty, is a value of `build.rustflags` that is joined to the file's, whose flags stay.
# - CARGO_TARGET_DIR and CARGO_BUILD_TARGET, empty, are errors.
# Prints for each variable, empty, how many lanes a program has whose configuration asks for AVX2, or what cargo says; exits with 1 where
# that differs from the end of this file. Run by hand, on x86-64 with AVX2: it fetches p3-koala-bear 0.8.0 and builds it three times.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/.cargo"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "lanes"
edition = "2021"

[dependencies]
p3-field = "=0.8.0"
p3-koala-bear = "=0.8.0"
TOML
cat >"$work/src/main.rs" <<'RUST'
use p3_field::{Field, PackedValue};

fn main() {
    type Packing = <p3_koala_bear::KoalaBear as Field>::Packing;
    println!("{} lanes", Packing::WIDTH);
}
RUST
cat >"$work/.cargo/config.toml" <<'TOML'
[build]
rustflags = ["-C", "target-cpu=x86-64-v3"]
TOML

# Runs the program with a variable that is empty, and without the others.
with_empty() {
  local variables=(RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_TARGET_DIR CARGO_BUILD_TARGET RUSTC_WRAPPER)
  (
    cd "$work"
    unset "${variables[@]}"
    [[ $1 == none ]] || export "$1="
    printf '%s: ' "$1"
    cargo run --quiet 2>&1 || true
  )
}

cargo --version
for variable in none RUSTC_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_TARGET_DIR CARGO_BUILD_TARGET; do
  with_empty "$variable"
done | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "cargo treats them otherwise now" >&2; exit 1; }
none: 8 lanes
RUSTC_WRAPPER: 8 lanes
RUSTFLAGS: 1 lanes
CARGO_ENCODED_RUSTFLAGS: 1 lanes
CARGO_BUILD_RUSTFLAGS: 8 lanes
CARGO_TARGET_DIR: error: the target directory is set to an empty string in the `CARGO_TARGET_DIR` environment variable
CARGO_BUILD_TARGET: error: target was empty
EXPECTED
