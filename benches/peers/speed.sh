#!/usr/bin/env bash
# usage: benches/peers/speed.sh FOLDER-OF-WORKERS
# Compares both workers with other libraries, in turns on one core: permutations, in nanoseconds a state, and extensions of columns.
#
#   cargo p3 ab --base 0.9.0-rc.2 --build-only built --isa x86-64-v3
#   benches/peers/speed.sh built/x86-64-v3 >benches/peers/record/DAY-CPU-ISA.txt
#
# Each round takes the shortest of eight runs of each; medians of the rounds follow. The workers' rows `permute-many` have a state in
# each lane of a vector, and several vectors in flight; `permute-chain` one state, each the result of the one before. The Rust libraries
# are built for this CPU, as their users are told to. plonky2 asks for features of a nightly compiler. gnark-crypto chooses its assembly
# by the CPU, whatever the workers are built for.
set -euo pipefail

workers=${1:?names a folder of workers, such as built/x86-64-v3}
case $(basename "$workers") in
x86-64-v3) lanes=4 ;;
x86-64-v4*) lanes=8 ;;
*) echo "speed.sh: knows x86-64-v3 and x86-64-v4" >&2 && exit 2 ;;
esac
rounds=7
runs=8
peers=$(cd "$(dirname "$0")" && pwd)/speed
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
(cd "$peers/gnark-crypto" && go build -mod=readonly -o "$place/gnark-crypto" .)
cp -r "$peers/rust" "$place/rust"
(cd "$place/rust" && RUSTC_BOOTSTRAP=1 RUSTFLAGS="-C target-cpu=native" cargo build --quiet --release --target-dir "$place/target")
core=$(taskset -cp $$ | sed 's/.*[ ,-]//')

# Prints the nanoseconds of a row of both workers, for each of the parts that a run has.
both() {
    local row=$1 parts=$2 side
    for side in baseline candidate; do
        {
            echo "{\"prepare\":{\"row\":\"$row\",\"seed\":1,\"threads\":1}}"
            for _ in $(seq $runs); do echo '"run"'; done
        } | taskset -c "$core" "$workers/$side" | sed -n 's/.*"wall_ns":\([0-9]*\).*/\1/p' | sort -n |
            awk -v name="$side $row" -v parts="$parts" 'NR == 1 { printf "%s\t%.1f\n", name, $1 / parts }'
    done
}

grep -m 3 -E '^(cpu family|model)' /proc/cpuinfo
go version
rustc --version
grep -h -E 'gnark-crypto v|^(plonky2|winter)' "$peers"/*/go.mod "$peers"/*/Cargo.toml
permutations=4096
for _ in $(seq $rounds); do
    for row in poseidon2-w8 poseidon2-w12 poseidon1-w12; do
        both "permute-many/$row" $((permutations * lanes))
    done
    for row in poseidon2-w8 poseidon2-w12; do
        both "permute-chain/$row/scalar" $permutations
    done
    for row in baby-bear-poseidon2-w16 baby-bear-poseidon2-w24 koala-bear-poseidon2-w16 koala-bear-poseidon2-w24; do
        both "permute-many/$row" $((permutations * 2 * lanes))
    done
    for row in goldilocks/2^22x1 baby-bear/2^16x256 koala-bear/2^20x1 koala-bear/2^20x2 koala-bear/2^20x4; do
        both "lde/$row" 1
    done
    taskset -c "$core" "$place/gnark-crypto" $runs
    taskset -c "$core" "$place/target/release/speed" $runs
done | tee "$place/rounds"
echo "medians:"
cut -f 1 "$place/rounds" | awk '!seen[$0]++' | while read -r name; do
    printf '%s\t' "$name"
    awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$place/rounds" | sort -g | sed -n "$(((rounds + 1) / 2))p"
done
