#!/usr/bin/env bash
# node_client_test.sh SOURCES BUILD python|r: the packages' client of a node, with three real nodes on loopback: a study
# that is made in the package goes from proposal to its usual class of result, one is withdrawn, and what is wrong comes
# as the package's conditions. Prints what differs and exits with 1.
set -euo pipefail
source_dir=$1
partita=$2/bin/partita
language=$3
source "$source_dir/tests/node/daemon/nodes.sh"
export PARTITA=$partita

for name in north west south; do
  at_port=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:$at_port" --steward $name-steward --passphrase-fd 3 \
    3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "patients"\ndata = "%s/%s/data.csv"\naccount = "patients"\n' \
    "$source_dir/examples/readmission" $name >>$name/node.toml
  sed -i '1i ledger = "ledger.sqlite"' $name/node.toml
  "$partita" ledger open $name/ledger.sqlite --table patients --epsilon 1 --delta 1e-6 --exact allowed >/dev/null 2>&1
  serve $name
done
joins north west
joins north south
until_true 'the introduction of south' sh -c "'$partita' node parties --at west | grep -q 'accept south'"
until_true 'the introduction of west' sh -c "'$partita' node parties --at south | grep -q 'accept west'"
as_steward accept west south --yes >/dev/null 2>&1
as_steward accept south west --yes >/dev/null 2>&1

case $language in
  python)
    client=(env PYTHONPATH="$source_dir/bindings/python/src" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -W error
      "$source_dir/tests/bindings/node_client.py")
    ;;
  r)
    mkdir library
    R CMD INSTALL --no-docs --library="$work/library" "$source_dir/bindings/r" >install.log 2>&1 || fail 'not installed'
    client=(env R_LIBS_USER="$work/library" Rscript "$source_dir/tests/bindings/node_client.R")
    ;;
esac

# The client proposes; its stewards approve as soon as their nodes have checked the study.
"${client[@]}" run north >client.log 2>&1 &
running=$!
for name in north west south; do until_true "the approval of $name" approves $name from-the-package; done
wait "$running" || fail "the run: $(cat client.log)"
# At once for its receiver, and not at others.
"${client[@]}" follow north >client.log 2>&1 || fail "following at the receiver: $(cat client.log)"
"${client[@]}" elsewhere west >client.log 2>&1 || fail "following elsewhere: $(cat client.log)"
# One that nobody approves is withdrawn, and the one who waits for it is told why.
"${client[@]}" withdraw north >client.log 2>&1 || fail "withdrawing: $(cat client.log)"
list=$("$partita" study list --all --at north)
grep -q 'not-wanted *withdrawn' <<<"$list" || fail "not withdrawn: $list"
"${client[@]}" mistakes north >client.log 2>&1 || fail "mistakes: $(cat client.log)"
