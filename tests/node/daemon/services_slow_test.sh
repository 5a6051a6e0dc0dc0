#!/usr/bin/env bash
# services_slow_test.sh SOURCES BUILD: a site as its services run it: node, pages, jobs and signer under users of their own,
# the signer without network, jobs started by connections to a socket (accept_jobs.pl, in the place of systemd), the files
# of units that systemd takes. From an invitation to a result with sites of the usual kind, and what each of the four users
# can read, write and ask. Needs root, for it starts programs as other users.
set -euo pipefail
partita=$2/bin/partita
example=$1/examples/three_factor/horizontal
source "$(dirname "$0")/nodes.sh"
[ "$(id -u)" = 0 ] || fail 'starting programs as other users takes root'
command -v systemd-analyze >/dev/null || fail 'needs systemd-analyze: apt install systemd'
node_user=64901 sign_user=64902 web_user=64904 job_user=64905
as() {  # USER COMMAND...
  local user=$1
  shift
  exec setpriv --reuid="$user" --regid="$user" --clear-groups env -i PATH="$PATH" "$@"
}
refused() {  # USER COMMAND...
  if (as "$@") >/dev/null 2>&1; then fail "user $1 could: ${*:2}"; fi
}
as_job() { exec setpriv --reuid=$job_user --regid=$job_user --groups=$node_user env -i PATH="$PATH" "$@"; }
chmod 755 "$work"

