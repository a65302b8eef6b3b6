#!/usr/bin/env bash
# usage: findings/excluded-by-the-nearer-workspace.sh
# One would guess that the nearest manifest above a package that has a table `[workspace]` decides: a package that it excludes is a
# workspace of its own, with a lock file and a target folder beside its manifest.
# - `exclude` says no for that workspace alone. Cargo goes on upwards, and a workspace farther out that lists the package has it.
# - That one's lock file is the package's, and its overrides of packages are; those of the nearer one are not.
# So a tool that edits `[patch]` or reads Cargo.lock for a package has to look above a workspace that excludes the package.
# Prints the root that cargo finds, where the lock file is written, and which itoa the package takes where both workspaces replace it;
# exits with 1 where that differs from the end of this file. Run by hand: it fetches itoa 1.0.15 and 1.0.14.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir --parents "$work/outer/nearer/package/src" "$work/copies"
cat >"$work/outer/nearer/package/Cargo.toml" <<'TOML'
[package]
name = "package"
edition = "2024"

[dependencies]
itoa = "1"
TOML
touch "$work/outer/nearer/package/src/lib.rs"

# Two releases of one package, whose sources tell which workspace's override is in use.
for version in 1.0.14 1.0.15; do
  mkdir --parents "$work/fetch/src"
  printf '[package]\nname = "fetch"\nedition = "2024"\n[dependencies]\nitoa = "=%s"\n' "$version" >"$work/fetch/Cargo.toml"
  touch "$work/fetch/src/lib.rs"
  (cd "$work/fetch" && rm -f Cargo.lock && cargo vendor --quiet "$work/vendored" >"$work/vendoring")
  rm -rf "$work/copies/$version"
  cp -r "$work/vendored/itoa" "$work/copies/$version"
done
cat >"$work/outer/Cargo.toml" <<TOML
[workspace]
members = ["nearer/package"]
resolver = "3"

[patch.crates-io]
itoa = { path = "$work/copies/1.0.15" }
TOML
cat >"$work/outer/nearer/Cargo.toml" <<TOML
[workspace]
exclude = ["package"]
resolver = "3"

[patch.crates-io]
itoa = { path = "$work/copies/1.0.14" }
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
itoa: copies/1.0.15
lock: outer/Cargo.lock
EXPECTED
