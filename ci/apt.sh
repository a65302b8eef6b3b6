#!/usr/bin/env bash
# Installs packages where apt and the right to use it are there; says so where they are not, which is no failure: the
# tests skip by name what needs them.
set -euo pipefail

as_root=()
[[ $(id -u) == 0 ]] || as_root=(sudo --non-interactive)
install() {
  "${as_root[@]}" apt-get install --yes --quiet --no-install-recommends "$@"
}
{ install "$@" || { "${as_root[@]}" apt-get update --quiet && install "$@"; }; } >&2 ||
  echo "apt.sh: could not install $*" >&2
