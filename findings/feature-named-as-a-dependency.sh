#!/usr/bin/env bash
# usage: findings/feature-named-as-a-dependency.sh
# One would guess that no feature of a crate may have the name of a required dependency, and that the value `NAME/FEATURE` of a feature
# switches on the crate's feature NAME where there is one. Cargo does so for optional dependencies alone:
# - wgpu-hal 0.19.5 requires `metal`, on Apple's systems, and has a feature `metal` besides, which brings shaders. Its feature
#   `link = ["metal/link"]` leaves that feature off.
# - rand 0.8.5 has `rand_chacha` as an optional dependency. Its feature `std`, with `rand_chacha/std` among its values, switches on the
#   feature `rand_chacha`, and with it the package.
# So what a manifest's features enable cannot be told from its table of features alone: the dependencies say what `NAME/FEATURE` means.
# Prints the values of the two features and what cargo switches on for each; exits with 1 where that differs from the end of this file.
# Run by hand: it fetches the two packages and what they depend on, and builds nothing.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints a feature of a package, whether a dependency is optional, and the features that are on where that one alone is asked for.
switch_on() {
  local package=$1 version=$2 feature=$3 dependency=$4
  mkdir -p "$work/$package/src"
  touch "$work/$package/src/lib.rs"
  printf '[package]\nname = "asks"\nedition = "2021"\n[dependencies]\n%s = { version = "=%s", default-features = false, features = ["%s"] }\n' \
    "$package" "$version" "$feature" >"$work/$package/Cargo.toml"
  cargo metadata --quiet --format-version 1 --manifest-path "$work/$package/Cargo.toml" >"$work/$package/graph.json"
  python3 - "$work/$package/graph.json" "$package" "$feature" "$dependency" <<'PYTHON'
import json, sys
graph = json.load(open(sys.argv[1]))
package, feature, dependency = sys.argv[2:]
found = next(p for p in graph["packages"] if p["name"] == package)
node = next(n for n in graph["resolve"]["nodes"] if n["id"] == found["id"])
kinds = {d["optional"] for d in found["dependencies"] if d["name"] == dependency and d["kind"] != "dev"}
named = [value for value in found["features"][feature] if value.startswith(dependency)]
print(f"{package} {found['version']}: {dependency} is {'optional' if kinds == {True} else 'required'},",
      f"there is a feature {dependency}: {dependency in found['features']}")
print(f"{package} {found['version']}: {feature} has {named}; on where it is asked for: {sorted(node['features'])}")
PYTHON
}

cargo --version
{
  switch_on wgpu-hal 0.19.5 link metal
  switch_on rand 0.8.5 std rand_chacha
} | tee "$work/found"
if ! diff <(sed '1,/^# expected:$/d; s/^# //' "$0") "$work/found"; then
  echo "feature-named-as-a-dependency.sh: found other facts (>) than expected (<)" >&2
  exit 1
fi
exit

# expected:
# wgpu-hal 0.19.5: metal is required, there is a feature metal: True
# wgpu-hal 0.19.5: link has ['metal/link']; on where it is asked for: ['link']
# rand 0.8.5: rand_chacha is optional, there is a feature rand_chacha: True
# rand 0.8.5: std has ['rand_chacha/std']; on where it is asked for: ['alloc', 'getrandom', 'libc', 'rand_chacha', 'std']
