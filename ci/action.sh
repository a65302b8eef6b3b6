#!/usr/bin/env bash
# action.yml runs this in a prover's workflow: `p3-patches $COMMAND` on $MANIFEST, with the arguments that $EXTRA holds one a
# line. Appends what it prints to the job's summary where there is one.
set -euo pipefail

case $COMMAND in
apply | status | try) ;;
*)
  echo "action.yml: command: $COMMAND: neither apply, status nor try" >&2
  exit 2
  ;;
esac
mapfile -t arguments < <(printf %s "$EXTRA")
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
# The fence is closed after a failure too.
trap 'echo "\`\`\`" >>"$summary"' EXIT
printf '### p3-patches %s\n\n```\n' "$COMMAND" >>"$summary"
p3-patches "$COMMAND" --manifest-path "$MANIFEST" "${arguments[@]}" | tee -a "$summary"
