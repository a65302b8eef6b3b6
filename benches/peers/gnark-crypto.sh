#!/usr/bin/env bash
# Compares the row `lde/koala-bear/2^20x1` of both workers with the same extension by gnark-crypto, a Go library.
#
#   cargo p3 ab --base 0.9.0-rc.2 --build-only built --isa x86-64-v3
#   benches/peers/gnark-crypto.sh built/x86-64-v3 >benches/peers/record/DAY-CPU-ISA.txt
#
# Each round runs the three programs one after the other on one core, and takes the shortest of eight runs of each, in nanoseconds of
# wall-clock time. Medians of the rounds follow. gnark-crypto has a kernel for AVX-512 alone; elsewhere its butterflies are Go.
set -euo pipefail

workers=${1:?names a folder of workers, such as built/x86-64-v3}
rounds=11
runs=8
peer=$(cd "$(dirname "$0")" && pwd)/gnark-crypto
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
(cd "$peer" && go build -mod=readonly -o "$place/peer" .)
core=$(taskset -cp $$ | sed 's/.*[ ,-]//')

# Prints the shortest run of a worker.
worker() {
    {
        echo '{"prepare":{"row":"lde/koala-bear/2^20x1","seed":1}}'
        for _ in $(seq $runs); do echo '"run"'; done
    } | taskset -c "$core" "$workers/$1" | sed -n 's/.*"wall_ns":\([0-9]*\).*/\1/p' | sort -n | head -n 1
}

# Prints the median of a quotient of columns, in thousandths.
median() {
    awk -F , "{ printf \"%.3f\n\", $1 }" "$place/rounds" | sort -g | sed -n "$(((rounds + 1) / 2))p"
}

grep -m 3 -E '^(cpu family|model)' /proc/cpuinfo
go version
grep 'gnark-crypto v' "$peer/go.mod"
echo published,patched,gnark-crypto
for _ in $(seq $rounds); do
    echo "$(worker baseline),$(worker candidate),$(taskset -c "$core" "$place/peer" $runs | sort -n | head -n 1)"
done | tee "$place/rounds"
published=\$1 patched=\$2 gnark=\$3
echo "median, ms: published $(median "$published / 1e6"), patched $(median "$patched / 1e6"), gnark-crypto $(median "$gnark / 1e6")"
echo "median ratio: patched to gnark-crypto $(median "$patched / $gnark"), published to gnark-crypto $(median "$published / $gnark")"
