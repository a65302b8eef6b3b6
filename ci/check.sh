#!/usr/bin/env bash
# The quick stages of the tests: formatting, lints, what the workspaces depend on, that the known answers are what the script
# computes, and that patches, crates and benches agree.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/tools.sh
ci/deny.sh
exec cargo p3 test --only format --only format/example --only format/fuzz --only 'lock/*' --only actionlint --only shellcheck \
  --only known-answers --only check --only 'deny*' --only 'advisories*' --only clippy
