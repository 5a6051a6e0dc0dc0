#!/usr/bin/env bash
# The R package: R CMD check without errors, warnings and notes, its tests with the program and lavaan, the
# page for its users, and from library() to a printed study of three parties within three seconds.
set -u
source "$(dirname "$0")/../tools/check.sh"
source_dir=$1
build=$2
packages=(r-base-core r-cran-jsonlite r-cran-processx r-cran-generics r-cran-tinytest r-cran-knitr r-cran-markdown r-cran-lavaan)
if ! dpkg-query -W -f='${db:Status-Status}\n' "${packages[@]}" >/dev/null 2>&1; then
  expect 0 apt-get install -y --no-install-recommends "${packages[@]}"
fi
export PARTITA=$build/bin/partita R_LIBS_USER=$work/library _R_CHECK_FORCE_SUGGESTS_=true
mkdir "$work/library"
cd "$work" || fail 'no folder'
expect 0 R CMD build "$source_dir/bindings/r"
expect 0 R CMD check --no-manual partita_*.tar.gz
expect_output 'Status: OK'
expect 0 R CMD INSTALL --library="$work/library" partita_*.tar.gz
# No test skipped itself.
expect 0 Rscript -e 'results <- tinytest::test_package("partita", at_home = FALSE); stopifnot(length(results) > 150)'
expect_no_output exit

"$source_dir/tests/bindings/page_code" r "$source_dir/docs/r.md" >"$work/page.R"
cp -r "$source_dir/examples/readmission" "$work/readmission"
expect 0 Rscript page.R

cat >"$work/time.R" <<'END'
began <- Sys.time()
library(partita)
study <- read_study(commandArgs(TRUE))
print(partita_simulate(study))
cat("seconds:", as.numeric(Sys.time() - began, units = "secs"), "\n")
END
expect 0 Rscript time.R "$source_dir/examples/three_factor/horizontal/study.toml"
echo "$out" | tail -n 1
awk '/^seconds:/ { slow = $2 > 3 } END { exit slow }' <<<"$out" || fail "too slow: $out"
finish
