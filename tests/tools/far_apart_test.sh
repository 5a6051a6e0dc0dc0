#!/usr/bin/env bash
# tools/far_apart plans every study that it finds at four latencies, measures those that are short
# enough, and names what cannot be planned.
set -u
source_dir=$1
build=$2
source "$(dirname "$0")/check.sh"
tool=$source_dir/tools/far_apart
program=$build/bin/partita
examples=$work/examples
mkdir -p "$examples/three_factor" "$examples/broken"
cp -r "$source_dir/examples/three_factor/horizontal" "$examples/three_factor/"
cp -r "$source_dir/examples/private_regression" "$examples/"
printf '[[analysis]]\nmethod = "none"\n' >"$examples/broken/study.toml"
printf '[[node]]\n' >"$examples/broken/collection.toml"

# expect_row CELLS...: a row of $out has these cells, each an extended regular expression.
expect_row() {
  local row='^\|' cell
  for cell in "$@"; do row+=" $cell \|"; done
  grep -Eq "$row\$" <<<"$out" || fail "no row '$row' in: $out"
}
# rounds STUDY: those of its plan.
rounds() {
  "$program" study plan "$1" --format json |
    perl -0777 -ne 'print $1 if /"totals":\s*\{[^}]*"rounds":\s*(\d+)/'
}

expect 0 "$tool" "$program" --examples "$examples" --measure 5
expect_row study method engine rounds '0 ms' '5 ms' '20 ms' '100 ms' 'measured at 20 ms'
number='[0-9.]+'
for study in private_regression three_factor/horizontal; do
  expect_row "\`$study\`" mle dealer "$(rounds "$examples/$study/study.toml")" \
    "$number" "$number" "$number" "$number" "$number"
done
# Nobody waits for the fit on shares.
expect_row '`three_factor/horizontal`, `sealed` with `"fit"`' mle dealer '1,[0-9]{3}' \
  "$number" "$number" "$number" '[0-9]+ min' -
expect_output 'far_apart: study plan '
expect_row '`broken`' - - - - - - - -
expect_no_output '| `broken/collection.toml`'

expect 2 "$tool"
expect_output 'usage: tools/far_apart PROGRAM'
expect 2 "$tool" "$program" --measure soon
finish
