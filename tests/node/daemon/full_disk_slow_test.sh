#!/usr/bin/env bash
# full_disk_slow_test.sh SOURCES BUILD: the disk of one of three nodes is full while a study is proposed and
# approved. It says so, loses nothing, and goes on once there is room. Needs root, for a small disk of its own.
# Prints what differs and exits with 1.
set -euo pipefail
[ "$(id -u)" = 0 ] || {
  echo "$(basename "$0") needs root: it mounts a small disk" >&2
  exit 1
}
[ "${OWN_MOUNTS:-}" = 1 ] || OWN_MOUNTS=1 exec unshare --mount "$0" "$@"
partita=$2/bin/partita
example=$1/examples/three_factor/horizontal
here=$(dirname "$(readlink -f "$0")")
source "$here/nodes.sh"

mkdir disk
mount -t tmpfs -o size=4m,mode=700 tmpfs disk
tidy() {
  umount --lazy disk || true
  finish
}
trap tidy EXIT
for name in north west south; do
  port[$name]=$(free_port)
  folder=$name
  [ $name != south ] || folder=disk/south
  "$partita" node init $folder --name $name --address "127.0.0.1:${port[$name]}" \
    --steward $name-steward --passphrase-fd 3 3< <(phrase) >/dev/null
  [ $name != south ] || ln -s disk/south south
  printf '\n[[table]]\nname = "pupils"\ndata = "%s/%s/data.csv"\naccount = "pupils"\n' \
    "$example" $name >>$name/node.toml
  sed -i '1i ledger = "ledger.sqlite"' $folder/node.toml
  sed -i "1i signer = \"$work/$name-steward/sign.sock\"" $folder/node.toml
  "$partita" ledger open $name/ledger.sqlite --table pupils --epsilon 1 --delta 1e-6 --exact allowed >/dev/null 2>&1
  serve $name
done
sed '/^# Hands out/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$example/study.toml" >study.toml
joins north west
joins north south
until_true 'the introduction of south' sh -c "'$partita' node parties --at west | grep -q 'accept south'"
until_true 'the introduction of west' sh -c "'$partita' node parties --at south | grep -q 'accept west'"
as_steward accept west south --yes >/dev/null 2>&1
as_steward accept south west --yes >/dev/null 2>&1

sed '/^# Hands out/,/^$/d; s/^name = "dealer"/name = "replicated"/' "$example/study.toml" >study.toml
fill() { dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null || true; }
waits() { "$partita" node studies --at "$1" | says settled; }
ended() { ! kill -0 "${pid[south]}" 2>/dev/null; }

# While a study comes: the node says why and ends, and its site counts as one that has not answered.
fill
"$partita" study run study.toml --at north --output results --yes >run.out 2>run.err &
running=$!
until_true 'the end of the node whose disk is full' ended
if wait "${pid[south]}"; then fail 'a node that cannot write ended well'; fi
grep -q 'database or disk is full' south.log || fail 'the log of south does not say why'
grep -q 'the node cannot write its state' south.log || fail 'south does not say what is wrong'
until_true 'what is missing' grep -q 'not checked yet at south' run.err
# Started again it does no better, and nobody sees another state.
if timeout 20 "$partita" node serve south 2>again.log; then fail 'it serves on a full disk'; fi
grep -q 'database or disk is full' again.log || fail "a start on a full disk: $(cat again.log)"
rm disk/filler
serve south
for name in north west south; do until_true "the study at $name" waits $name; done

# While its steward approves: no word leaves that the node does not keep, and with room it is said again.
fill
until_true 'the approval of west' approves west three-factor-rows
until_true 'the approval of north' approves north three-factor-rows
until_true 'the end of the node whose disk is full again' ended
if approves south three-factor-rows 2>/dev/null; then fail 'an approval of a site whose disk is full'; fi
kill -0 "$running" 2>/dev/null || fail "the study ended without south: $(cat run.err)"
rm disk/filler
serve south
until_true 'the approval of south' approves south three-factor-rows
wait "$running" || fail "the study: $(cat run.err)"
[ -s results/result.json ] || fail 'no result'
"$partita" node audit --verify --at south >/dev/null || fail 'the log of south does not hold'
