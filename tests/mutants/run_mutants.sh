#!/usr/bin/env bash
# run_mutants.sh SOURCE BUILD [NAME...]: do the tests notice planted bugs? Each NAME.patch beside this
# script changes a line or two of the product; its first lines say which test has to notice and what
# the bug is:
#
#   # test: pooled_moments_test
#   # bug: one sentence
#
# First the tests must pass as they are. Then each patch (or those named) is applied alone, its test
# built and run; it must fail. A patch that no longer applies or builds fails the run like a mutant
# that survives: plant the same bug in the code as it is now.
#
# SOURCE stays untouched: all happens in a copy, BUILD/mutants, which is removed at the end. It always
# has the same path, so that the compiler cache serves later runs.
set -euo pipefail
export LC_ALL=C
exec </dev/null
[ $# -ge 2 ] || { echo 'usage: run_mutants.sh SOURCE BUILD [NAME...]' >&2; exit 2; }
source_dir=$(readlink -f -- "$1")
mkdir -p "$2"
build_dir=$(readlink -f -- "$2")
shift 2
patches=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
work=$build_dir/mutants
copy=$work/source
log=$work/log
# A mutant may wait for ever: that is noticed too.
readonly kTestSeconds=300

stop() {
  echo "run_mutants: $*" >&2
  exit 1
}

# Prints what a patch says about itself: field test, or field bug.
field() { sed -n -e "/^diff /q" -e "s/^# $2: //p" "$patches/$1.patch"; }

names=("$@")
if [ $# -eq 0 ]; then
  for patch in "$patches"/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
tests=()
for name in "${names[@]}"; do
  [ -f "$patches/$name.patch" ] || stop "there is no mutant '$name' in $patches"
  test=$(field "$name" test)
  case $test in *[!a-z0-9_]* | '') stop "$name.patch does not begin with '# test: NAME'" ;; esac
  [ -n "$(field "$name" bug)" ] || stop "$name.patch has no line '# bug: SENTENCE'"
  tests+=("$test")
done
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sort -u)

# A patch inside another repository's folder would be taken relative to that repository's root.
apply() { (cd "$copy" && GIT_CEILING_DIRECTORIES=$work git apply "$@"); }
build() { "$copy/tools/build" release "$@"; }
run() {
  timeout --kill-after=10 "$kTestSeconds" "$copy/build/release/bin/$1" --gtest_fail_fast \
    --gtest_brief=1
}

exec 9>"$build_dir/mutants.lock"
flock --nonblock 9 || stop "another run is going on in $work"
trap 'rm -rf -- "$work"' EXIT
rm -rf -- "$work"
mkdir -p "$copy"
(cd "$source_dir" && cp -R CMakeLists.txt CMakePresets.json cmake src tests examples bench tools fuzz \
  "$copy")

if ! build "${tests[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  stop 'the unchanged sources do not build'
fi
for test in "${tests[@]}"; do
  run "$test" >"$log" 2>&1 9>&- && continue
  cat "$log" >&2
  stop "$test fails without any mutant"
done
echo "unchanged: ${#tests[@]} test programs pass"

# Sets verdict to 'caught' or to what is wrong.
try_mutant() {
  local name=$1 test began=$SECONDS
  test=$(field "$name" test)
  if ! apply "$patches/$name.patch" 2>"$log"; then
    verdict='STALE: the patch does not apply'
    return
  fi
  if ! build "$test" >"$log" 2>&1; then
    verdict='BROKEN: it does not build'
  elif run "$test" >"$log" 2>&1 9>&-; then
    verdict="SURVIVED $test"
  else
    verdict="caught by $test, $((SECONDS - began)) s"
  fi
  apply -R "$patches/$name.patch"
}

missed=()
for name in "${names[@]}"; do
  try_mutant "$name"
  echo "$name: $verdict ($(field "$name" bug))"
  case $verdict in
    caught*) ;;
    *)
      missed+=("$name")
      tail -n 20 "$log" >&2
      ;;
  esac
done
if [ "${#missed[@]}" -gt 0 ]; then
  echo "${#names[@]} mutants, ${#missed[@]} not caught: ${missed[*]}"
  exit 1
fi
echo "${#names[@]} mutants, all caught"
