#!/usr/bin/env bash
# services_slow_test.sh SOURCES BUILD: a site as its services run it: node and signer under users of their own, the
# signer without network, the files of units that systemd takes. From an invitation to a result with a site of
# the usual kind. Needs root, for it starts programs as other users.
set -euo pipefail
partita=$2/bin/partita
example=$1/examples/three_factor/horizontal
source "$(dirname "$0")/nodes.sh"
[ "$(id -u)" = 0 ] || fail 'starting programs as other users takes root'
command -v systemd-analyze >/dev/null || fail 'needs systemd-analyze: apt install systemd'
node_user=64901 sign_user=64902
as() {  # USER COMMAND...
  local user=$1
  shift
  exec setpriv --reuid="$user" --regid="$user" --clear-groups env -i PATH="$PATH" "$@"
}
refused() {  # USER COMMAND...
  if (as "$@") >/dev/null 2>&1; then fail "user $1 could: ${*:2}"; fi
}
chmod 755 "$work"

# What systemd takes without a word.
mkdir units
for unit in "$1"/services/*.service; do
  sed "s#/usr/bin/partita#$partita#" "$unit" >"units/$(basename "$unit")"
done
systemd-analyze verify --man=no units/*.service >out 2>&1 || fail "units: $(cat out)"
[ ! -s out ] || fail "units: $(cat out)"

# One command makes both folders. It gives away nothing that somebody else could have put there.
install -d -o $sign_user -m 755 run
port[north]=$(free_port)
init() {
  "$partita" node init "$1" --name north --address "127.0.0.1:${port[north]}" --steward "$work/steward" \
    --services --node-user $node_user --sign-user $sign_user --socket "$work/run/sign.sock" \
    --setup-code --passphrase-fd 3 3< <(phrase)
}
install -d -m 777 open
expect_error "is not root's alone" init open/north
mkdir there
expect_error 'there is there already' init there
expect_error "there is no user 'nobody-here'" "$partita" node init north --name north --address 127.0.0.1:1 \
  --steward steward --services --node-user nobody-here
(
  as $node_user "$partita" node init "$work/north" --name north --address 127.0.0.1:1 --steward "$work/steward" \
    --services --node-user $node_user --sign-user $sign_user
) >out 2>err && fail 'a user gave folders away'
grep -q 'only root can give' err || fail "$(cat err)"
init north >init.out
grep -q 'systemctl enable --now partita-sign partita-node partita-web' init.out || fail "$(cat init.out)"
[ -z "$(find north ! -uid $node_user)" ] || fail "not the node's: $(find north ! -uid $node_user)"
[ -z "$(find steward lists ! -uid $sign_user)" ] || fail "not the signer's: $(find steward lists ! -uid $sign_user)"
# Its table lies in a folder of others, which it may read.
install -d -m 755 tables
install -m 644 "$example/north/data.csv" tables/pupils.csv
printf '\n[[table]]\nname = "pupils"\ndata = "%s/tables/pupils.csv"\n' "$work" >>north/node.toml

# The processes, as the units start them.
signer[north]=$work/run/sign.sock
(export -f as && exec unshare --net bash -c "as $sign_user '$partita' node sign '$work/steward'") 2>sign.log &
pid[sign]=$!
until_true "north's signer" test -S run/sign.sock
(as $node_user "$partita" node serve "$work/north") 2>north.log &
pid[north]=$!
until_true 'node north' "$partita" node status --at north
port[web]=$(free_port)
# Without what its unit hides from it.
(export -f as && exec unshare --mount bash -c "
  mount --bind /dev/null north/key.pem && mount -t tmpfs none north/run && mount -t tmpfs none north/job &&
  as $node_user '$partita' node web '$work/north' --listen '127.0.0.1:${port[web]}' --sign '$work/run/sign.sock'") 2>web.log &
pid[web]=$!
until_true "north's pages" grep -q '"pages"' web.log
refused $node_user cat steward/steward.key
refused $node_user touch lists/ended
refused $sign_user cat north/key.pem
refused $sign_user "$partita" node status --at "$work/north"
refused 64903 "$partita" node policy list --sign "$work/run/sign.sock"

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
[ "$(stat -c %u north/run)" = $node_user ] || fail "the folder of runs is not the node's"
[ -z "$(find lists ! -uid $sign_user)" ] || fail "not the signer's: $(find lists ! -uid $sign_user)"
[ -z "$(find steward ! -uid $sign_user)" ] || fail "not the signer's: $(find steward ! -uid $sign_user)"
[ "$(ls tables)" = pupils.csv ] || fail "beside the table: $(ls tables)"
ls north/run/rows-*.row-sets >/dev/null || fail 'no record of the rows that were served'
[ -s lists/parties ] || fail 'no list of parties was published'
