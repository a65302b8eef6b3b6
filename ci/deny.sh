#!/usr/bin/env bash
# Installs cargo-deny from the registry, which takes minutes. Without it the tests skip by name what it checks.
set -euo pipefail

command -v cargo-deny >/dev/null || cargo install --quiet --locked --debug cargo-deny@0.20.2
