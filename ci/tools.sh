#!/usr/bin/env bash
# Installs the linters of workflows and scripts where this machine lacks them. The tests skip by name what is missing.
set -euo pipefail

if ! command -v actionlint >/dev/null; then
  # Where cargo is on PATH, so is its folder.
  GOBIN="${CARGO_HOME:-$HOME/.cargo}/bin" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ||
    echo "tools.sh: no actionlint; installing it takes Go and its module proxy" >&2
fi
command -v shellcheck >/dev/null || "$(dirname "$0")/apt.sh" shellcheck
