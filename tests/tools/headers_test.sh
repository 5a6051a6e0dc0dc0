#!/usr/bin/env bash
# tools/check_headers: a header that needs another one to be included first is caught, with its name.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
mkdir -p "$work/src/base"
export PARTITA_CHECK_ROOT=$work

printf '#pragma once\n#include <string>\nstd::string Name();\n' >"$work/src/base/good.h"
printf '#pragma once\n#include "base/good.h"\n#include <Eigen/Core>\nEigen::VectorXd V();\n' \
  >"$work/src/base/uses_eigen.h"
expect 0 "$source_dir/tools/check_headers"

printf '#pragma once\nstd::string Name();\n' >"$work/src/base/needy.h"
expect 1 "$source_dir/tools/check_headers"
expect_output 'src/base/needy.h does not compile alone'
expect_no_output 'src/base/good.h does not compile alone'
rm "$work/src/base/needy.h"

printf '#pragma once\ninline int F(long x) { return x; }\n' >"$work/src/base/narrow.h"
expect 1 "$source_dir/tools/check_headers"
expect_output 'src/base/narrow.h does not compile alone'
expect 0 "$source_dir/tools/check_headers" src/base/good.h

rm -r "$work/src"
expect 1 "$source_dir/tools/check_headers"
expect_output 'no headers found'
finish
