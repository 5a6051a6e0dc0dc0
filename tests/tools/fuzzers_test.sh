#!/usr/bin/env bash
# tools/run_fuzzers, with shell scripts in place of fuzz targets: a target that fails on its corpus or
# on a new input, one without seeds, and no target at all are failures; the others still run.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
export PARTITA_CHECK_ROOT=$work
fuzz=$source_dir/tools/run_fuzzers
mkdir -p "$work/build/fuzz/fuzzers"

expect 1 "$fuzz" 1
expect_output 'no fuzz target is built'

# target NAME: a fuzz target that runs the script on standard input; its corpus holds one seed.
target() {
  { echo '#!/bin/sh'; cat; } >"$work/build/fuzz/fuzzers/$1_fuzz"
  chmod +x "$work/build/fuzz/fuzzers/$1_fuzz"
  mkdir -p "$work/fuzz/corpus/$1"
  echo seed >"$work/fuzz/corpus/$1/seed"
}

target good <<TXT
echo "\$*" >>"$work/calls"
echo 'Done 1234 runs in 7 second(s)'
TXT
expect 0 "$fuzz" 7
expect_output 'good_fuzz'
expect_output '1 seeds, 1234 runs in 7 s'
grep -q -- "-runs=0 $work/fuzz/corpus/good\$" "$work/calls" || fail 'the corpus was not replayed'
grep -q -- "-max_total_time=7 .*/found/good_fuzz $work/fuzz/corpus/good\$" "$work/calls" ||
  fail 'the target was not fuzzed for the time asked for'

target seeds <<<'case "$*" in *-runs=0*) echo "seed crashed"; exit 77 ;; esac'
expect 1 "$fuzz" 1
expect_output 'seed crashed'
expect_output 'seeds_fuzz fails on its corpus'
expect_output 'good_fuzz'
expect 0 "$fuzz" 1 good_fuzz
rm "$work/build/fuzz/fuzzers/seeds_fuzz"

target new <<<'case "$*" in *-max_total_time*) echo "wrote crash-1"; exit 77 ;; esac'
expect 1 "$fuzz" 1
expect_output 'wrote crash-1'
expect_output 'new_fuzz fails on a new input'
rm "$work/build/fuzz/fuzzers/new_fuzz"

rm "$work/fuzz/corpus/good/seed"
expect 1 "$fuzz" 1
expect_output 'good_fuzz has no seeds'
finish
