#!/usr/bin/env bash
# nodes_test.sh SOURCES BUILD: three real nodes on loopback, as their people drive them: a site joins
# by digits, another by introduction, one study from proposal to result with a node killed in the
# middle, and what strangers and mistakes get. Prints what differs and exits with 1.
set -euo pipefail
partita=$2/bin/partita
example=$1/examples/three_factor/horizontal
private=$1/examples/private_regression
commands=0
source "$(dirname "$0")/nodes.sh"
counted() {
  commands=$((commands + 1))
  "$@"
}

for name in north west south; do
  port[$name]=$(free_port)
  counted "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" \
    --steward $name-steward --passphrase-fd 3 3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "pupils"\ndata = "%s/%s/data.csv"\naccount = "pupils"\n' \
    "$example" $name >>$name/node.toml
  printf '\n[[table]]\nname = "patients"\ndata = "%s/%s/data.csv"\naccount = "patients"\n' \
    "$private" $name >>$name/node.toml
  sed -i '1i ledger = "ledger.sqlite"' $name/node.toml
  sed -i "1i signer = \"../$name-steward/sign.sock\"" $name/node.toml
  "$partita" ledger open $name/ledger.sqlite --table pupils --epsilon 1 --delta 1e-6 --exact allowed >/dev/null
  expect_error "has no account 'patients', which node.toml names for the table 'patients'" "$partita" node serve $name
  "$partita" ledger open $name/ledger.sqlite --table patients --epsilon 4 --delta 1e-6 --trust-insiders >/dev/null
  for file in key.pem node.toml; do
    [ "$(stat -c %a $name/$file)" = 600 ] || fail "$file is not its owner's alone"
  done
  [ "$(stat -c %a $name/state)" = 700 ] || fail 'the state is not its owners alone'
  serve $name
  [ "$(stat -c %a $name/control.sock)" = 600 ] || fail 'the control socket is open'
  [ "$(stat -c %a $name/job/key.pem)" = 600 ] || fail 'the key of the jobs is open'
  [ ! -e $name/steward.key ] || fail 'the steward has its key in the folder of the node'
done

# Mistakes.
expect_error 'a node serves in north already' "$partita" node serve north
expect_error 'there is a node in north' "$partita" node init north --name north --address a.example:1
cp -r north broken && rm -f broken/control.sock
sed -i 's/^jobs = 1 /jobz = 1 /' broken/node.toml
expect_error 'node.toml:' "$partita" node serve broken
sed -i 's/^jobz = 1 /jobs = 0 /' broken/node.toml
expect_error "'jobs' is not from 1 to 64" "$partita" node serve broken
sed -i 's/^jobs = 0 /jobs = 1 /; s/^address = .*/address = "nowhere"/' broken/node.toml
expect_error "'address' is no address" "$partita" node serve broken
expect_error 'this is not an invitation' as_steward join west partita-invite-1-abc
expect_error 'the passphrase is wrong' "$partita" node go-on --at west --steward west-steward \
  --passphrase-fd 3 3< <(echo 'some other words')
expect_error 'the passphrase is not UTF-8' "$partita" node go-on --at west --steward west-steward \
  --passphrase-fd 3 3< <(printf 'several w\366rds of a steward\n')
expect_error 'no node serves' "$partita" node status --at north-steward
# Control-C is no passphrase, and nothing was made before it.
mkfifo keys
script -qefc "$partita node init stopped --name stopped --address 127.0.0.1:1 --steward stopped-steward" \
  typed.out <keys >/dev/null &
typing=$!
exec 5>keys
until_true 'the question' grep -q 'New passphrase' typed.out
printf '\003' >&5
stopped=0
wait "$typing" || stopped=$?
exec 5>&-
[ "$stopped" = 130 ] || fail "Control-C at a passphrase: exit code $stopped, $(cat typed.out)"
[ ! -e stopped ] && [ ! -e stopped-steward ] || fail 'a command that was stopped made folders'

