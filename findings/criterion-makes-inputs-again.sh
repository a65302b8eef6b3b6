#!/usr/bin/env bash
# usage: findings/criterion-makes-inputs-again.sh
# One would guess that criterion calls the closure of a bench once, so that an input which the closure makes before `iter` is made once, and
# that a bench which the filter leaves out costs nothing. A suite that makes gigabytes of matrices takes its time by the two.
# - Criterion calls the closure for each sample, and for each step of the warm-up before them: what stands before `iter` is not timed, but
#   done each time. With `--test` it calls the closure once.
# - What stands beside the closure, in the function of the group, is done for each bench, whatever the filter leaves out.
# - A `LazyCell` beside the closure, read in it, is made once where the bench runs, and not where it does not.
# Prints how often three inputs of one bench are made, when it runs with ten samples, with `--test`, and when the filter leaves it out;
# exits with 1 where that differs from the end of this file. Run by hand: it fetches criterion 0.8.2 and builds it once.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/benches"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "inputs"
edition = "2024"

[dev-dependencies]
criterion = { version = "=0.8.2", default-features = false }

[[bench]]
name = "inputs"
harness = false
TOML
touch "$work/src/lib.rs"
cat >"$work/benches/inputs.rs" <<'RUST'
use std::cell::{Cell, LazyCell};
use std::hint::black_box;

fn main() {
    let [beside, inside, lazy] = [const { Cell::new(0) }; 3];
    let input = |made: &Cell<u32>| {
        made.set(made.get() + 1);
        vec![1_u64; 1000]
    };
    let mut criterion = criterion::Criterion::default().sample_size(10).configure_from_args();
    {
        let by_side = input(&beside);
        let once = LazyCell::new(|| input(&lazy));
        criterion.bench_function("sum", |bencher| {
            let own = input(&inside);
            bencher.iter(|| black_box(&by_side).iter().chain(&own).chain(&**once).sum::<u64>());
        });
    }
    let times = |made: &Cell<u32>| match made.get() {
        calls @ 0..=1 => calls.to_string(),
        calls if calls > 10 => "more than 10".to_owned(),
        calls => format!("{calls}, and not more than 10"),
    };
    println!("made: beside {}, inside {}, lazily {}", times(&beside), times(&inside), times(&lazy));
}
RUST

cargo --version
for options in "--warm-up-time 0.1 --measurement-time 0.1" --test no-such-bench; do
  printf '%s: ' "$options"
  # shellcheck disable=SC2086 # several words
  (cd "$work" && cargo bench --quiet --bench inputs -- $options) | grep '^made: '
done | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "criterion makes them otherwise now" >&2; exit 1; }
--warm-up-time 0.1 --measurement-time 0.1: made: beside 1, inside more than 10, lazily 1
--test: made: beside 1, inside 1, lazily 1
no-such-bench: made: beside 1, inside 0, lazily 0
EXPECTED
