#!/usr/bin/env bash
# usage: ci/publish.sh REMOTE FOLDER
# Pushes each overlay in FOLDER, which `overlay.sh` has written and named after its release, to the branch `plonky3-RELEASE` of a
# git remote. A branch that has the same files already is left alone. Builds nothing, since it may write to the remote.
set -euo pipefail

remote=$1
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
GIT_DIR=$(git rev-parse --absolute-git-dir)
index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT
for overlay in "$folder"/*/; do
  base=$(basename "$overlay")
  branch=plonky3-$base

  # The checkout's own repository, since its configuration has the right to push. Its index is not touched.
  tree=$(
    export GIT_DIR GIT_INDEX_FILE=$index/$base GIT_WORK_TREE=$overlay
    cd "$overlay" && git -c core.autocrlf=false add --all --force . && git write-tree
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