# Digits that differ use the line up; a new one pairs.
joins north west wrong
joins north west
joins north south
until_true 'the introduction of south' sh -c "'$partita' node parties --at west | grep -q 'accept south'"
until_true 'the introduction of west' sh -c "'$partita' node parties --at south | grep -q 'accept west'"
as_steward accept west south --yes >/dev/null 2>&1
as_steward accept south west --yes >/dev/null 2>&1
"$partita" node parties --at west | says 'south .*introduced by north' || fail 'south is not listed'

# Strangers at the port: bytes that are no hello, silence.
exec 7<>"/dev/tcp/127.0.0.1/${port[north]}"
echo 'GET / HTTP/1.0' >&7
exec 6<>"/dev/tcp/127.0.0.1/${port[north]}"

# A file that is no study goes nowhere.
echo 'partita = 1' >bad.toml
expect_error 'bad.toml' "$partita" study run bad.toml --at north --yes

# One study: three holders with rows of their own.
sed '/^# Hands out/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$example/study.toml" >study.toml
before=$commands
counted "$partita" study run study.toml --at north --output results --yes >run.out 2>run.err &
running=$!
commands=$((commands + 1))  # of the subshell
[ $((commands - before)) = 1 ] || fail 'the analyst needs more than one command'
waits() { "$partita" node studies --at "$1" | says settled; }
for name in north west south; do until_true "the study at $name" waits $name; done
as_steward approve north three-factor-rows --yes >plan.txt
grep -q '^code  ' plan.txt || fail 'no code to compare'
# A machine loses its power in the middle.
kill -KILL "${pid[south]}"
wait "${pid[south]}" 2>/dev/null || true
# West's steward has a signer of its own, which alone reads the key.
"$partita" node sign west-steward 2>west-sign.log &
pid[west-sign]=$!
until_true "west's signer" test -S west-steward/sign.sock
[ "$(stat -c %a west-steward/sign.sock)" = 600 ] || fail "the signer's socket is open"
west_signs=(--sign west-steward/sign.sock)
expect_error 'no signer serves' as_steward approve west three-factor-rows --yes --sign nowhere/sign.sock
# A statement of another table, in the place of what the job signed.
statement=$(ls west/run/*/statement)
cp "$statement" statement
sed -i 's/pupils/people/' "$statement"
expect_error "not signed by the key of this site's jobs" \
  as_steward approve west three-factor-rows --yes "${west_signs[@]}"
cp statement "$statement"
as_steward approve west three-factor-rows --yes "${west_signs[@]}" >west-plan.txt
grep -q '^table  *pupils, [0-9]* rows, 0 missing cells' west-plan.txt || fail 'no table is shown'
serve south
as_steward approve south three-factor-rows --yes >/dev/null
[ "$(grep '^code' plan.txt)" = "$(grep '^code' west-plan.txt)" ] || fail 'two codes of one plan'
wait "$running" || fail "the study failed: $(tail -n 3 run.err)"
grep -q '"status"' results/result.json || fail 'no result'
[ -s results/report.html ] || fail 'no report'
sed '1,/^Notes/d' run.out >notes.out
grep -q 'estimate' notes.out || fail 'the analyst is shown no estimates'
expect_error 'results/result.json exists' "$partita" study run study.toml --at north --output results --yes

# It is found by its name afterwards, too, at its receiver and at others.
"$partita" study follow three-factor-rows --at north --output again >/dev/null 2>&1 || fail 'not found again'
cmp -s results/result.json again/result.json || fail 'another result the second time'
"$partita" study follow three-factor-rows --at west | says 'went to others' || fail 'west has a result'
"$partita" study list --at west | says 'no open studies' || fail 'west lists what is over'
"$partita" study list --all --at west | says 'three-factor-rows *finished' || fail 'west forgot it'

# The log of each node tells it, and follows itself.
for name in north west south; do
  "$partita" node audit --at $name --study three-factor-rows --verify >$name-audit.txt || fail "no log at $name"
  [ "$(grep -c ' approval ' $name-audit.txt)" = 3 ] || fail "the log of $name: $(cat $name-audit.txt)"
  for action in proposal run-begin run-end study-end; do
    [ "$(grep -c " $action " $name-audit.txt)" = 1 ] || fail "$action in the log of $name: $(cat $name-audit.txt)"
  done
done
grep -q ' terminal  *proposal ' north-audit.txt || fail "who proposed: $(cat north-audit.txt)"
grep -q ' party north  *proposal ' south-audit.txt || fail "who proposed: $(cat south-audit.txt)"
[ "$(grep -c ' export .* result.json: to a folder' north-audit.txt)" = 2 ] || fail "exports: $(cat north-audit.txt)"
"$partita" node audit --at north | says ' party-listed .* west: digits were compared' || fail 'no pairing in the log'
"$partita" node audit --at west | says ' party-listed .* south: introduced by north' || fail 'no introduction in the log'
"$partita" node audit --at north --format json --limit 3 >audit.json
grep -q '"verified": false' audit.json || fail "no JSON: $(cat audit.json)"

# What a steward can know of the own table; the digest is that of the file.
"$partita" node tables --at west >tables.txt
grep -q '^pupils ' tables.txt || fail "no table: $(cat tables.txt)"
grep -q "^  $(($(wc -l <"$example/west/data.csv") - 1)) rows, SHA-256 $(sha256sum "$example/west/data.csv" | cut -d' ' -f1)\$" tables.txt ||
  fail "another table: $(cat tables.txt)"
for column in $(head -n 1 "$example/west/data.csv" | tr -d '"\r' | tr ',' ' '); do
  grep -q "^  $column  " tables.txt || fail "no column $column: $(cat tables.txt)"
done
grep -q 'exact results of some of its rows were given' tables.txt || fail "not served: $(cat tables.txt)"
grep -q ' three-factor-rows *finished *by north, approved here' tables.txt || fail "not used: $(cat tables.txt)"

# A private study: every steward sees what it takes, and it is charged once; another one of the size does not fit.
sed '/^name = "helper"/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$private/study.toml" |
  perl -0pe 's/\[\[party\]\]\n(?=\[\[rows)//' >private.toml
"$partita" study run private.toml --at north --output private --yes >private.out 2>private.err &
running=$!
for name in north west south; do
  until_true "the private study at $name" sh -c "'$partita' node studies --at $name | grep -q 'private-regression.*settled'"
  until_true "$name's approval" approves $name private-regression
  cp $name-approved.txt $name-private.txt
  grep -q 'Of the budget against outsiders it takes' $name-private.txt || fail "no budget: $(cat $name-private.txt)"
  grep -q '^table  *patients, ' $name-private.txt || fail "another table: $(cat $name-private.txt)"
done
wait "$running" || fail "the private study failed: $(tail -n 3 private.err)"
grep -q '"status"' private/result.json || fail 'no private result'
"$partita" node tables --at south >tables.txt
sed -n '/^patients /,$p' tables.txt | says 'private-regression *finished' || fail "not used: $(cat tables.txt)"
"$partita" ledger verify south/ledger.sqlite >/dev/null || fail "south's ledger does not hold"
"$partita" ledger history south/ledger.sqlite --table patients | says 'spent' || fail 'nothing is charged'
# By a policy of north, which compared digits with all others, it need not wait for north's steward, while there is epsilon left of the policy.
{
  cat <<'POLICY'
partita_envelope = 2
name = "pressure"
tables = ["patients"]
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["sem"]
engines = ["replicated"]
receivers = ["north", "all"]
releases = ["moments", "estimates"]
variables = ["sbp", "age", "bmi", "smoker"]
conditions = []
proposers = ["north"]
dealers = []
min_parties = 3
max_results = 9
valid_until = "2099-12-31"
max_leakage = {moments = "noisy", result = "noisy"}
epsilon_per_study = 2.01
epsilon_in_all = 3
delta = 1e-6
POLICY
  "$partita" node parties --at north --format json | perl -MJSON::PP -e '
    for (@{decode_json(join "", <STDIN>)->{data}{parties}}) {
      print "\n[[party]]\nname = \"$_->{name}\"\nnode = \"$_->{node_key}\"\nsteward = \"$_->{steward_key}\"\n"
    }'
} >pressure.toml
"$partita" node sign north-steward 2>north-sign.log &
pid[north-sign]=$!
until_true "north's signer" test -S north-steward/sign.sock
"$partita" node policy add pressure.toml --at north --steward north-steward --one-user --yes --passphrase-fd 3 3< <(phrase) >/dev/null
sed 's/^name = "private-regression"/name = "by-policy"/' private.toml >by-policy.toml
"$partita" study run by-policy.toml --at north --output by-policy --yes >by-policy.out 2>by-policy.err &
running=$!
for name in west south; do
  until_true "by-policy at $name" sh -c "'$partita' node studies --at $name | grep -q 'by-policy.*settled'"
  until_true "$name's approval" approves $name by-policy
done
wait "$running" || fail "the study by a policy failed: $(tail -n 3 by-policy.err)"
grep -q 'by a policy of the steward of north' by-policy.err || fail "no word of the policy: $(cat by-policy.err)"
perl -MJSON::PP -e 'exit !grep { $_->{party} eq "north" && $_->{kind} eq "policy" } @{decode_json(join "", <STDIN>)->{approvals}}' \
  <by-policy/result.json || fail 'no policy in the result'
"$partita" node policy list --steward north-steward --format json >policies.json
perl -MJSON::PP -e 'my $p = decode_json(join "", <STDIN>)->{data}{policies}[0];
  exit !($p->{results} == 1 && $p->{epsilon} > 1.5 && $p->{epsilon} <= 2.01)' <policies.json || fail "not counted: $(cat policies.json)"
sed 's/^name = "private-regression"/name = "for-a-person"/' private.toml >for-a-person.toml
"$partita" study run for-a-person.toml --at north --yes >person.out 2>person.err &
running=$!
until_true 'the word of the policy' sh -c "'$partita' node audit --at north --study for-a-person | grep -q \"policy-refused .*has epsilon 3 in all\""
"$partita" study withdraw for-a-person --at north --reason 'a test' >/dev/null
if wait "$running"; then fail 'a withdrawn study ended well'; fi

# Of little use: whoever proposes it has to say so, and stewards decide; a node's check does not.
sed 's/^name = "private-regression"/name = "of-little-use"/; s/^epsilon = 2/epsilon = 0.02/' private.toml >little.toml
expect_error 'hardly be useful' "$partita" study run little.toml --at north --yes
"$partita" study run little.toml --at north --yes --accept-useless >little.out 2>little.err &
running=$!
until_true 'the study of little use' waits west
asks_for_the_flag() {
  local said
  said=$(as_steward approve west of-little-use --yes 2>&1) && return 1
  grep -q 'standard error' <<<"$said"
}
until_true 'the refusal of little use' asks_for_the_flag
approves_useless() { as_steward approve west of-little-use --yes --accept-useless >/dev/null; }
until_true 'an approval of little use' approves_useless
"$partita" study withdraw of-little-use --at north --reason 'a test' >/dev/null
if wait "$running"; then fail 'a withdrawn study ended well'; fi

sed 's/^name = "private-regression"/name = "too-much"/; s/^epsilon = 2/epsilon = 9/' private.toml >too-much.toml
if "$partita" study run too-much.toml --at north --yes >too-much.out 2>too-much.err; then fail 'the budget was exceeded'; fi
grep -q 'the budget of its table does not allow it' too-much.err || fail "no reason: $(tail -n 3 too-much.err)"

# A study that a steward rejects, and one that its proposer withdraws.
sed 's/^name = "three-factor-rows"/name = "second"/' study.toml >second.toml
"$partita" study run second.toml --at north --yes >second.out 2>second.err &
running=$!
until_true 'the second study' waits west
size=$(stat -c %s west/ended)
as_steward reject west second --reason 'no ethics reference' "${west_signs[@]}" >/dev/null
[ "$(stat -c %s west/ended)" = $((size + 40)) ] || fail 'west does not end the second study'
if wait "$running"; then fail 'a rejected study ended well'; fi
grep -q 'no ethics reference' second.err || fail "the reason is missing: $(tail -n 2 second.err)"
sed 's/^name = "three-factor-rows"/name = "third"/' study.toml >third.toml
"$partita" study run third.toml --at north --yes >third.out 2>third.err &
running=$!
until_true 'the third study' waits west
"$partita" study withdraw third --at north --reason 'a slip' >/dev/null
if wait "$running"; then fail 'a withdrawn study ended well'; fi
grep -q 'withdrawn' third.err || fail "not withdrawn: $(tail -n 2 third.err)"
# A steward takes its site out, so that its jobs know.
sed 's/^name = "three-factor-rows"/name = "fourth"/' study.toml >fourth.toml
"$partita" study run fourth.toml --at north --yes >fourth.out 2>fourth.err &
running=$!
until_true 'the fourth study' waits south
size=$(stat -c %s south/ended)
as_steward withdraw south fourth --reason 'an error in our table' >/dev/null
[ "$(stat -c %s south/ended)" = $((size + 40)) ] || fail 'south does not end the fourth study'
if wait "$running"; then fail 'a withdrawn study ended well'; fi
grep -q 'an error in our table' fourth.err || fail "not withdrawn: $(tail -n 2 fourth.err)"

# Emergency stop: the steward lets it go on, nobody else.
"$partita" node stop --at north >/dev/null
"$partita" node status --at north | says 'stopped: nothing starts' || fail 'not stopped'
expect_error "only the site's steward" "$partita" node go-on --at north --steward west-steward \
  --passphrase-fd 3 3< <(phrase)
as_steward go-on north >/dev/null
"$partita" node status --at north | says 'state        serving' || fail 'it does not go on'

# Drained, it begins no run and says so to those who ask; the study waits, and runs when it begins again.
"$partita" node drain --at west | says 'nothing runs here' || fail 'west does not drain'
"$partita" node status --at west | says 'draining: no run begins, 0 go on' || fail 'west is not draining'
sed 's/^name = "three-factor-rows"/name = "fifth"/' study.toml >fifth.toml
"$partita" study run fifth.toml --at north --yes >fifth.out 2>fifth.err &
running=$!
for name in north west south; do
  until_true "the fifth study at $name" waits $name
  until_true "$name's approval" approves $name fifth
done
until_true 'the agreement' sh -c "'$partita' study list --at west | grep -q 'fifth *agreed'"
"$partita" node audit --at west --limit 5 | says 'drains: no run begins here' || fail 'no word of it in the log'
[ "$("$partita" node audit --at west --study fifth | grep -c ' run-begin ')" = 0 ] || fail 'it runs all the same'
"$partita" study withdraw fifth --at north --reason 'west drains' >/dev/null
if wait "$running"; then fail 'a withdrawn study ended well'; fi
"$partita" node drain --end --at west | says 'runs begin here again' || fail 'it drains for ever'

cp west/parties older-parties
as_steward revoke west north >/dev/null
"$partita" node audit --at west --actor terminal --limit 1 | says ' party-revoked .* north' || fail 'no revocation in the log'
[ "$(stat -c %a west/parties)" = 644 ] || fail 'jobs of another user cannot read the list of parties'
cmp -s west/parties west-steward/parties || fail 'the jobs do not have the list of parties'
# Whoever puts the list of before back is undone when the steward's folder is used.
cp older-parties west/parties
as_steward go-on west >/dev/null 2>&1 || true
cmp -s west/parties west-steward/parties || fail 'the older list of parties stays'
"$partita" node parties --at west | says 'north .*revoked on' || fail 'north is not revoked'
"$partita" node parties --at west | says south && fail 'south came from north alone'

# A table that is not there hides no other one, and no study used it.
printf '\n[[table]]\nname = "gone"\ndata = "%s/gone.csv"\n' "$work" >>west/node.toml
"$partita" node tables --at west >tables.txt
[ "$(grep -c ' rows, SHA-256 ' tables.txt)" = 2 ] || fail "tables: $(cat tables.txt)"
sed -n '/^gone /,$p' tables.txt | says 'cannot be read' || fail "a table of nothing: $(cat tables.txt)"
sed -n '/^gone /,$p' tables.txt | says 'no study uses it' || fail "used: $(cat tables.txt)"

# An orderly end.
kill -TERM "${pid[north]}"
wait "${pid[north]}" || fail 'north did not end well'
unset 'pid[north]'
tail -n 1 north.log | says '"event":"stopped"' || fail 'no last line in the log'
grep -v '^{"time":"[0-9T:Z-]*","event":"' north.log && fail 'a line of the log is none'
grep -rq 'several words' north west south ./*.log && fail 'the passphrase was written down'
exit 0
