#!/usr/bin/env bash
# usage: findings/requirement-in-an-index.sh
# One would guess that a registry's index, the manifest in the tarball and `cargo metadata` have one text for what a package requires of
# another one, since cargo makes the first from the second when it publishes. Three texts are there for real packages:
# - serde 0.8.23 has `^0.*` in its manifest, and plotters 0.3.1, of 2021, `^0.3.*`. The index has `0.*` and `0.3.*`: the cargo that published
#   them read a wildcard behind a caret as a wildcard.
# - The cargo of today reads the caret, and `cargo metadata` prints `^0` and `^0.3`. Its resolver goes by the index all the same.
# For these the versions are the same ones; for `^1.2.*` they would not be, as `^1.2` allows 1.9. So a tool that compares an index with
# manifests, as a check of a mirror may, cannot compare texts.
# Prints the three texts of both packages; exits with 1 where they differ from the end of this file. Run by hand: it fetches the packages and
# what they depend on, and builds nothing.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
touch "$work/src/lib.rs"
printf '[package]\nname = "asks"\nedition = "2021"\n[dependencies]\nserde = "=0.8.23"\nplotters = { version = "=0.3.1", default-features = false }\n' \
  >"$work/Cargo.toml"
export CARGO_HOME="$work/home"
cargo --version
cargo metadata --quiet --format-version 1 --manifest-path "$work/Cargo.toml" >"$work/graph.json"
python3 - "$work/graph.json" "$work/home/registry" <<'PYTHON' | tee "$work/found"
import json, pathlib, sys, tomllib
graph = json.load(open(sys.argv[1]))
registry = pathlib.Path(sys.argv[2])
for package, file, dependency in (("serde", "se/rd/serde", "clippy"), ("plotters", "pl/ot/plotters", "plotters-bitmap")):
    found = next(p for p in graph["packages"] if p["name"] == package)
    version = found["version"]
    manifest = tomllib.load(open(found["manifest_path"], "rb"))["dependencies"][dependency]["version"]
    read = next(d["req"] for d in found["dependencies"] if d["name"] == dependency and d["kind"] is None)
    # A line of JSON for each release, between zero bytes.
    (copy,) = registry.glob(f"index/*/.cache/{file}")
    entries = (json.loads(text) for text in copy.read_bytes().split(b"\0") if text.startswith(b"{"))
    entry = next(entry for entry in entries if entry["vers"] == version)
    indexed = next(d["req"] for d in entry["deps"] if d["name"] == dependency and d["kind"] == "normal")
    print(f"{package} {version} requires of {dependency}: {manifest} in its manifest, {indexed} in the index, {read} by cargo metadata")
PYTHON
if ! diff <(sed '1,/^# expected:$/d; s/^# //' "$0") "$work/found"; then
  echo "requirement-in-an-index.sh: found other facts (>) than expected (<)" >&2
  exit 1
fi
exit

# expected:
# serde 0.8.23 requires of clippy: ^0.* in its manifest, 0.* in the index, ^0 by cargo metadata
# plotters 0.3.1 requires of plotters-bitmap: ^0.3.* in its manifest, 0.3.* in the index, ^0.3 by cargo metadata
