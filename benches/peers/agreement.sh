#!/usr/bin/env bash
# usage: benches/peers/agreement.sh
# Compares what other libraries compute with Plonky3 0.8.0: permutations of the state 0, 1, .., sponges over 0, 1, .., generators, roots of
# unity and extensions. Each folder of benches/peers/agreement is a program with one library, pinned, that prints a line for each subject.
# Prints whether each subject agrees; exits with 1 where that is not benches/peers/record/agreement.txt. Takes some minutes, and needs Go.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/agreement/." "$work"

# Prints what the program in a folder does. plonky2 asks for features of a nightly compiler.
run() {
  cd "$work/$1"
  if [[ -f go.mod ]]; then
    go run -mod=readonly .
  else
    RUSTC_BOOTSTRAP=1 cargo run --quiet --target-dir "$work/target"
  fi
}

for folder in "$work"/*-[0-9]*; do
  library=$(basename "$folder")
  (run "$library") >"$work/found"
  sed "s/^/$library\t/" "$work/found" >>"$work/all"
done
awk -F '\t' '
  $1 == "plonky3-0.8.0" { plonky3[$2] = $3; next }
  { libraries[$2, $3] = libraries[$2, $3] " " $1; line[++lines] = $0 }
  END {
    for (i = 1; i <= lines; i++) {
      split(line[i], field, FS)
      library = field[1]; subject = field[2]; value = field[3]
      if (!(subject in plonky3)) { print library ": unknown subject " subject >"/dev/stderr"; exit 1 }
      others = libraries[subject, value]
      sub(" " library, "", others)
      if (value !~ /^[0-9]/) others = ""
      print library "\t" subject "\t" (value == plonky3[subject] ? "agrees" : "differs" (others ? ", as in" others : ""))
    }
  }
' "$work/all" | tee "$work/agreement"
if ! diff "$here/record/agreement.txt" "$work/agreement"; then
  echo "agreement.sh: found other facts (>) than recorded (<)" >&2
  exit 1
fi
