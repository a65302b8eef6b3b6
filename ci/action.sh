#!/usr/bin/env bash
# action.yml runs this in a prover's workflow: `p3-patches $COMMAND` on $MANIFEST, with the arguments that $EXTRA holds one a
# line. Installs the tool first, from $GITHUB_ACTION_PATH. Appends what the command prints to the job's summary where there is
# one. Works with the Bash 3.2 of macOS.
# shellcheck disable=SC2317 # `attend` and the traps call functions by their names
set -euo pipefail

case $COMMAND in
apply | status | try) ;;
*)
  echo "action.yml: command: $COMMAND: neither apply, status nor try" >&2
  exit 2
  ;;
esac

child=
signalled=
# A signal to this script alone would leave its child at work.
pass_on() {
  if [[ -z $child ]]; then exit 143; fi
  signalled=yes
  kill "$child" 2>/dev/null || true
}
trap pass_on HUP INT TERM
# Runs a command to its end, whatever signals come; returns its exit code.
attend() {
  local code
  "$@" <&0 &
  child=$!
  signalled=yes
  # A signal ends the wait before the command has ended.
  while [[ -n $signalled ]]; do
    signalled=
    code=0
    wait "$child" || code=$?
  done
  child=
  return "$code"
}

# Elsewhere than in the prover's folder, which may pin a Rust that is too old for the tool; so may a variable or rustup's default.
# The compiler and its wrapper, targets, flags, profiles and the target folder are the prover's, under each of their names.
install() {
  cd "$GITHUB_ACTION_PATH"
  local rustup=()
  if command -v rustup >/dev/null; then rustup=(rustup run --install stable); fi
  # The names have no blanks, and a prefix that none has must not give an empty one.
  # shellcheck disable=SC2086
  unset ${!CARGO_BUILD_@} ${!CARGO_TARGET_@} ${!CARGO_PROFILE_@} ${!RUSTC@} ${!RUSTDOC@} \
    CARGO_ENCODED_RUSTFLAGS CARGO_ENCODED_RUSTDOCFLAGS CARGO_INCREMENTAL RUSTFLAGS
  exec ${rustup[@]+"${rustup[@]}"} \
    cargo install --quiet --locked --path crates/p3-patches --root "$RUNNER_TEMP/p3-patches"
}
attend install
export PATH=$RUNNER_TEMP/p3-patches/bin:$PATH

# Blank lines are no arguments, and neither is the carriage return of a file with CRLF.
set -- "$COMMAND" --manifest-path "$MANIFEST"
while IFS= read -r line || [[ -n $line ]]; do
  line=${line%$'\r'}
  if [[ $line == *[![:space:]]* ]]; then set -- "$@" "$line"; fi
done <<<"$EXTRA"

printed=$RUNNER_TEMP/p3-patches/printed
# The summary is written after a failure too. Its fence is longer than any that was printed.
summarize() {
  local fence
  fence=$(awk -v longest=2 '
    {
      gsub(/[^`]+/, "\n")
      count = split($0, fences, "\n")
      for (i = 1; i <= count; i++) if (length(fences[i]) > longest) longest = length(fences[i])
    }
    END { for (i = 0; i <= longest; i++) printf "`" }' "$printed")
  printf '### p3-patches %s\n\n%s\n' "$COMMAND" "$fence"
  cat "$printed"
  # A command that was ended may leave its last line open.
  if [[ -n $(tail -c 1 "$printed") ]]; then echo; fi
  printf '%s\n' "$fence"
}
trap 'summarize >>"${GITHUB_STEP_SUMMARY:-/dev/null}" || echo "action.sh: the summary cannot be written" >&2' EXIT

pipe=$RUNNER_TEMP/p3-patches/pipe
rm -f "$pipe"
mkfifo "$pipe"
(
  trap '' HUP INT TERM
  exec tee "$printed" <"$pipe"
) &
printing=$!
code=0
attend p3-patches "$@" >"$pipe" || code=$?
wait "$printing" || true
exit "$code"