# What systemd takes without a word.
mkdir units
for unit in "$1"/services/*.service "$1"/services/*.socket; do
  sed "s#/usr/bin/partita#$partita#" "$unit" >"units/$(basename "$unit")"
done
systemd-analyze verify --man=no units/*.service units/*.socket >out 2>&1 || fail "units: $(cat out)"
[ ! -s out ] || fail "units: $(cat out)"

# One command makes both folders. It gives away nothing that somebody else could have put there.
install -d -o $sign_user -m 755 run
port[north]=$(free_port)
init() {
  "$partita" node init "$1" --name north --address "127.0.0.1:${port[north]}" --steward "$work/steward" \
    --services --node-user $node_user --sign-user $sign_user --web-user $web_user --job-user $job_user \
    --socket "$work/run/sign.sock" --job-socket "$work/job.sock" \
    --setup-code --passphrase-fd 3 3< <(phrase)
}
install -d -m 777 open
expect_error "is not root's alone" init open/north
mkdir there
expect_error 'there is there already' init there
expect_error "there is no user 'nobody-here'" "$partita" node init north --name north --address 127.0.0.1:1 \
  --steward steward --services --node-user nobody-here
expect_error 'are not four users' "$partita" node init north --name north --address 127.0.0.1:1 --steward steward \
  --services --node-user $node_user --sign-user $sign_user --web-user $node_user --job-user $job_user
(
  as $node_user "$partita" node init "$work/north" --name north --address 127.0.0.1:1 --steward "$work/steward" \
    --services --node-user $node_user --sign-user $sign_user --web-user $web_user --job-user $job_user
) >out 2>err && fail 'a user gave folders away'
grep -q 'only root can give' err || fail "$(cat err)"
init north >init.out
grep -q 'systemctl enable --now partita-sign partita-job.socket partita-node partita-web' init.out || fail "$(cat init.out)"
owners() { (cd north && find . -printf '%p %u:%g %m\n' | sort); }
owners >owners.out
diff owners.out - <<OWNERS || fail 'the parts of the folder are not their users'
. root:root 755
./cert.pem root:$node_user 640
./control $node_user:$web_user 2711
./dictionaries $node_user:$job_user 2750
./job $job_user:$job_user 700
./job/cert.pem $job_user:$job_user 644
./job/key.pem $job_user:$job_user 600
./key.pem $node_user:$node_user 600
./node.toml root:$node_user 640
./run $job_user:$node_user 2750
./state $node_user:$node_user 700
./stewards.pem root:$node_user 640
./web $web_user:$web_user 700
./web/accounts.sqlite $web_user:$web_user 600
OWNERS
[ -z "$(find steward lists ! -uid $sign_user)" ] || fail "not the signer's: $(find steward lists ! -uid $sign_user)"
# Its table lies in a folder of others, which it may read.
install -d -m 755 tables
install -m 644 "$example/north/data.csv" tables/pupils.csv
printf '\n[[table]]\nname = "pupils"\ndata = "%s/tables/pupils.csv"\naccount = "pupils"\n' "$work" >>north/node.toml
sed -i '1i ledger = "job/ledger.sqlite"' north/node.toml
(as_job "$partita" ledger open north/job/ledger.sqlite --table pupils --epsilon 1 --delta 1e-6 --exact allowed) >/dev/null
chmod 600 tables/pupils.csv && chown $job_user tables/pupils.csv

# The processes, as the units start them.
signer[north]=$work/run/sign.sock
(export -f as && exec unshare --net bash -c "as $sign_user '$partita' node sign '$work/steward'") 2>sign.log &
pid[sign]=$!
until_true "north's signer" test -S run/sign.sock
perl "$1/tests/node/daemon/accept_jobs.pl" "$work/job.sock" $node_user $job_user $node_user \
  "$partita" node job --at "$work/north" 2>jobs.log &
pid[jobs]=$!
until_true 'the socket of jobs' test -S job.sock
(as $node_user "$partita" node serve "$work/north") 2>north.log &
pid[north]=$!
until_true 'node north' "$partita" node status --at north
port[web]=$(free_port)
# Without what its unit hides from it.
(export -f as && exec unshare --mount bash -c "
  mount --bind /dev/null north/key.pem && mount -t tmpfs none north/run && mount -t tmpfs none north/job &&
  as $web_user '$partita' node web '$work/north' --listen '127.0.0.1:${port[web]}' --sign '$work/run/sign.sock'") 2>web.log &
pid[web]=$!
until_true "north's pages" grep -q '"pages"' web.log
refused $node_user cat steward/steward.key
refused $node_user touch lists/ended
refused $node_user touch north/node.toml
refused $node_user mv north/node.toml north/other.toml
refused $node_user cat north/job/key.pem
refused $node_user cat north/job/ledger.sqlite
refused $node_user cat tables/pupils.csv
refused $node_user touch north/run/here
refused $node_user "$partita" node approve none --at "$work/north" --sign "$work/run/sign.sock" --passphrase-fd 3 3< <(phrase)
# A dictionary that is saved is the node's, and jobs read it.
printf '[[variable]]\nname = "age"\ntype = "integer"\nlower = 5\nupper = 20\n' >pupils.toml
"$partita" node dictionary pupils --set pupils.toml --at north >/dev/null || fail 'no dictionary was saved'
[ "$(stat -c '%u:%g %a' north/dictionaries/pupils.toml)" = "$node_user:$job_user 640" ] || fail 'the dictionary is not for jobs'
(as_job cat north/dictionaries/pupils.toml) | says age || fail 'jobs do not read the dictionary'
for other in $web_user $sign_user; do refused $other cat north/dictionaries/pupils.toml; done
refused $sign_user cat north/key.pem
refused $sign_user "$partita" node status --at "$work/north"
refused 64903 "$partita" node policy list --sign "$work/run/sign.sock"
for file in key.pem node.toml state/node.sqlite job/key.pem run; do refused $web_user cat north/$file; done
# What pages ask is answered, and no more; whoever they ask for is named.
(as $web_user "$partita" study list --at "$work/north/control/control.sock") >/dev/null || fail 'the pages may not ask'
asks() {  # WORDS USER COMMAND...: is refused with these words
  local words=$1
  shift
  if (as "$@") >out 2>err; then fail "user $1 could: ${*:2}"; fi
  grep -qF -- "$words" err || fail "'$words' is not in: $(cat err)"
}
pages_ask=("$partita" node)
asks "the pages may not ask the node for 'drain'" $web_user "${pages_ask[@]}" drain --at "$work/north/control/control.sock"
asks "the pages ask the node for 'stop' and do not say for whom" $web_user "${pages_ask[@]}" stop --at "$work/north/control/control.sock"
(as_job "$partita" study list --at "$work/north") >out 2>err && fail 'jobs could ask the node'
printf 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "${port[web]}" |
  openssl s_client -quiet -connect "127.0.0.1:${port[web]}" 2>/dev/null | says '^HTTP/1.1 200' ||
  fail 'the node does not answer its pages'
# Another user starts no job: the socket is closed to it, and a job that somebody else orders does not read the order.
refused $web_user perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => shift) or die' "$work/job.sock"
chmod 666 job.sock
answer_to() {  # USER: what a job says to its errand, to look at the tables
  (as "$1" perl -MIO::Socket::UNIX -e '
    my $job = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => shift) or die;
    print $job pack "VCCVQ<Q<", 22, 1, 64, 0, 0, 0;
    print <$job>' "$work/job.sock")
}
answer_to $node_user | says '"pupils"' || fail 'a job does not serve its node'
for other in $web_user $job_user 64903; do [ -z "$(answer_to $other)" ] || fail "a job serves user $other"; done
chmod 660 job.sock

# As root a restored node is given to its users again, where nobody else could have prepared the folder.
"$partita" node backup north.backup --at north --passphrase-fd 3 3< <(phrase) >/dev/null
"$partita" node restore north.backup restored --passphrase-fd 3 3< <(phrase) | says 'belong to the users' || fail 'not given'
for file in . control run state web dictionaries dictionaries/pupils.toml job/key.pem node.toml; do
  [ "$(stat -c '%U:%G %a' restored/$file)" = "$(stat -c '%U:%G %a' north/$file)" ] || fail "restored $file: $(stat -c '%U:%G %a' restored/$file)"
done
"$partita" node restore north.backup open/restored --passphrase-fd 3 3< <(phrase) | says 'not given to them' || fail 'given'
rm -r restored open/restored

# Two sites of the usual kind.
for name in west south; do
  port[$name]=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" --steward $name-steward \
    --passphrase-fd 3 3< <(phrase) >/dev/null
  printf '\n[[table]]\nname = "pupils"\ndata = "%s/%s/data.csv"\n' "$example" $name >>$name/node.toml
  serve $name
done
joins north west
joins north south
joins west south

# A study that the steward approves through the signer, and one that its policy does.
sed '/^# Hands out/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$example/study.toml" >study.toml
study() {  # NAME
  "$partita" study run study.toml --at north --output "$1" --yes >"$1.out" 2>"$1.err" &
  running=$!
}
study results
for name in north west south; do until_true "$name approves" approves $name three-factor-rows; done
wait "$running" || fail "the study failed: $(tail -n 3 results.err)"
[ -s results/result.json ] || fail 'no result'
# What a job left of the study: the node may list it, and read these.
folder=$(ls -d north/run/*/)
shown=$(cd "$folder" && find . -mindepth 1 -perm /077 -printf '%P %m %g\n' | sort)
diff - <(echo "$shown") <<SHOWN || fail 'the node may read something else of a study'
draft.json 640 $node_user
result 2750 $node_user
result/report.html 640 $node_user
result/result.json 640 $node_user
statement 640 $node_user
table 640 $node_user
SHOWN
[ -z "$(find north/run ! -uid $job_user)" ] || fail "not the jobs': $(find north/run ! -uid $job_user)"
[ -z "$(find north/run -maxdepth 1 -type f -perm /077)" ] || fail 'what was served is not the jobs alone'
for file in approval.secret.json run.key.pem; do [ ! -e "$folder/$file" ] || refused $node_user cat "$work/$folder/$file"; done
refused $node_user cat "$work/$folder/attempt"
(as $node_user cat "$work/$folder/result/result.json") >/dev/null || fail 'the node cannot read the result'
[ -z "$(find lists ! -uid $sign_user)" ] || fail "not the signer's: $(find lists ! -uid $sign_user)"
[ -z "$(find steward ! -uid $sign_user)" ] || fail "not the signer's: $(find steward ! -uid $sign_user)"
[ "$(ls tables)" = pupils.csv ] || fail "beside the table: $(ls tables)"
ls north/run/rows-*.row-sets >/dev/null || fail 'no record of the rows that were served'
[ -s lists/parties ] || fail 'no list of parties was published'

