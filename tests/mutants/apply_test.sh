#!/usr/bin/env bash
# Every mutant applies to the sources as they are and names a test that there is, so that none goes
# stale unnoticed.
set -u
source_dir=$(readlink -f -- "$1")
build_dir=$(readlink -f -- "$2")
source "$source_dir/tests/tools/check.sh"

# A folder of its own: beside a repository, patches would be taken relative to its root.
cp -r "$source_dir/src" "$work/"
cd "$work" || exit 1
count=0
for patch in "$source_dir"/tests/mutants/*.patch; do
  GIT_CEILING_DIRECTORIES=$(dirname "$work") expect 0 git apply --check "$patch"
  test=$(sed -n 's/^# test: //p' "$patch")
  # Some are of one preset only.
  [ -e "$build_dir/bin/$test" ] ||
    grep -rqw --include=CMakeLists.txt "$test" "$source_dir/tests" || fail "$patch: there is no test '$test'"
  count=$((count + 1))
done
[ "$count" -ge 100 ] || fail "only $count mutants"
finish
