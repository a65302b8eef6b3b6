#!/usr/bin/env bash
# usage: findings/branch-in-two-spellings.sh
# One would guess that a package from git has one source, and that `cargo metadata` prints the one that Cargo.lock has, since both write
# `git+URL?branch=BRANCH#COMMIT`. They differ where the name of a branch or a tag has a sign with a meaning in an address:
# - A lock file of version 4 has `for%2F0.8`, as the query of an address. One of version 3 has `for/0.8`.
# - `cargo metadata` prints `for/0.8`, whatever the lock file's version. So does the source of a dependency there.
# - `cargo pkgid` prints `for%2F0.8`, whatever the lock file's version.
# So a tool that looks a package of `cargo metadata` up in the lock file, by its source, misses it.
# Prints the four texts for both versions; exits with 1 where they differ from the end of this file. Run by hand: it fetches itoa 1.0.15,
# which becomes a repository with that branch.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir --parents "$work/fetching/src" "$work/user/src"
touch "$work/fetching/src/lib.rs" "$work/user/src/lib.rs"
printf '[package]\nname = "fetching"\nedition = "2024"\n[dependencies]\nitoa = "=1.0.15"\n' >"$work/fetching/Cargo.toml"
(cd "$work/fetching" && cargo vendor --quiet "$work/vendored" >"$work/vendoring")
mv "$work/vendored/itoa" "$work/itoa"
cd "$work/itoa"
git init --quiet
git add --all --force
git -c user.name=x -c user.email=x@x commit --quiet --message itoa

cargo --version
export CARGO_HOME="$work/home"
git -C "$work/itoa" branch for/0.8
# A manifest for a cargo before 1.83 gets a lock file of version 3.
for rust in 1.85 1.77; do
  cd "$work/user"
  printf '[package]\nname = "user"\nedition = "2021"\nrust-version = "%s"\n[dependencies]\nitoa = { git = "file://%s/itoa", branch = "for/0.8" }\n' \
    "$rust" "$work" >Cargo.toml
  rm -f Cargo.lock
  cargo generate-lockfile --quiet
  cargo metadata --quiet --format-version 1 >"$work/graph.json"
  python3 - "$work/graph.json" "$(cargo pkgid itoa)" <<'PYTHON'
import json, sys, tomllib
lock = tomllib.load(open("Cargo.lock", "rb"))
graph = json.load(open(sys.argv[1]))
user = next(p for p in graph["packages"] if p["name"] == "user")
branch = lambda source: source.split("branch=", 1)[1].rsplit("#", 1)[0]
texts = {
    "Cargo.lock": branch(next(p["source"] for p in lock["package"] if p["name"] == "itoa")),
    "cargo metadata": branch(next(p["source"] for p in graph["packages"] if p["name"] == "itoa")),
    "its dependencies": user["dependencies"][0]["source"].split("branch=", 1)[1],
    "cargo pkgid": branch(sys.argv[2]),
}
print(f"version {lock['version']}:", ", ".join(f"{text} in {place}" for place, text in texts.items()))
PYTHON
done | tee "$work/printed"

diff - "$work/printed" <<'EXPECTED' || { echo "cargo spells branches otherwise now" >&2; exit 1; }
version 4: for%2F0.8 in Cargo.lock, for/0.8 in cargo metadata, for/0.8 in its dependencies, for%2F0.8 in cargo pkgid
version 3: for/0.8 in Cargo.lock, for/0.8 in cargo metadata, for/0.8 in its dependencies, for%2F0.8 in cargo pkgid
EXPECTED
