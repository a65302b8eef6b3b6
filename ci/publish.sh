#!/usr/bin/env bash
# usage: ci/publish.sh REMOTE FOLDER
# Pushes each overlay in FOLDER, which `overlay.sh` has written and named after its release, to the branch `plonky3-RELEASE` of a
# git remote. A branch that has the same files already is left alone. Builds nothing, since it may write to the remote, and takes
# plain files from FOLDER alone: whoever builds may have written anything there.
set -euo pipefail
unset CDPATH

remote=$1
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
GIT_DIR=$(git rev-parse --absolute-git-dir)
index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT
# A file system may drop other characters, or the dots at the end, and read a name as git's own then. Forges run what .github has.
odd=$(LC_ALL=C find "$folder" -mindepth 1 \( ! -type d ! -type f -o -name '*[!A-Za-z0-9._+-]*' -o -name '*.' \
  -o -iname HEAD -o -iname CODEOWNERS -o -name '.*' ! -name .cargo_vcs_info.json ! -name .p3-stamp.json \) -print -quit)
if [[ -n $odd ]]; then
  printf 'publish.sh: %q: an overlay has plain files only, with plain names, and none that git or a forge obeys\n' "$odd" >&2
  exit 1
fi
for overlay in "$folder"/*/; do
  base=${overlay%/}
  base=${base##*/}
  if [[ ! -d patches/$base || ! $base =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]]; then
    echo "publish.sh: $base: no release that there are patches for" >&2
    exit 1
  fi
  # `overlay` writes that file last, and a brace at its end.
  if [[ ! -f $overlay/provenance.json || $(tail -c 2 "$overlay/provenance.json") != '}' ]]; then
    echo "publish.sh: $base: no overlay, which has a provenance.json" >&2
    exit 1
  fi
done
for overlay in "$folder"/*/; do
  base=${overlay%/}
  base=${base##*/}
  branch=plonky3-$base

  # The checkout's own repository, since its configuration has the right to push. Its index is not touched. No file of an overlay
  # is a program.
  tree=$(
    export GIT_DIR GIT_INDEX_FILE=$index/$base GIT_WORK_TREE=$overlay
    cd "$overlay" && git -c core.autocrlf=false -c core.fileMode=false add --all --force . && git write-tree
  )
  parent=$(git ls-remote "$remote" "refs/heads/$branch" | cut --fields 1)
  if [[ -n $parent ]]; then
    git fetch --quiet --no-tags "$remote" "refs/heads/$branch"
    if [[ $tree == $(git rev-parse "$parent^{tree}") ]]; then continue; fi
  fi
  commit=$(git -c user.name=overlay -c user.email=overlay@localhost commit-tree "$tree" ${parent:+-p "$parent"} \
    -m "Plonky3 $base with the patches of $(git rev-parse --short HEAD)")
  git push --quiet "$remote" "$commit:refs/heads/$branch"
  echo "$branch: $commit"
done
