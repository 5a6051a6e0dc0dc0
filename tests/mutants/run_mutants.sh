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
# A NAME may be a pattern ('dca_*'), or a folder with a slash at its end (src/mpc/): all mutants of
# files in it.
#
# SOURCE stays untouched: all happens in a copy, BUILD/mutants, which is removed at the end; runs beside
# each other have one each (mutants-2, ...). The compiler cache serves all of them.
set -euo pipefail
export LC_ALL=C
exec </dev/null
[ $# -ge 2 ] || { echo 'usage: run_mutants.sh SOURCE BUILD [NAME...]' >&2; exit 2; }
source_dir=$(readlink -f -- "$1")
mkdir -p "$2"
build_dir=$(readlink -f -- "$2")
shift 2
patches=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# A mutant may wait for ever: that is noticed too.
readonly kTestSeconds=300

stop() {
  echo "run_mutants: $*" >&2
  exit 1
}

# Prints what a patch says about itself: field test, or field bug.
field() { sed -n -e "/^diff /q" -e "s/^# $2: //p" "$patches/$1.patch"; }

names=()
add_patches() { for patch in "$@"; do names+=("$(basename "$patch" .patch)"); done; }
[ $# -gt 0 ] || add_patches "$patches"/*.patch
for name in "$@"; do
  case $name in
    */) mapfile -t found < <(grep -l "^--- a/$name" "$patches"/*.patch || true) ;;
    *) mapfile -t found < <(compgen -G "$patches/$name.patch" || true) ;;
  esac
  [ "${#found[@]}" -gt 0 ] || stop "there is no mutant '$name' in $patches"
  add_patches "${found[@]}"
done
tests=()
for name in "${names[@]}"; do
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

work=
for slot in '' -2 -3 -4; do
  exec 9>"$build_dir/mutants$slot.lock"
  flock --nonblock 9 || continue
  work=$build_dir/mutants$slot
  break
done
[ -n "$work" ] || stop "four runs are going on in $build_dir already"
copy=$work/source
log=$work/log
trap 'rm -rf -- "$work"' EXIT
rm -rf -- "$work"
mkdir -p "$copy"
(cd "$source_dir" && cp -R CMakeLists.txt CMakePresets.json cmake docs src tests examples bench tools fuzz web \
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
