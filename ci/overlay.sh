#!/usr/bin/env bash
# Writes an overlay with every patch for each release that there are patches for, to target/p3/overlay/RELEASE. Then a prover's
# side of it: a fresh crate on Plonky3 as published gets every patch, builds and runs on them, and gets its manifest back byte for
# byte, and it resolves to the packages of a branch that `publish.sh` has pushed.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/src"
git init --quiet --bare "$dir/published.git"
overlays=target/p3/overlay
rm -rf "$overlays"
for patches in patches/*/; do
  base=$(basename "$patches")
  cargo p3 overlay --base "$base" --out "$overlays/$base"
done
ci/publish.sh "$dir/published.git" "$overlays"
# A branch gets a commit only where its files have changed.
branches=$(git -C "$dir/published.git" for-each-ref)
ci/publish.sh "$dir/published.git" "$overlays"
[[ $(git -C "$dir/published.git" for-each-ref) == "$branches" ]]
cat >"$dir/src/main.rs" <<'RUST'
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};
use p3_goldilocks::poseidon1::default_goldilocks_poseidon1_8;
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};
use p3_koala_bear::KoalaBear;
use p3_symmetric::Permutation;

fn main() {
    let state = [<Goldilocks as Field>::Packing::from(Goldilocks::new(1)); 8];
    println!("{:?}", default_goldilocks_poseidon2_8().permute(state));
    println!("{:?}", default_goldilocks_poseidon1_8().permute(state));

    let coefficient = |i| KoalaBear::from_usize(i + 1);
    let element = QuinticTrinomialExtensionField::<KoalaBear>::from_basis_coefficients_fn(coefficient);
    println!("{:?}", element.square() * element);
}
RUST
prover() {
  RUSTFLAGS="-C target-cpu=native" cargo run --quiet --manifest-path "$dir/Cargo.toml"
}

for patches in patches/*/; do
  base=$(basename "$patches")
  mapfile -t names < <(cargo p3 list --json |
    jq --raw-output --arg base "$base" '.[] | select(.bases | index($base)).name')
  cat >"$dir/Cargo.toml" <<TOML
[package]
name = "prover"
version = "0.0.0"
edition = "2024"

[dependencies]
p3-field = "=$base"
p3-goldilocks = "=$base"
p3-koala-bear = "=$base"
p3-merkle-tree = "=$base"
p3-symmetric = "=$base"
TOML
  # The reviewed lock file gives the versions of the packages that all releases share.
  cp Cargo.lock "$dir/Cargo.lock"
  published=$(prover)
  cp "$dir/Cargo.toml" "$dir/published.toml"
  cargo p3 apply "${names[@]}" --base "$base" --manifest-path "$dir/Cargo.toml"
  cargo p3 status --manifest-path "$dir/Cargo.toml"
  [[ $(prover) == "$published" ]]
  cargo p3 remove --manifest-path "$dir/Cargo.toml"
  cmp "$dir/Cargo.toml" "$dir/published.toml"
  [[ $(prover) == "$published" ]]

  echo "[patch.crates-io]" >>"$dir/Cargo.toml"
  git -C "$dir/published.git" show "plonky3-$base:README.md" | grep '{ git = "URL"' |
    sed "s#URL#file://$dir/published.git#" >>"$dir/Cargo.toml"
  cargo tree --quiet --manifest-path "$dir/Cargo.toml" --invert p3-goldilocks |
    grep --fixed-strings "branch=plonky3-$base"
done
