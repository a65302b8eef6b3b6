#!/usr/bin/env bash
# Every test there is; arguments go to `cargo p3 test`.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/tools.sh
ci/isa.sh
exec cargo p3 test "$@"
