#!/usr/bin/env bash
# restored_test.sh SOURCES BUILD: three real nodes, of which one is restored twice. With a copy of its ledger from before
# its last study it keeps no budget; with its newest ledger it keeps what is left, by what the other two were shown, and
# runs a private study with it. Prints what differs and exits with 1.
set -euo pipefail
partita=$2/bin/partita
private=$1/examples/private_regression
source "$(dirname "$0")/nodes.sh"

for name in north west south; do
  port[$name]=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" \
    --steward $name-steward --passphrase-fd 3 3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "patients"\ndata = "%s/%s/data.csv"\naccount = "patients"\n' \
    "$private" $name >>$name/node.toml
  sed -i '1i ledger = "ledger.sqlite"' $name/node.toml
  "$partita" ledger open $name/ledger.sqlite --table patients --epsilon 12 --delta 1e-6 --trust-insiders >/dev/null
  serve $name
done
joins north west
joins north south
until_true 'the introduction of south' sh -c "'$partita' node parties --at west | grep -q 'accept south'"
until_true 'the introduction of west' sh -c "'$partita' node parties --at south | grep -q 'accept west'"
as_steward accept west south --yes >/dev/null 2>&1
as_steward accept south west --yes >/dev/null 2>&1

sed '/^name = "helper"/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$private/study.toml" |
  perl -0pe 's/\[\[party\]\]\n(?=\[\[rows)//' >private.toml
runs() {  # STUDY: from proposal to result
  sed "s/^name = \"private-regression\"/name = \"$1\"/" private.toml >"$1.toml"
  "$partita" study run "$1.toml" --at north --output "$1" --yes >"$1.out" 2>"$1.err" &
  local running=$!
  for name in north west south; do
    until_true "$1 at $name" sh -c "'$partita' node studies --at $name | grep -q '$1.*settled'"
    until_true "$name's approval" approves $name "$1"
  done
  wait "$running" || fail "the study $1 failed: $(tail -n 3 "$1.err")"
}
stand() { "$partita" ledger show west/ledger.sqlite --table patients; }
ends() { kill "${pid[$1]}" && { wait "${pid[$1]}" || fail "$1 did not end well"; }; }
restores() { "$partita" node restore west.backup west --passphrase-fd 3 3< <(phrase) >restore.out; }
answered() { "$partita" node status --at west | says "asked what they were shown of the ledger: $1 of 2 answered"; }

runs first
"$partita" node backup west.backup --at west --passphrase-fd 3 3< <(phrase) >/dev/null
runs second
stand >stand.txt
ends west
mv west west-lost

# The machine is lost with all that is on it: the ledger is that of the backup.
restores
serve west
until_true 'both answers' answered 2
expect_error 'was shown entry' as_steward reopen west
"$partita" node status --at west | says 'THE TABLES ARE CLOSED' || fail 'the tables are open'
[ ! -e west/kept ] || fail 'there is a word for budgets'
for name in north south; do
  "$partita" node audit --at $name | says ' party west  *heads-told .*1 heads of its ledger' || fail "the log of $name: $("$partita" node audit --at $name)"
done
[ "$("$partita" node audit --at west | grep -c ' heads-heard ')" = 2 ] || fail "the log of west: $("$partita" node audit --at west)"

# The ledger turns up, from the lost machine's disk. South answers once it serves again.
ends west
ends south
mv west west-older
mkdir west
cp west-lost/ledger.sqlite west-lost/ledger.sqlite.seen west/
restores
serve west
until_true "north's answer" answered 1
expect_error 'the account patients: south has not answered' as_steward reopen west
serve south
until_true "south's answer" answered 2
as_steward reopen west >reopen.out 2>reopen.err || fail "no budget is kept: $(cat reopen.err)"
grep -q 'account patients: its budget is kept' reopen.err || fail "not shown: $(cat reopen.err)"
grep -q 'north answered at 20.*, and its memory is whole' reopen.err || fail "not shown: $(cat reopen.err)"
grep -q 'this policy holds: against outsiders epsilon 12' reopen.err || fail "not shown: $(cat reopen.err)"
expect_error 'are not closed' as_steward reopen west
"$partita" node status --at west | says 'the budgets of 1 are kept' || fail "$("$partita" node status --at west)"
"$partita" node audit --at west | says ' budgets-kept ' || fail 'the log says nothing of the steward'
stand | cmp -s - stand.txt || fail 'another budget is left'

runs third
grep -q '"status"' third/result.json || fail 'no private result'
if stand | cmp -s - stand.txt; then fail 'nothing was charged'; fi
"$partita" ledger history west/ledger.sqlite --table patients | grep -cw spent | says -x 3 ||
  fail "three studies: $("$partita" ledger history west/ledger.sqlite --table patients)"
"$partita" ledger verify west/ledger.sqlite >/dev/null || fail "west's ledger does not hold"

# What was kept can be given up later, once.
expect_error 'node reopen --all-spent' as_steward reopen west
as_steward reopen west --all-spent >reopen.out 2>reopen.err || fail "not given up: $(cat reopen.err)"
"$partita" node status --at west | says 'the budgets of 1 are kept' && fail 'a budget is kept'
expect_error 'are not closed' as_steward reopen west --all-spent

# Nor does a restore from the same backup into a new folder ask for it again: the signer remembers.
ends west
mv west west-given-up
mkdir west
cp west-given-up/ledger.sqlite west-given-up/ledger.sqlite.seen west/
restores
serve west
until_true 'both answers again' answered 2
expect_error 'the steward gave it up after an earlier restore' as_steward reopen west
echo 'restored_test: a budget was kept'
