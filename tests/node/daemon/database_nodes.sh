#!/usr/bin/env bash
# database_nodes.sh SOURCES BUILD CONNECTION ADMINISTRATOR: three real nodes on loopback, one of them with its state in the
# database of CONNECTION: one study from proposal to result, with the connection lost in the middle, a backup, and the
# state moved to a file in the end. database_nodes_test.cc starts the server. Prints what differs and exits with 1.
set -euo pipefail
partita=$2/bin/partita
connection=$3 administrator=$4
example=$1/examples/three_factor/horizontal
source "$(dirname "$0")/nodes.sh"
ask() { /usr/lib/postgresql/15/bin/psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$administrator" -c "$1"; }

for name in north west south; do
  port[$name]=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" --steward $name-steward \
    --passphrase-fd 3 3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "pupils"\ndata = "%s/%s/data.csv"\n' "$example" $name >>$name/node.toml
done
expect_error 'node.toml names no database' "$partita" node move-state south --to database
printf '\n[state]\ndatabase = "%s"\n' "$connection" >>south/node.toml
for name in north west south; do serve $name; done
[ ! -e south/state/node.sqlite ] || fail 'south keeps its state in a file'
joins north west
joins north south
joins west south

# The same state in a second process.
cp -r south second && rm -f second/control.sock
expect_error 'another node serves, or is being backed up, from the database of this one' "$partita" node serve second

sed '/^# Hands out/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$example/study.toml" >study.toml
"$partita" study run study.toml --at north --output results --yes >run.out 2>run.err &
running=$!
for name in north west; do until_true "$name approves" approves $name three-factor-rows; done
until_true 'the study at south' sh -c "'$partita' node studies --at south | grep -q settled"
# The database goes away and comes back: the node ends, and its unit would start it again.
ask "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()" >/dev/null
ended=0
wait "${pid[south]}" || ended=$?
[ "$ended" != 0 ] || fail "south went on without its database: exit code $ended"
grep -q 'the node cannot write its state' south.log || fail 'south does not say why it ended'
grep -q "the database of the node's state" south.log || fail 'the log does not say what failed'
serve south
until_true 'south approves' approves south three-factor-rows
wait "$running" || fail "the study failed: $(tail -n 3 run.err)"
grep -q '"status"' results/result.json || fail 'no result'
until_true 'the end at south' sh -c "'$partita' study list --all --at south | grep -q 'three-factor-rows *finished'"
"$partita" node audit --at south --study three-factor-rows --verify >south-audit.txt || fail 'no log at south'
for action in proposal run-begin run-end study-end; do
  [ "$(grep -c " $action " south-audit.txt)" = 1 ] || fail "$action in the log: $(cat south-audit.txt)"
done
[ "$(ask 'SELECT count(*) FROM partita_node.study')" = 1 ] || fail 'the study is not in the database'

# A backup while it serves, and of a node that does not.
"$partita" node backup south.backup --at south --passphrase-fd 3 3< <(phrase) >/dev/null
kill "${pid[south]}"
wait "${pid[south]}" || fail 'south did not end well'
"$partita" node backup again.backup --at south --passphrase-fd 3 3< <(phrase) >/dev/null
expect_error 'there is the state of a node in the database' \
  "$partita" node restore south.backup south-again --passphrase-fd 3 3< <(phrase)

# Its state as a file from here on.
"$partita" node move-state south --to file >/dev/null
expect_error 'node.toml names a database' "$partita" node serve south
sed -i '/^\[state\]/,/^database/d' south/node.toml
ask 'DROP SCHEMA partita_node CASCADE' 2>/dev/null
serve south
"$partita" study list --all --at south | says 'three-factor-rows *finished' || fail 'the file forgot the study'
"$partita" node audit --at south --verify >/dev/null || fail 'the log was not moved as it is'
"$partita" node parties --at south | says north || fail 'south forgot its parties'
