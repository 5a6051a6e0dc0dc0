#!/usr/bin/env bash
# kill_points_test.sh SOURCES BUILD: three real nodes, of which south's node, or its job, is killed by SIGKILL at one
# point of a study's life after the other: at a state that the node says, or at a file that the process writes
# (stop_at.c). After each the study ends the same at every site, every site's ledger has it as often as something may have
# opened, and nothing opens twice. With PARTITA_THOROUGH=1 at all points, among them those after which nodes wait for a
# minute before they try again.
set -euo pipefail
partita=$2/bin/partita
private=$1/examples/private_regression
source "$(dirname "$0")/nodes.sh"
cc -shared -fPIC -O1 -o stop_at.so "$1/tests/node/daemon/stop_at.c"

# Whoever waits at a gate when the test fails.
let_nobody_wait() {
  local waits
  for waits in $(cat "$work"/stop/*/stopped 2>/dev/null); do
    ! grep -qzF -- "$work" "/proc/$waits/cmdline" 2>/dev/null || kill -KILL "$waits" || true
  done
  finish
}
trap let_nobody_wait EXIT

serve_stopped() {  # SITE: with the library that stops it
  mkdir -p "$work/stop/$1"
  LD_PRELOAD=$work/stop_at.so STOP_AT=$work/stop/$1 "$partita" node serve "$1" 2>>"$1.log" &
  pid[$1]=$!
  until_true "node $1" "$partita" node status --at "$1"
}
dies() {  # SITE: the node, not its jobs
  kill -KILL "${pid[$1]}"
  wait "${pid[$1]}" 2>/dev/null || true
}
again() {
  dies south
  serve_stopped south
}

for name in north west south; do
  port[$name]=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" --steward $name-steward \
    --passphrase-fd 3 3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "patients"\ndata = "%s/%s/data.csv"\naccount = "patients"\n' "$private" $name >>$name/node.toml
  sed -i '1i ledger = "ledger.sqlite"' $name/node.toml
  "$partita" ledger open $name/ledger.sqlite --table patients --epsilon 1000 --delta 1e-3 --trust-insiders >/dev/null
  mkdir -p "stop/$name"
  mkfifo "stop/$name/gate"
  serve_stopped $name
done
joins north west
joins north south
joins west south
sed '/^name = "helper"/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$private/study.toml" |
  perl -0pe 's/\[\[party\]\]\n(?=\[\[rows)//' >private.toml

patience=300  # tenths of a second
until_true() {  # as of nodes.sh
  local what=$1
  shift
  for _ in $(seq $patience); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  fail "$what did not come"
}
# STATE SITE: of the study, as the site's node says it.
state() {
  "$partita" study list --all --at "$2" --format json | perl -MJSON::PP -e '
    my ($study) = grep { $_->{name} eq $ARGV[0] } @{decode_json(join "", <STDIN>)->{data}{studies}};
    exit !($study && $study->{state} eq $ARGV[1])' "$study" "$1"
}
stop() { : >"stop/$1/$2"; }                 # SITE POINT
stopped() { test -s "stop/$1/stopped"; }    # SITE
go_on() { : >"stop/$1/gate"; }              # SITE: who waits there
renames() { grep -cx -- "$2" "stop/$1/renamed" || true; }  # SITE NAME
propose() {  # NAME
  study=$1
  for name in north west south; do rm -f stop/$name/stopped stop/$name/renamed stop/$name/*-*.*; done
  sed "s/^name = \"private-regression\"/name = \"$study\"/" private.toml >study.toml
  "$partita" study run study.toml --at north --yes >"$study.out" 2>&1 &
  running=$!
}
settles() { for name in north west south; do until_true "$study settles at $name" state settled $name; done; }
approve() { for name in "$@"; do until_true "$name's approval of $study" approves $name "$study"; done; }
charged() {  # SITE: how often the study stands in the ledger
  "$partita" ledger history "$1/ledger.sqlite" --table patients --format json | perl -MJSON::PP -e '
    my $data = decode_json(join "", <STDIN>)->{data};
    print scalar grep { $_->{study} eq $ARGV[0] } @{$data->{entries} || $data->{history}}' "$study"
}
# STATE ATTEMPTS: everywhere, after so many of them, of which the last one may have opened something, and none before it.
# South's jobs have written the mark of each attempt, that of the opening, and, of a study that failed, the one that refuses
# a next attempt for good.
ends() {
  for name in north west south; do until_true "$study is $1 at $name" state "$1" $name; done
  wait "$running" || [ "$1" = failed ] || fail "$study: $(tail -n 3 "$study.out")"
  for name in north west south; do
    "$partita" ledger verify $name/ledger.sqlite >/dev/null || fail "the ledger of $name does not hold"
    [ "$(charged $name)" = 1 ] || fail "$study stands $(charged $name) times in the ledger of $name"
  done
  "$partita" node audit --at south --study "$study" >audit.txt
  [ "$(grep -c ' run-end ' audit.txt)" = "$2" ] || fail "not $2 attempts: $(cat audit.txt)"
  local marks=$(($2 + 1))
  [ "$1" = finished ] || marks=$((marks + 1))
  until_true "$study is closed for good at south" grep -qx discarded stop/south/renamed
  [ "$(renames south attempt)" = $marks ] || fail "$study: $(renames south attempt) marks at south, not $marks"
  echo "$study ok after $SECONDS s" >&2
}

# The node, while the study waits for its steward, and while its job, which goes on, has opened something.
propose node-at-run
settles
again
stop south hold-after.attempt.2
approve north south west
until_true 'a job that may have opened' stopped south
until_true 'the run' state running south
again
go_on south
ends finished 1

# The job, when it may have opened something: that counts as opened, and is not tried again.
propose job-at-run
stop south kill-after.attempt.2
settles
approve north south west
ends failed 1

# The job, when all is done and only its word is missing.
propose job-at-word
stop south kill-before.ended
settles
approve north south west
until_true 'the end of the job' stopped south
ends finished 1

# The node, when it waits for the word of another site.
propose node-at-closing
stop north hold-before.ended
settles
approve north south west
until_true 'the word of south' state closing south
again
go_on north
ends finished 1
[ -n "${PARTITA_THOROUGH:-}" ] || exit 0

# From here on nodes wait for a minute before they try again.
patience=2000

propose node-at-proposed
stop south hold-before.table
until_true 'the check' stopped south
until_true 'the proposal' state proposed south
again
go_on south
settles
approve north south west
ends finished 1

propose node-at-validated
stop west hold-before.table
until_true 'the offer of south' state validated south
again
go_on west
settles
approve north south west
ends finished 1

propose node-at-approved
settles
approve south
until_true 'the approval' state approved south
again
approve north west
ends finished 1

propose node-at-agreed
settles
"$partita" node drain --at west >/dev/null
approve north south west
until_true 'the agreement' state agreed south
again
"$partita" node drain --end --at west >/dev/null
ends finished 1

# By a node that is gone no connection comes to its job, which has none yet: that attempt opens nothing.
propose node-at-scheduled
stop south hold-before.attempt.1
settles
approve north south west
until_true 'the start' stopped south
until_true 'the attempt' state scheduled south
again
go_on south
ends finished 2

propose node-before-opening
stop south hold-before.attempt.2
settles
approve north south west
until_true 'the run' stopped south
until_true 'the run' state running south
again
go_on south
ends finished 1

propose node-at-finished
settles
approve north south west
until_true 'the end' state finished south
again
ends finished 1

propose job-at-check
stop south kill-before.table
until_true 'the check' stopped south
settles
approve north south west
ends finished 1

propose job-at-commit
stop south kill-before.statement
settles
until_true 'the freezing' stopped south
approve north south west
ends finished 1

# No attempt has begun here, and whoever waits for it hears so: the second one runs.
propose job-at-scheduled
stop south kill-before.attempt.1
settles
approve north south west
until_true 'the start' stopped south
ends finished 2

# All three, just before anything opens.
propose jobs-before-opening
for name in north south west; do stop $name kill-before.attempt.2; done
settles
approve north south west
ends finished 2

# Said, and not heard by the own node.
propose job-after-word
stop south kill-after.ended
settles
approve north south west
ends finished 1

# Of the receiver, with the result in its hands: it is gone, and charged.
propose receiver-before-result
stop north kill-before.result.json
settles
approve north south west
ends failed 1
