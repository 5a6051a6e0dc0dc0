#!/usr/bin/env bash
# tools/check_headers: a header that needs another one to be included first is caught, with its name;
# since a revision, so is one that includes a header that changed.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
mkdir -p "$work/src/base"
export PARTITA_CHECK_ROOT=$work

printf '#pragma once\n#include <string>\nstd::string Name();\n' >"$work/src/base/good.h"
printf '#pragma once\n#include <Eigen/Core>\nEigen::VectorXd V();\n' >"$work/src/base/uses_eigen.h"
expect 0 "$source_dir/tools/check_headers"
rm "$work/src/base/uses_eigen.h"
printf '#pragma once\n#include "base/good.h"\nstd::string Other();\n' >"$work/src/base/uses_good.h"

printf '#pragma once\nstd::string Name();\n' >"$work/src/base/needy.h"
expect 1 "$source_dir/tools/check_headers"
expect_output 'src/base/needy.h does not compile alone'
expect_no_output 'src/base/good.h does not compile alone'
rm "$work/src/base/needy.h"

printf '#pragma once\ninline int F(long x) { return x; }\n' >"$work/src/base/narrow.h"
expect 1 "$source_dir/tools/check_headers"
expect_output 'src/base/narrow.h does not compile alone'
expect 0 "$source_dir/tools/check_headers" src/base/good.h

# Since a revision: what changed, and what includes it.
rm "$work/src/base/narrow.h"
git() { command git -C "$work" -c user.name=test -c user.email=test@localhost "$@" >/dev/null; }
git init -q && git add -A && git commit -q -m 'All compile'
printf '#pragma once\nstd::string Name();\n' >"$work/src/base/good.h"
printf '#pragma once\ninline int F(long x) { return x; }\n' >"$work/src/base/new_and_narrow.h"
git add -A
expect 1 "$source_dir/tools/check_headers" --since HEAD
expect_output 'src/base/good.h does not compile alone'
expect_output 'src/base/uses_good.h does not compile alone'
expect_output 'src/base/new_and_narrow.h does not compile alone'
git commit -q -m 'Some do not'
expect 0 "$source_dir/tools/check_headers" --since HEAD
expect_output 'no header changed'
expect 2 "$source_dir/tools/check_headers" --since no_such_revision
expect_output 'no such revision: no_such_revision'
expect 2 "$source_dir/tools/check_headers" --since

rm -r "$work/src"
expect 1 "$source_dir/tools/check_headers"
expect_output 'no headers found'
finish