# The node gives orders to nobody else: not where another user listens, and it takes no word of a job of another user.
ask_for_tables() {
  perl -MIO::Socket::UNIX -e '
    my $node = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => shift) or die;
    my $request = q({"do": "tables", "budgets": false});
    print $node pack("V", length $request), $request;
    local $/;
    print <$node>' "$work/north/control/control.sock"
}
ask_for_tables | says '"pupils"' || fail 'no job looks at the tables'
kill "${pid[jobs]}"
perl -MSocket -MPOSIX -e '
  my ($path, $user, $heard) = @ARGV;
  socket my $listener, AF_UNIX, SOCK_STREAM, 0 or die;
  unlink $path;
  bind $listener, pack_sockaddr_un($path) or die;
  chmod 0666, $path;
  POSIX::setgid($user) && POSIX::setuid($user) or die;
  listen $listener, 8 or die;
  while (accept my $caller, $listener) { print "called\n"; sysread $caller, my $bytes, 1 and print "heard\n" }
' "$work/job.sock" 64903 >heard.out 2>/dev/null &
pid[other]=$!
until_true 'the socket of somebody else' sh -c "grep -q '$work/job.sock' /proc/net/unix"
until_true 'the refusal of somebody else' sh -c "$(declare -f ask_for_tables); work=$work; ask_for_tables | grep -q 'neither root nor the'"
[ ! -s heard.out ] || ! grep -q heard heard.out || fail 'an order was sent to somebody else'
kill "${pid[other]}"
perl "$1/tests/node/daemon/accept_jobs.pl" "$work/job.sock" $node_user 64903 $job_user \
  perl -e 'open my $node, ">&=", 3; syswrite $node, q({"tables": []}); 1 while sysread $node, my $rest, 1' 2>>jobs.log &
pid[jobs]=$!
until_true 'the refusal of another job' sh -c "$(declare -f ask_for_tables); work=$work; ask_for_tables | grep -q 'from another user than'"
