#!/usr/bin/env bash
# usage: findings/excluded-by-the-nearer-workspace.sh
# One would guess that the nearest manifest above a package that has a table `[workspace]` decides: a package that it excludes is a
# workspace of its own, with a lock file and a target folder beside its manifest.
# - `exclude` says no for that workspace alone. Cargo goes on upwards, and a workspace farther out that lists the package has it.
# - The package has the lock file and the overrides of that workspace, and none of the nearer one.
# So a tool that edits `[patch]` or reads Cargo.lock for a package has to look above a workspace that excludes the package.
# Prints the root that cargo finds, whose copy of itoa the package takes where both workspaces replace it, and where the lock file is;
# exits with 1 where that differs from the end of this file. Run by hand: it fetches itoa 1.0.15.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir --parents "$work/outer/nearer/package/src"
cat >"$work/outer/nearer/package/Cargo.toml" <<'TOML'
[package]
name = "package"
edition = "2024"

[dependencies]
itoa = "=1.0.15"
TOML
touch "$work/outer/nearer/package/src/lib.rs"

# One copy of the package for each workspace: its folder tells whose override is in use.
(cd "$work/outer/nearer/package" && cargo vendor --quiet "$work/vendored" >"$work/vendoring" && rm Cargo.lock)
for workspace in outer nearer; do
  cp -r "$work/vendored/itoa" "$work/copy-of-$workspace"
done
cat >"$work/outer/Cargo.toml" <<TOML
[workspace]
members = ["nearer/package"]
resolver = "3"

[patch.crates-io]
itoa = { path = "$work/copy-of-outer" }
TOML
cat >"$work/outer/nearer/Cargo.toml" <<TOML
[workspace]
exclude = ["package"]
resolver = "3"

[patch.crates-io]
itoa = { path = "$work/copy-of-nearer" }
TOML

cargo --version
cd "$work/outer/nearer/package"
{
  printf 'root: '
  cargo locate-project --workspace --message-format plain | sed "s|^$work/||"
  printf 'itoa: '
  cargo tree --quiet --offline --prefix none --package itoa | sed "s|.*(\(.*\))|\1|; s|^$work/||"
  printf 'lock: '
  (cd "$work" && find outer -name Cargo.lock)
} | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "cargo finds another root now" >&2; exit 1; }
root: outer/Cargo.toml
itoa: copy-of-outer
lock: outer/Cargo.lock
EXPECTED
