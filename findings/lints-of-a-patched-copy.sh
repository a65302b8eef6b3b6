#!/usr/bin/env bash
# usage: findings/lints-of-a-patched-copy.sh
# One would guess that a package which `[patch]` replaces by a copy of its own source builds as before, whatever the flags, and that flags
# which deny a lint, as in a job with `RUSTFLAGS="-D warnings"`, say something of all packages or of one's own alone.
# - Cargo caps the lints of packages from a registry and from git, so that `-D` says nothing of them.
# - A package by path is one's own to cargo, member of the workspace or not: the same flag is an error in an unchanged copy.
# So a build with denied lints passes with a patch from git and fails with the same files from a path.
# Prints what a build with `-D unsafe-code` says of one package from crates.io, of a copy from git and of a copy by path; exits with 1 where
# that differs from the end of this file. Run by hand: it fetches itoa 1.0.15 and builds it three times.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir --parents "$work/app/src"
cat >"$work/app/Cargo.toml" <<'TOML'
[package]
name = "app"
edition = "2024"

[dependencies]
itoa = "=1.0.15"
TOML
echo 'pub use itoa::Buffer;' >"$work/app/src/lib.rs"

# The copy is what the registry's tarball has.
(cd "$work/app" && cargo vendor --quiet "$work/vendored" >"$work/vendoring")
cp -r "$work/vendored/itoa" "$work/copy"
rm "$work/copy/.cargo-checksum.json"
git -C "$work/copy" init --quiet
git -C "$work/copy" add .
git -C "$work/copy" -c user.name=a -c user.email=a@localhost commit --quiet --message copy

cargo --version
builds() {
  local printed
  if printed=$(cd "$work/app" && RUSTFLAGS='-D unsafe-code' cargo check --quiet --target-dir "$work/target" "${@:2}" 2>&1); then
    echo "$1: builds"
  else
    echo "$1: $(grep --max-count 1 '^error' <<<"$printed")"
  fi
}
{
  builds registry
  builds git --config "patch.crates-io.itoa.git='file://$work/copy'"
  builds path --config "patch.crates-io.itoa.path='$work/copy'"
} | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "cargo caps other packages now" >&2; exit 1; }
registry: builds
git: builds
path: error: usage of an `unsafe` block
EXPECTED
