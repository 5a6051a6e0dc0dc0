#!/usr/bin/env bash
# guide_test.sh SOURCES BUILD: walks docs/node-guide.md as a newcomer with tables of its own. Each command that the
# page shows is run as it stands there, once at least; a command that is not run, or not there, is a failure. Only
# host names, ports and paths are put in, passphrases come by a descriptor, digits by a pipe, and --yes is said
# where a terminal would be asked.
set -euo pipefail
page=$1/docs/node-guide.md
PATH=$2/bin:$PATH
source "$(dirname "$0")/nodes.sh"
export HOME=$work
fail() {
  echo "guide_test: $*" >&2
  for log in *.err *.log; do echo "== $log" >&2; tail -n 5 "$log" >&2; done
  exit 1
}

# What the page shows as a command: in a block of code, or as code within a line when it is a whole command.
{
  sed -n 's/^    \(partita .*\)$/\1/p' "$page"
  grep -o '`partita node [a-z-]* [^`]*--at [^`]*`' "$page" | tr -d '`'
} | sort -u >shown
[ "$(wc -l <shown)" -ge 24 ] || fail 'the page shows few commands'
: >used

# The command of the page that is so, or the only one that begins so, with what is put in for what only an
# example can say.
shows() {
  local found
  found=$(grep -Fx -- "$1" shown || grep -F -- "$1" shown | grep -E "^${1//./\\.}" || true)
  [ "$(grep -c . <<<"$found")" = 1 ] || fail "not one command of the page begins with '$1': $found"
  printf '%s\n' "$found" >>used
  sed "s/west\.example\.org:7400/127.0.0.1:${port[west]}/; s/0\.0\.0\.0:7443/127.0.0.1:${port[pages]}/; s/node\.west\.example\.org:7443/node.west.example.org/" <<<"$found"
}
guide() {  # BEGINNING: runs it
  local command
  command=$(shows "$1")
  eval "$command"
}
as_steward() {  # BEGINNING: runs it with a passphrase
  local command
  command=$(shows "$1")
  eval "$command --passphrase-fd 3" 3< <(phrase)
}
elsewhere() {  # SITE COMMAND: what west or south does, done by another site
  local command=${2//west/$1}
  printf '%s\n' "${command//south/$1}"
}

for name in north west south pages; do port[$name]=$(free_port); done
age() { echo $((6 + $1 % 11)).$(($1 % 7)); }
for name in north west south; do
  {
    echo age,hours,score
    for i in $(seq $((${#name} * 9))); do
      echo "$(age $((i * ${#name}))),$((i * 7 % 31)),$((30 + i * 13 % 60))"
    done
  } >"$name-pupils.csv"
done

# Set up a node.
init=$(shows 'partita node init west')
for name in north west south; do
  eval "$(elsewhere $name "$init" | sed "s/127\.0\.0\.1:[0-9]*/127.0.0.1:${port[$name]}/") --passphrase-fd 3" \
    3< <(phrase) >"$name.said" || fail "$name has no folder"
  opens_at_once $name-steward
  grep -qE '^[0-9A-Za-z-]{8,}$' "$name.said" || fail 'no code for the first account'
  # The block of the page that begins with [[table]], with the own path.
  sed -n '/^    \[\[table\]\]/,/^$/s/^    //p' "$page" | sed "s|/srv/tables/pupils.csv|$work/$name-pupils.csv|" >>"$name/node.toml"
done
# The line of the page that names the ledger, at the top.
guide 'partita ledger open' >/dev/null || fail 'no ledger'
sed -i "1i $(sed -n 's/^    \(ledger = .*\)/\1/p' "$page")" west/node.toml
serve=$(shows 'partita node serve west')
for name in north west south; do
  eval "exec $(elsewhere $name "$serve") --listen 127.0.0.1:$(free_port)" 2>"$name.log" &
  pid[$name]=$!
done
for name in north west south; do
  until_true "the pages of $name" grep -q '"event":"pages"' $name.log
  until_true "node $name" partita node status --at $name
  until_true "the signer of $name" test -S $name-steward/sign.sock
done
guide 'partita node status' | says '^state  *serving' || fail 'west does not serve'
guide 'partita node setup-code' | says 'Set-up' || fail 'no other code'

# Meet another site.
meets() {  # INVITE JOIN: by two terminals and a telephone
  rm -f typed1 typed2
  mkfifo typed1 typed2
  eval "$1 --passphrase-fd 3" 3< <(phrase) <typed1 >out1 2>err1 &
  local first=$!
  exec 8>typed1
  until_true 'the line' grep -q '^partita-invite-1' out1
  line=$(grep '^partita-invite-1' out1)
  eval "${2/ LINE / \'$line\' } --passphrase-fd 3" 3< <(phrase) <typed2 >out2 2>err2 &
  local second=$!
  exec 9>typed2
  until_true 'digits' grep -q 'Tell them' err1
  until_true 'digits' grep -q 'Tell them' err2
  sed -n 's/^.*Tell them: *//p' err1 >&9
  sed -n 's/^.*Tell them: *//p' err2 >&8
  wait "$first" || fail "the inviter: $(cat err1)"
  wait "$second" || fail "the joiner: $(cat err2)"
  exec 8>&- 9>&-
}
invite=$(shows 'partita node invite west')
join=$(shows 'partita node join')
meets "$invite" "$join"
meets "${invite/west/south}" "$(elsewhere south "$join")"
until_true 'the introduction' sh -c 'partita node parties --at south | grep -q "accept west"'
guide 'partita node parties --at south' | says 'accept west' || fail 'west was not introduced'
accept=$(shows 'partita node accept west')
eval "$accept --yes --passphrase-fd 3" 3< <(phrase) >/dev/null 2>&1 || fail 'south does not accept west'
until_true 'the other introduction' sh -c 'partita node parties --at west | grep -q "accept south"'
eval "$(sed 's/west/WEST/; s/south/west/g; s/WEST/south/' <<<"$accept") --yes --passphrase-fd 3" 3< <(phrase) >/dev/null 2>&1 ||
  fail 'west does not accept south'
# It comes back, here to what is done already.
as_steward 'partita node compare west' >out 2>err || fail "compare: $(cat err)"
grep -q 'west .*is a party of this site' out || fail "compare: $(cat out)"

# Run a study.
cp north-pupils.csv pupils.csv
guide 'partita data describe' >/dev/null 2>&1 || fail 'no draft of the dictionary'
guide 'partita study new' >/dev/null 2>&1 || fail 'no study file'
propose=$(shows 'partita study run')
waits() { partita node studies --at "$1" | says settled; }
proposed() {  # starts it, until it waits at all sites
  eval "$propose --yes" >run.out 2>run.err &
  running=$!
  for name in north west south; do until_true "the study at $name" waits $name; done
}
proposed
guide 'partita node studies' | says school-hours || fail 'south sees no study'
approve=$(shows 'partita node approve school-hours --at south --steward')
for name in north west; do
  eval "$(elsewhere $name "$approve") --yes --passphrase-fd 3" 3< <(phrase) >$name.plan 2>&1 || fail "$name: $(tail -n 2 $name.plan)"
done
signs=$(shows 'partita node approve school-hours --at south --sign')
eval "$signs --yes --passphrase-fd 3" 3< <(phrase) >south.plan 2>&1 || fail "south: $(tail -n 2 south.plan)"
for name in west south; do
  [ "$(grep '^code' $name.plan)" = "$(grep '^code' north.plan)" ] || fail 'codes differ'
done
wait "$running" || fail "the study failed: $(tail -n 3 run.err)"
grep -q '"status"' results/result.json || fail 'no result'
rm -r results
guide 'partita study follow' >/dev/null 2>&1 || fail 'it is not found again'
[ -s results/report.html ] || fail 'no report'
guide 'partita study list' | says 'school-hours *finished' || fail 'it is not listed'
guide 'partita node audit --at south' >log
grep -q ' party-listed .* north' log || fail 'no party in the log'
guide 'partita node audit --at south --study' >log
grep -q ' run-end ' log || fail 'no run of the study in the log'
if grep -q ' party-listed ' log; then fail 'the log of a study has what is about none'; fi
guide 'partita node audit --at south --actor' | says ' north ' || fail 'nothing of north in the log'
guide 'partita node audit --at south --sites' | says 'this log has [0-9]* days*' || fail 'no day of the log is closed'
guide 'partita node audit --at south --verify' | says '"head"' || fail 'the log has no digest'

# What is kept, and the record of processing.
grep -q '^Ethics reference: EK 2026/117' west.plan || fail "west's steward sees no ethics reference"
guide 'partita node retention' >kept
grep -q '^results: as long as study files' kept || fail "how long results are kept: $(cat kept)"
grep -q 'over on .*, result until .*, documents until ' kept || fail "what goes when: $(cat kept)"
guide 'partita node record --at south' >record
for said in 'ethics reference: EK 2026/117' 'results go to: north' 'categories: age; hours; score, of table pupils' 'approval of south by terminal'; do
  grep -q "$said" record || fail "the record does not say '$said': $(cat record)"
done
guide 'partita node record --at south --from' >/dev/null || fail 'no record of some days'
grep -q '^[0-9a-f]*,school-hours,.*,EK 2026/117,' record.csv || fail "the record as CSV: $(cat record.csv)"
guide 'partita node record --at south --format' | says '"may_have_opened": *true' || fail 'no record as JSON'

grep -q 'fits the policy of table pupils' west.plan || fail "west's steward sees no budget"
guide 'partita node tables' >tables
grep -q '^  [0-9]* rows, SHA-256' tables || fail "no rows: $(cat tables)"
grep -q 'school-hours *finished' tables || fail "no use of the table: $(cat tables)"

# What its variables mean, and which others may ask for.
cat >pupils.toml <<'END'
[[variable]]
name = "age"
type = "numeric"
lower = 5
upper = 20
description = "in years, at the first of September"

[[variable]]
name = "income"
type = "numeric"
peers = "hidden"
END
guide 'partita node dictionary pupils --at west --set' >saved || fail 'no dictionary is saved'
grep -q "'income': new, hidden" saved || fail "it is not said what was saved: $(cat saved)"
guide 'partita node dictionary pupils --at west --output' >/dev/null || fail 'nothing is written for others'
grep -q '^name = "age"' pupils-for-others.toml || fail "others do not see age: $(cat pupils-for-others.toml)"
! grep -q income pupils-for-others.toml || fail 'others see what is hidden'
partita node audit --at west | says 'dictionary-saved.*pupils' || fail 'the audit log has no dictionary'

# Approved in advance, by all three: nobody is at a terminal, and it runs to the result. South and west compare digits
# for it, since a policy takes no study with a warning.
meets "$(sed 's/west/south/g; s/north/west/g' <<<"$invite")" "$(elsewhere south "$join")"
at_site() { sed "s/north/$1/g" <<<"$2"; }
keys=$(shows 'partita node parties --at north --format json')
policy_of() {  # SITE: the page's, with what is in capitals put in
  sed -n '/^    partita_envelope/,/^    exact/s/^    //p' "$page" | sed "s/FILE/$(sha256sum school-hours.toml | cut -d' ' -f1)/"
  eval "$(at_site "$1" "$keys")" | perl -MJSON::PP -e '
    for (@{decode_json(join "", <STDIN>)->{data}{parties}}) {
      print "\n[[party]]\nname = \"$_->{name}\"\nnode = \"$_->{node_key}\"\nsteward = \"$_->{steward_key}\"\n"
    }'
}
estimates() { perl -MJSON::PP -e 'print JSON::PP->new->canonical->encode(decode_json(join "", <STDIN>)->{analyses}[0]{parameters})' <"$1"; }
add=$(shows 'partita node policy add')
for name in north west south; do
  policy_of $name >hours-again.toml
  if eval "${add/ --one-user/} --yes --passphrase-fd 3" 3< <(phrase) >out 2>err; then fail 'one user has both folders'; fi
  grep -q 'belongs to the user of the node' err || fail "one user: $(cat err)"
  eval "$(at_site $name "$add") --yes --passphrase-fd 3" 3< <(phrase) >out 2>err || fail "$name has no policy: $(cat err)"
done
eval "timeout 60 ${propose/--output results/--output again} --yes" >run.out 2>run.err || fail "the study failed by policies: $(tail -n 3 run.err)"
[ -n "$(estimates again/result.json)" ] || fail 'no estimates'
[ "$(estimates results/result.json)" = "$(estimates again/result.json)" ] || fail 'another result by policies'
for name in north west south; do
  grep -q "by a policy of the steward of $name" run.err || fail "north is not told of the policy of $name: $(cat run.err)"
done
guide 'partita node audit --at north' | says ' policy hours-again  *approval ' || fail 'no policy in the log'
guide 'partita node policy list' | says 'hours-again: 1 of 3 studies signed, epsilon 0, until' || fail 'not counted'
for name in north west south; do
  eval "$(at_site $name "$(shows 'partita node policy end')") --passphrase-fd 3" 3< <(phrase) >/dev/null 2>&1 || fail "the policy of $name does not end"
done
partita node policy list --steward south-steward | says 'there is no policy' || fail 'it goes on'

# A deputy at south, and two persons for its table.
kims() { echo 'words that kim alone knows'; }
command=$(shows 'partita node deputy key')
eval "$command --passphrase-fd 3" 3< <(kims) >kim || fail 'kim has no key'
command=$(shows 'partita node deputy add' | sed "s/2027-12-20/$(date -u -d yesterday +%F)/; s/2028-01-10/$(date -u -d 'next month' +%F)/")
eval "$command --yes --passphrase-fd 3" 3< <(phrase) >out 2>err || fail "kim is not named: $(cat err)"
grep -q "$(grep -o '[0-9a-f]\{64\}' kim)" out || fail "the steward is shown another key: $(cat out)"
guide 'partita node deputy list' | says '^kim  *signs, from' || fail 'kim is not listed'
kill "${pid[south]}"
wait "${pid[south]}" || fail 'south did not end well'
sed -n 's/^    \(stewards_needed = .*\)/\1/p' "$page" >>south/node.toml
eval "exec $(elsewhere south "$serve") --listen 127.0.0.1:$(free_port)" 2>>south.log &
pid[south]=$!
until_true 'node south' partita node status --at south
until_true 'the signer of south' test -S south-steward/sign.sock
propose=${propose/--output results/--output by-two}
proposed
for name in north west; do
  eval "$(elsewhere $name "$approve") --yes --passphrase-fd 3" 3< <(phrase) >$name.plan 2>&1 || fail "$name: $(tail -n 2 $name.plan)"
done
eval "$approve --yes --passphrase-fd 3" 3< <(phrase) >south.plan 2>&1 || fail "the first of two: $(tail -n 2 south.plan)"
grep -q "1 of 2 has signed the study 'school-hours': it waits for another, kim" south.plan || fail "one is enough: $(tail -n 2 south.plan)"
if eval "$approve --yes --passphrase-fd 3" 3< <(phrase) >south.plan 2>&1; then fail 'one person signs twice'; fi
grep -q 'the steward has signed already' south.plan || fail "twice: $(tail -n 2 south.plan)"
partita node studies --at south | says 'here 1 of 2 has signed: the steward' || fail 'nobody sees who is waited for'
partita node status --at south | says '^signed  *1 of 2 of study [0-9a-f]*: the steward' || fail 'the state does not say it'
until_true "west's approval" sh -c "partita node studies --at north | grep -q ' 2 of 3 approved'"
command=$(shows 'partita node approve school-hours --at south --deputy')
eval "$command --yes --passphrase-fd 3" 3< <(kims) >south.plan 2>&1 || fail "the second of two: $(tail -n 2 south.plan)"
grep -q '1 of 2 has signed, the steward: it waits for kim' south.plan || fail "kim is not told: $(cat south.plan)"
wait "$running" || fail "the study of two persons failed: $(tail -n 3 run.err)"
grep -q 'by south (the steward and kim)' run.err || fail "north is not told who signed: $(cat run.err)"
[ "$(estimates by-two/result.json)" = "$(estimates results/result.json)" ] || fail 'another result by two'
partita node audit --at south >log
for words in ' signed .* the steward' ' approval .* signed by the steward and kim' ' deputy-named .* kim: from'; do
  grep -q "$words" log || fail "no '$words' in the log: $(cat log)"
done
if partita node go-on --at south --steward south-steward --deputy kim --passphrase-fd 3 3< <(kims) 2>err; then fail 'a deputy lets the node go on'; fi
grep -q 'this is for the steward alone' err || fail "a deputy goes on: $(cat err)"
as_steward 'partita node deputy end' >/dev/null 2>&1 || fail 'kim does not end'
partita node deputy list --steward south-steward | says 'the steward has no deputy' || fail 'kim goes on'

# Rejected, withdrawn by south with and without the key, withdrawn by north.
ends() {  # WORDS: the analyst is told so
  if wait "$running"; then fail 'it ended well'; fi
  grep -qF -- "$1" run.err || fail "'$1' is not told: $(tail -n 3 run.err)"
}
propose=${propose/--output by-two/--output none}
proposed
as_steward 'partita node reject' >/dev/null 2>&1 || fail 'no rejection'
ends 'no ethics reference'
proposed
guide 'partita node withdraw school-hours --at south --reason' >/dev/null || fail 'no withdrawal'
ends 'an error in our table'
proposed
as_steward 'partita node withdraw school-hours --at south --steward' >/dev/null 2>&1 || fail 'no signed withdrawal'
ends 'an error in our table'
proposed
guide 'partita study withdraw' >/dev/null || fail 'north does not withdraw'
ends withdrawn

# Before a restart.
guide 'partita node drain --at west' | says 'nothing runs here' || fail 'west does not drain'
guide 'partita node drain --end --at west' >/dev/null || fail 'it drains for ever'

# A backup, of a node that serves.
as_steward 'partita node backup' >/dev/null 2>&1 || fail 'no backup'
[ "$(stat -c %a west.backup)" = 600 ] || fail 'others may read the backup'
if as_steward 'partita node backup' >/dev/null 2>&1; then fail 'a backup was replaced'; fi

# Stop everything.
guide 'partita node stop' >/dev/null
partita node status --at south | says 'stopped: nothing starts' || fail 'not stopped'
as_steward 'partita node go-on' >/dev/null || fail 'it does not go on'
as_steward 'partita node revoke' >/dev/null 2>&1 || fail 'no revocation'
partita node parties --at south | says 'west .*revoked on' || fail 'west is not revoked'

# Signer and pages as processes of their own.
kill "${pid[west]}" "${pid[south]}"
wait "${pid[west]}" || fail 'west did not end well'
wait "${pid[south]}" || fail 'south did not end well'
[ ! -e west-steward/sign.sock ] || fail "the signer outlives the node"
command=$(shows 'partita node sign')
eval "exec $command" 2>sign.log &
pid[sign]=$!
until_true 'the signer' test -S south-steward/sign.sock
command=$(shows 'partita node web west --sign')
eval "exec $command --listen 127.0.0.1:$(free_port)" 2>web.log &
pid[web]=$!
until_true 'the pages' grep -q '"event":"pages"' web.log
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=node.west.example.org -keyout key.pem -out chain.pem 2>/dev/null
command=$(shows 'partita node web west --listen')
eval "exec $command --state web2" 2>web2.log &
pid[web2]=$!
until_true 'the pages for other machines' grep -q '"certificate":"given"' web2.log

# The machine of west is lost, but for the folders of studies.
kill "${pid[web]}" "${pid[web2]}"
if as_steward 'partita node restore' >/dev/null 2>&1; then fail 'a state was replaced'; fi
rm -r west/state
as_steward 'partita node restore' >/dev/null 2>&1 || fail 'no restore'
eval "exec partita node serve west" 2>west-again.log &
pid[west]=$!
until_true 'west again' grep -q '"event":"serving"' west-again.log
grep -q '"event":"tables-closed"' west-again.log || fail 'the tables are not closed'
partita node status --at west | says 'THE TABLES ARE CLOSED' || fail 'the state does not say so'
if as_steward 'partita node reopen --at' >refused 2>&1; then fail 'a budget is kept without a word of south'; fi
grep -q 'no budget can be kept: the account pupils: .* has not answered' refused || fail "refused: $(cat refused)"
as_steward 'partita node reopen --all-spent' >reopened 2>&1 || fail 'the steward does not open the tables'
if as_steward 'partita node reopen --all-spent' >/dev/null 2>&1; then fail 'they are opened twice'; fi
partita node status --at west >west-status
grep -q 'accounts counts as spent' west-status || fail 'nothing says that budgets are gone'
if grep -q 'CLOSED' west-status; then fail 'they seem closed'; fi
partita node audit --at west >west-audit
grep -q ' restored .*from a backup of' west-audit || fail 'the log says nothing of a restore'
grep -q ' reopened ' west-audit || fail 'the log says nothing of the steward'

# A table that changes, whose pupils have keys.
{
  echo id,hours
  for i in $(seq 40); do echo "p$i,$((i % 31))"; done
} >west-register.csv
printf 'source = "west-register.csv"\nedition = "steward"\nkey = "id"\n' >register.toml
sed -i "s|$work/west-pupils.csv|$work/register.toml|" west/node.toml
guide 'partita data edition pupils --at west' >edition.out || fail 'no word of editions'
guide 'partita data edition pupils --at west --open' >edition.out || fail 'no edition opens'
grep -q '40 rows' edition.out || fail "the first edition: $(cat edition.out)"
echo p3 >withdrawn.txt
guide 'partita data thaw pupils --at west' >edition.out || fail 'a pupil cannot withdraw'
grep -q '39 rows' edition.out || fail "the edition without a pupil: $(cat edition.out)"
if grep -rqs 'p3,' west/run; then fail 'rows of somebody who withdrew are kept'; fi

missed=$(sort -u used | comm -3 - shown)
[ -z "$missed" ] || fail "not run: $missed"
echo "guide_test: $(wc -l <shown) commands"
