#!/usr/bin/env bash
# tools/changed_tests in a clone that shares this checkout's release build: which tests a change of
# each kind selects, and which it leaves alone.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
clone=$work/clone
git clone -q "$source_dir" "$clone" || fail "cannot clone $source_dir"
cp "$source_dir/tools/changed_tests" "$clone/tools/"
git -C "$clone" -c user.name=test -c user.email=test@localhost commit -qam 'As it is here' || true
mkdir "$clone/build" && ln -s "$(readlink -f "$2")" "$clone/build/release"

# touched FILE SELECTED... -- LEFT...: what a line more in FILE selects.
touched() {
  local file=$1 name wanted=1
  shift
  mkdir -p "$(dirname "$clone/$file")"
  echo >>"$clone/$file"
  expect 0 "$clone/tools/changed_tests" --since HEAD
  for name in "$@"; do
    if [ "$name" = -- ]; then
      wanted=0
    elif [ "$wanted" = 1 ]; then
      grep -qx "$name" <<<"$out" || fail "a change of $file does not select $name"
    else
      ! grep -qx "$name" <<<"$out" || fail "a change of $file selects $name"
    fi
  done
  git -C "$clone" clean -qfd && git -C "$clone" checkout -q .
}

expect 0 "$clone/tools/changed_tests" --since HEAD
[ -z "$out" ] || fail "nothing changed, and yet: $out"
touched src/mpc/bits.h bits_test join_test -- schema_test hash_test words_test
touched src/mpc/bits.cc bits_test join_test -- schema_test words_test
touched src/methods/glm/wald.cc glm_protocol_test new_study_test -- mixed_protocol_test bits_test schema_test
touched src/methods/all.cc glm_study_test mixed_study_test new_study_test -- bits_test
touched tests/mpc/bits_test.cc bits_test -- compare_test schema_test
touched tests/mpc/harness.h bits_test -- schema_test
touched tools/check_words words_test -- bits_test
touched docs/status.md words_test -- bits_test join_test
touched tests/tables/abalone.csv -- schema_test bits_test
touched web/src/report.js report_html_test -- bits_test
touched bindings/python/src/partita/fit.py python_package_test recorded_results_test -- bits_test words_test
touched cmake/partita.cmake bits_test schema_test words_test
touched examples/new_kind.toml bits_test schema_test

# listed FILE LINE SELECTED... -- LEFT...: what LINE at the end of a list of sources or tests selects.
listed() {
  local file=$1 line=$2
  printf '%s' "$line" >>"$clone/$file"
  shift 2
  touched "$file" "$@"
}
listed tests/mpc/CMakeLists.txt 'partita_test(bits_test bits_test.cc DEPENDS partita_mpc LABELS unit)' bits_test -- schema_test
listed src/mpc/CMakeLists.txt '    new_source.cc' -- bits_test schema_test
listed src/mpc/CMakeLists.txt 'target_compile_options(partita_mpc PRIVATE -O3)' bits_test schema_test
expect 2 "$clone/tools/changed_tests" --since no_such_revision
expect_output 'no such revision: no_such_revision'
expect 2 "$clone/tools/changed_tests" --preset no_such_preset
expect_output 'build first: tools/build no_such_preset'
mv "$clone/build/release" "$clone/build/other"
echo >>"$clone/src/mpc/bits.h"
expect 0 "$clone/tools/changed_tests" --since HEAD --preset other
grep -qx bits_test <<<"$out" || fail 'another preset: a change of src/mpc/bits.h does not select bits_test'

# A tree in which the programs of other labels are not built: their tests have no command and are left alone.
partial=$clone/build/partial
mkdir "$partial" && ln -s "$(readlink -f "$2")"/{build.ninja,.ninja_deps,.ninja_log,bin,CMakeFiles} "$partial"
(cd "$2" && find . -name CTestTestfile.cmake -exec cp --parents {} "$partial" ';')
find "$partial" -name CTestTestfile.cmake -exec sed -i 's,/bin/mpc_tests_asan_tsan",/bin/not_built",' {} +
expect 0 "$clone/tools/changed_tests" --since HEAD --preset partial
! grep -qx bits_test <<<"$out" || fail 'a test without a program is selected'

expect 2 "$clone/tools/changed_tests" --preset
expect 2 "$clone/tools/changed_tests" --everything
finish
