#!/usr/bin/env bash
# usage: findings/proof-of-work-on-threads.sh
# One would guess that a proof of Plonky3 is a function of its trace and its configuration, so that a stored proof can be compared with a new
# one byte for byte, and that threads change the time alone. That holds for commitments, and ends at the first proof of work:
# - `grind` returns any witness that it finds. Without the feature `parallel` of p3-maybe-rayon, and with it on one thread, that is the
#   least one in each run. On more threads it is the one of the thread that was first, another one from run to run.
# - The transcript takes the witness up, so that all that the verifier draws after it differs as well: which rows are opened, and so the bytes
#   of a proof. Each of these proofs is a valid one.
# So a test of equal proofs runs on one thread, or sets the bits of proof of work to none.
# Prints for each number of threads how many witnesses 64 runs from one transcript find, whether all are the least one, and how many
# elements are drawn after them; exits with 1 where that differs from the end of this file. Run by hand: it fetches p3-challenger
# 0.9.0-rc.2 and builds it twice.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "grinds"
edition = "2024"

[features]
parallel = ["p3-maybe-rayon/parallel"]

[dependencies]
p3-challenger = "=0.9.0-rc.2"
p3-field = "=0.9.0-rc.2"
p3-goldilocks = "=0.9.0-rc.2"
p3-maybe-rayon = "=0.9.0-rc.2"
TOML
cat >"$work/src/main.rs" <<'RUST'
use std::collections::BTreeSet;

use p3_challenger::{CanObserve, CanSample, DuplexChallenger, GrindingChallenger};
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::{Goldilocks, default_goldilocks_poseidon2_8};

const BITS: usize = 16;

fn main() {
    let mut transcript = DuplexChallenger::<Goldilocks, _, 8, 4>::new(default_goldilocks_poseidon2_8());
    transcript.observe(Goldilocks::from_u8(1));
    let accepts = |witness: Goldilocks| transcript.clone().check_witness(BITS, witness);
    let least = (0..).map(Goldilocks::from_u64).find(|&witness| accepts(witness)).unwrap();
    let runs = (0..64).map(|_| {
        let mut transcript = transcript.clone();
        let witness = transcript.grind(BITS);
        assert!(accepts(witness));
        let drawn: Goldilocks = transcript.sample();
        (witness.to_string(), drawn.to_string())
    });
    let (witnesses, drawn): (BTreeSet<_>, BTreeSet<_>) = runs.unzip();
    let are_least = witnesses.iter().all(|witness| *witness == least.to_string());
    match (witnesses.len(), drawn.len()) {
        (1, 1) => println!("one witness, the least: {are_least}, one element drawn after it"),
        (2.., 2..) => println!("several witnesses, the least: {are_least}, several elements drawn after them"),
        counts => println!("witnesses and elements drawn after them: {counts:?}"),
    }
}
RUST

cargo --version
{
  printf 'without the feature: '
  (cd "$work" && cargo run --release --quiet)
  for threads in 1 4; do
    printf 'with it, on %s: ' "$threads"
    (cd "$work" && RAYON_NUM_THREADS=$threads cargo run --release --quiet --features parallel)
  done
} | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "p3-challenger grinds otherwise now" >&2; exit 1; }
without the feature: one witness, the least: true, one element drawn after it
with it, on 1: one witness, the least: true, one element drawn after it
with it, on 4: several witnesses, the least: false, several elements drawn after them
EXPECTED
