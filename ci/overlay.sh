#!/usr/bin/env bash
# A prover's side of it: a fresh crate on Plonky3 as published gets every patch, builds and runs on them, and gets its
# manifest back byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/src"
cat >"$dir/Cargo.toml" <<'TOML'
[package]
name = "prover"
version = "0.0.0"
edition = "2024"

[dependencies]
p3-goldilocks = "=0.8.0"
p3-merkle-tree = "=0.8.0"
p3-symmetric = "=0.8.0"
TOML
cat >"$dir/src/main.rs" <<'RUST'
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
use p3_symmetric::Permutation;

fn main() {
    println!("{:?}", default_goldilocks_poseidon2_8().permute([Goldilocks::new(1); 8]));
}
RUST
prover() {
  cargo run --quiet --manifest-path "$dir/Cargo.toml"
}

published=$(prover)
cp "$dir/Cargo.toml" "$dir/published.toml"
mapfile -t names < <(sed 's/ .*//; /^#/d; /^$/d' patches/series)
cargo p3 apply "${names[@]}" --manifest-path "$dir/Cargo.toml"
cargo p3 status --manifest-path "$dir/Cargo.toml"
[[ $(prover) == "$published" ]]
cargo p3 remove --manifest-path "$dir/Cargo.toml"
cmp "$dir/Cargo.toml" "$dir/published.toml"
[[ $(prover) == "$published" ]]
