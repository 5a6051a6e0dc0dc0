#!/usr/bin/env bash
# tools/check_words catches each kind of banned word, and leaves look-alikes alone.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
check=$source_dir/tools/check_words

# only FOLDER LINE: a tree whose one file holds that line.
only() {
  rm -rf "$work/t"
  mkdir -p "$work/t/src" "$work/t/$1"
  printf 'int a;\n%s\n' "$2" >"$work/t/$1/file.cc"
}

expect 0 "$check" "$source_dir"

# Written in two halves, so that a text search over the tests does not find them. FOLDER|HALF|HALF.
while IFS='|' read -r folder left right; do
  only "$folder" "$left$right"
  expect 1 "$check" "$work/t"
  expect_output "$folder/file.cc:2:$left$right"
  expect_output '^'
done <<'TXT'
src|int x = ra|nd();
src|srand4|8(7);
src|std::random_de|vice device;
src|std::mt199|37_64 engine;
src|std::normal_distri|bution<> noise;
src|#include <ran|dom>
src|double u = dran|d48();
src|Matrix m = Matrix::Ran|dom(3, 3);
src|m.setRan|dom();
src|// TO|DO: finish
tests|// FIX|ME later
src|auto where = std::source_loc|ation::current();
src|for (auto i : std::vi|ews::iota(0, 3))
bench|std::ranges::vi|ews::all(x)
tests|EXPECT_TRUE|(true);
tests|SUCC|EED();
tests|TEST(Ring, DISA|BLED_Adds) {
TXT

# Look-alikes, and the same words where they are allowed.
while IFS='|' read -r folder line; do
  only "$folder" "$line"
  expect 0 "$check" "$work/t"
done <<'TXT'
src|crypto::StreamRandom random(key);
src|double operand(int i);
src|// the strand(s) of a random walk
src|std::ranges::sort(values);
src|EXPECT_TRUE_IS_A_MACRO;
tests|std::mt19937_64 engine(1);
TXT

# Headers too, and files deep in the tree.
mkdir -p "$work/t/src/a/b" "$work/t/tests"
rm -f "$work/t/tests/file.cc"
echo '#include <random>' >"$work/t/src/a/b/deep.h"
expect 1 "$check" "$work/t"
expect_output 'src/a/b/deep.h:1:'
rm "$work/t/src/a/b/deep.h"
expect 0 "$check" "$work/t"

# Nothing leads out of the repository, whatever kind of file says so.
mkdir -p "$work/t/docs" "$work/t/build/release"
echo 'SourcePath("../shared/data/lung.csv")' >"$work/t/build/release/ignored.cc"
echo 'shares are shared, shared/split alike' >"$work/t/docs/good.md"
expect 0 "$check" "$work/t"
echo 'values of shared/reference/sem' >"$work/t/docs/bad.md"
echo '{"data": "../shared"}' >"$work/t/tests/bad.json"
expect 1 "$check" "$work/t"
expect_output 'docs/bad.md:1:'
expect_output 'tests/bad.json:1:'
expect_no_output 'good.md'
expect 2 "$check" "$work/nowhere"
finish
