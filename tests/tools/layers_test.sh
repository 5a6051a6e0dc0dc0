#!/usr/bin/env bash
# tools/check_layers catches each kind of forbidden include and accepts the allowed ones.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
check=$source_dir/tools/check_layers

# A tree with the real rules and one file per line of "path include".
tree() {
  rm -rf "$work/t"
  mkdir -p "$work/t/tools"
  cp "$source_dir/tools/layers.txt" "$work/t/tools/"
  local path target
  while read -r path target; do
    mkdir -p "$work/t/src/$(dirname "$path")"
    printf '#include <vector>\n#include "%s"\n' "$target" >>"$work/t/src/$path"
  done
}

# The repository itself.
expect 0 "$check" "$source_dir"

tree <<'TXT'
base/a.h base/b.h
crypto/a.h base/b.h
net/a.cc net/channel.h
mpc/engine.cc net/channel.h
mpc/engine.cc crypto/random.h
stats/sem/fit.h stats/sem/parameter_table.h
methods/mle/protocol.cc net/channel.h
methods/mle/protocol.cc mpc/engine.h
methods/mle/protocol.cc stats/sem/fit.h
methods/mle/protocol.cc methods/mle/fit/result.h
methods/mle/protocol.cc run/method/study.h
methods/all.cc methods/mle/protocol.h
report/summary.cc study/plan/plan.h
run/party/party.cc report/result.h
sums/service/run.cc run/ledger/open.h
cli/main.cc run/party/party.h
papers/figure.cc cli/terminal/output.h
TXT
expect 0 "$check" "$work/t"

# Each of these alone is a violation, reported with its file, line 2 and its target.
while read -r path target; do
  tree <<<"$path $target"
  expect 1 "$check" "$work/t"
  expect_output "src/$path:2:"
  expect_output "$target"
done <<'TXT'
base/a.h crypto/random.h
stats/sem/fit.cc data/table.h
net/a.cc mpc/engine.h
mpc/engine.cc net/transport.h
mpc/engine.cc data/schema.h
methods/mle/protocol.cc net/transport.h
methods/mle/protocol.cc methods/glm/result.h
methods/mle/protocol.cc sums/protocol/client.h
study/plan/plan.cc methods/mle/protocol.h
study/plan/plan.cc report/result.h
report/summary.cc run/party/party.h
report/summary.cc methods/mle/protocol.h
run/party/party.cc methods/all.h
run/party/party.cc report/html_page.h
sums/service/run.cc methods/mle/protocol.h
cli/main.cc papers/figure.h
report/summary.cc stats/sem/fit.h
data/csv.cc run/party/party.h
run/party/party.cc cli/terminal/exit_code.h
cli/main.cc error.h
cli/main.cc service/http.h
TXT

# A folder without a rule, an edge that would only hold transitively, and spaces in the directive.
tree <<<"rogue/a.h base/b.h"
expect 1 "$check" "$work/t"
expect_output "src/rogue/a.h:1: no rule"
tree <<<"match/order.cc net/tls.h"
expect 1 "$check" "$work/t"
tree <<<"net/a.cc base/b.h"
printf '  #  include "mpc/engine.h" // why\n' >>"$work/t/src/net/a.cc"
expect 1 "$check" "$work/t"
expect_output "src/net/a.cc:3: net may not include mpc/engine.h"

# Names of methods: in methods/, papers/ and comments.
tree <<<"methods/mle/a.h base/b.h"
mkdir -p "$work/t/src/papers" "$work/t/src/run"
for file in methods/mle/b.cc papers/a.cc; do
  echo 'const char* name = "mle";' >"$work/t/src/$file"
done
echo '// method "mle"' >"$work/t/src/run/a.cc"
expect 0 "$check" "$work/t"
printf '\nif (method == "mle") return;\n' >>"$work/t/src/run/a.cc"
expect 1 "$check" "$work/t"
expect_output "src/run/a.cc:3: knows a method by name"

# Nothing to check is an error, not a pass.
mkdir -p "$work/empty/src" "$work/empty/tools"
cp "$source_dir/tools/layers.txt" "$work/empty/tools/"
expect 1 "$check" "$work/empty"
expect 2 "$check" "$work/nowhere"
finish
