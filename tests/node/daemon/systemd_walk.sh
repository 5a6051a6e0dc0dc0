# systemd_walk.sh SOURCES BUILD: what systemd_slow_test.sh does where systemd is PID 1: a site as the guide makes it, beside two
# of the usual kind, a study by jobs that the socket starts, a restart of the node and a stop while they run, and what the
# lines of the units leave to each process.
# shellcheck shell=bash
set -euo pipefail
partita=/usr/bin/partita
example=$1/examples/three_factor/horizontal
daemon=$1/tests/node/daemon
source "$daemon/nodes.sh"
home=/var/lib/partita
# What jobs noted of studies, if something failed.
explain() {
  [ "$?" = 0 ] || tail -n +1 $home/node/run/*/problem.txt ./*/run/*/problem.txt >&2 2>/dev/null || true
  finish
}
trap explain EXIT
units=(partita-sign partita-job.socket partita-node partita-web)
chmod 755 "$work"
cc -shared -fPIC -O1 -o stop_at.so "$daemon/stop_at.c"
mkdir stop && mkfifo stop/gate

# As the guide says.
port[north]=$(free_port)
partita node init $home/node --name north --address "127.0.0.1:${port[north]}" --services --steward $home/steward --setup-code \
  --passphrase-fd 3 3< <(phrase) >init.out
ln -s $home/node north
signer[north]=/run/partita/sign.sock
install -d -m 755 /srv/tables
install -o partita-job -m 600 "$example/north/data.csv" /srv/tables/pupils.csv
printf '\n[[table]]\nname = "pupils"\ndata = "/srv/tables/pupils.csv"\naccount = "pupils"\n' >>$home/node/node.toml
sed -i '1i ledger = "job/ledger.sqlite"' $home/node/node.toml
setpriv --reuid=partita-job --regid=partita-job --init-groups \
  partita ledger open $home/node/job/ledger.sqlite --table pupils --epsilon 1 --delta 1e-6 --exact allowed >/dev/null
systemctl enable --now "${units[@]}" 2>/dev/null || fail "systemctl: $(systemctl status --no-pager "${units[@]}")"
until_true "north's signer" test -S /run/partita/sign.sock
until_true 'node north' partita node status --at north
ready() {
  printf 'GET /readyz HTTP/1.1\r\nHost: localhost:7443\r\nConnection: close\r\n\r\n' |
    openssl s_client -quiet -connect 127.0.0.1:7443 2>/dev/null >ready.out
  grep -q '^HTTP/1.1 200' ready.out
}
until_true "north's pages" ready
for unit in "${units[@]}"; do
  [ "$(systemctl is-active "$unit") $(systemctl is-enabled "$unit")" = 'active enabled' ] || fail "$unit is not active and enabled"
done

# What the processes are left with: as they run, and what a program in the place of theirs can do (systemd_probe.pl).
process() { systemctl show --property MainPID --value "$1"; }
shows() {  # FIELD PID VALUE: of /proc/PID/status
  [ "$(sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status" | cut -f1)" = "$3" ] || fail "$1 of $(cat "/proc/$2/comm") is not $3"
}
confined() {  # PID USER
  shows Uid "$1" "$(id -u "$2")"
  shows NoNewPrivs "$1" 1
  shows Seccomp "$1" 2
  for set in CapInh CapPrm CapEff CapBnd CapAmb; do shows $set "$1" 0000000000000000; done
  [ "$(nsenter -t "$1" -m ls -A /home /root /tmp | tr -d '\n')" = /home:/root:/tmp: ] || fail "$2 sees homes or /tmp of others"
}
mounts() {  # PID: prints what is hidden, and where it may be written, for whomever: root looks, where the process is
  nsenter -t "$1" -m sh -c "cd $home"' && for it in node/key.pem node node/control node/dictionaries node/job node/run \
      node/state node/web steward lists . /etc /srv/tables /usr/bin /run /run/partita /sys/fs/cgroup; do
    if [ "$(stat -c %a "$it")" = 0 ]; then
      echo "hides $it"
    elif [ -d "$it" ] && touch "$it/probe"; then
      rm "$it/probe"
      echo "writes $it"
    fi
  done' 2>/dev/null
}
left() { diff <(mounts "$1") - || fail "mounts of $2"; }  # PID USER
confined "$(process partita-node)" partita-node
left "$(process partita-node)" partita-node <<LEFT
writes node/control
writes node/dictionaries
hides node/job
writes node/state
hides node/web
hides steward
LEFT
confined "$(process partita-web)" partita-web
left "$(process partita-web)" partita-web <<LEFT
hides node/key.pem
hides node/job
hides node/run
hides node/state
writes node/web
hides steward
LEFT
confined "$(process partita-sign)" partita-sign
left "$(process partita-sign)" partita-sign <<LEFT
hides node
writes steward
writes lists
writes /run/partita
LEFT
[ "$(readlink "/proc/$(process partita-sign)/ns/net")" != "$(readlink /proc/1/ns/net)" ] || fail 'the signer has a network'
probe() {  # UNIT: prints what it can
  local name=probe-${1%%[@.]*}
  sed "s#^ExecStart=.*#ExecStart=/usr/bin/perl $daemon/systemd_probe.pl ${port[north]}\nType=oneshot\nStandardOutput=file:$work/$name\nStandardError=journal#
       /^Restart\|^RuntimeDirectory=/d" "/lib/systemd/system/$1" >"/run/systemd/system/$name.service"
  systemctl daemon-reload
  systemctl start "$name" || fail "$name: $(journalctl --no-pager -u "$name")"
  diff "$work/$name" - || fail "$1 leaves its process something else"
}
probe partita-node.service <<LEFT
reads node/key.pem
reads node/node.toml
reads node/stewards.pem
reads node/state/node.sqlite
writes node/control
writes node/dictionaries
writes node/state
writes /tmp
opens inet
opens unix
connects to the node
LEFT
probe partita-job@.service <<LEFT
reads node/job/key.pem
reads node/node.toml
reads node/stewards.pem
reads /srv/tables/pupils.csv
writes node/job
writes node/run
writes /tmp
opens inet
opens unix
connects to the node
LEFT
probe partita-web.service <<LEFT
reads node/web/accounts.sqlite
writes node/web
writes /tmp
opens inet
opens unix
connects to the node
LEFT
probe partita-sign.service <<LEFT
reads steward/steward.key
writes lists
writes steward
writes /tmp
opens unix
LEFT

# Each connection is a job; one on which no order comes ends with it.
jobs_now() { systemctl list-units --no-legend --plain 'partita-job@*' | cut -d' ' -f1; }
no_jobs() { [ -z "$(jobs_now)" ]; }
one_job() {  # which is the program already
  [ "$(jobs_now | wc -l)" = 1 ] && [ "$(cat "/proc/$(process "$(jobs_now)")/comm")" = partita ]
}
until_true 'the end of the first jobs' no_jobs
setpriv --reuid=partita-node --regid=partita-node --init-groups perl -MIO::Socket::UNIX -e '
  my $job = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => "/run/partita-job.sock") or die;
  sysread $job, my $rest, 1' &
pid[caller]=$!
until_true 'a job' one_job
confined "$(process "$(jobs_now)")" partita-job
left "$(process "$(jobs_now)")" partita-job <<LEFT
hides node/key.pem
writes node/job
writes node/run
hides node/state
hides node/web
hides steward
LEFT
kill "${pid[caller]}"
until_true 'the end of a job that nobody hears' no_jobs
for other in partita-web partita-sign partita-job; do
  if setpriv --reuid=$other --regid=$other --clear-groups perl -MIO::Socket::UNIX -e '
    IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => "/run/partita-job.sock") or exit 1' 2>/dev/null; then
    fail "$other starts jobs"
  fi
done

# Two sites of the usual kind, one of which waits where it is told to.
for name in west south; do
  port[$name]=$(free_port)
  partita node init $name --name $name --address "127.0.0.1:${port[$name]}" --steward $name-steward \
    --passphrase-fd 3 3< <(phrase) >/dev/null
  install -m 600 "$example/$name/data.csv" $name-pupils.csv  # beside it is noted which rows were served
  printf '\n[[table]]\nname = "pupils"\ndata = "%s/%s-pupils.csv"\n' "$work" $name >>$name/node.toml
done
serve west
(export LD_PRELOAD=$work/stop_at.so STOP_AT=$work/stop && exec partita node serve south) 2>south.log &
pid[south]=$!
until_true 'node south' partita node status --at south
joins north west
joins north south
joins west south

# A study whose job at north waits for south's, in the middle of the run.
runs() {  # NAME
  rm -f stop/stopped
  : >stop/hold-after.attempt.2
  sed "/^# Hands out/,/^\$/d; s/^name = \"dealer\"/name = \"replicated\"/; s/^name = \"three-factor-rows\"/name = \"$1\"/" \
    "$example/study.toml" >study.toml
  partita study run study.toml --at north --output "$1" --yes >"$1.out" 2>"$1.err" &
  running=$!
  for name in north west south; do until_true "$name approves" approves $name "$1"; done
  until_true 'a job of south that waits' test -s stop/stopped
  until_true 'a job of north that runs' one_job
}
runs restarted
job=$(jobs_now)
number=$(process "$job")
confined "$number" partita-job
node=$(process partita-node)
kill "$running"
systemctl restart partita-node
[ "$(process partita-node)" != "$node" ] || fail 'the node is the same'
until_true 'node north' partita node status --at north
[ "$(process "$job")" = "$number" ] || fail 'a restart of the node ended its job'
: >stop/gate
partita study follow restarted --at north --output restarted >restarted.out 2>&1 || fail "the study failed: $(tail -n 3 restarted.out)"
[ -s restarted/result.json ] || fail 'no result'
until_true 'the end of the jobs' no_jobs
journalctl --sync
[ "$(journalctl -u "$job" -o cat | grep -c 'Deactivated successfully')" = 1 ] || fail "a job that outlived its node: $(journalctl -u "$job")"

# An emergency stop ends the job by a word on its connection.
runs stopped
number=$(process "$(jobs_now)")
partita node stop --at north >/dev/null
until_true 'the end of the job' no_jobs
[ ! -e "/proc/$number" ] || fail 'the job of a stopped node goes on'
: >stop/gate
wait "$running" && fail 'a study went well that was stopped'
[ ! -e stopped/result.json ] || fail 'a result of a study that was stopped'

# Nothing failed, and everything ends when it is told to.
systemctl stop partita-web partita-node partita-job.socket partita-sign
[ -z "$(systemctl --failed --no-legend --plain 'partita*')" ] || fail "failed: $(systemctl --failed --no-pager 'partita*')"
