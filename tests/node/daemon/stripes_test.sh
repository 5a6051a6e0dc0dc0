#!/usr/bin/env bash
# stripes_test.sh SOURCES BUILD: three real nodes run a study with stripes to the same bits as it has without; the
# plan that stewards approve says so. With PARTITA_THOROUGH=1 also: a job, and a node, that is killed in the middle of the
# stripes ends the attempt at all, nothing has opened, and the next attempt has the result. Prints what differs and exits
# with 1.
set -euo pipefail
partita=$2/bin/partita
source "$(dirname "$0")/nodes.sh"

rows=2100
[ -z "${PARTITA_THOROUGH:-}" ] || rows=200000
perl -e '
  my ($rows) = @ARGV;
  my %of = (north => [["y", 17], ["x", 29]], west => [["u", 41]], south => [["v", 53]]);
  for my $site (keys %of) {
    open my $file, ">", "$site.csv" or die;
    print $file join(",", "id", map { $_->[0] } @{$of{$site}}), "\n";
    for my $row (0 .. $rows - 1) {
      print $file join(",", sprintf("k%05d", $row), map { ($row * $_->[1] % 101) / 10 } @{$of{$site}}), "\n";
    }
  }' $rows
study() {  # STRIPES NAME
  printf 'partita = 1\nname = "%s"\n' "$2"
  printf '[[party]]\nname = "north"\nroles = ["holder", "receiver"]\ncolumns = ["y", "x"]\n'
  printf '[[party]]\nname = "west"\nroles = ["holder"]\ncolumns = ["u"]\n'
  printf '[[party]]\nname = "south"\nroles = ["holder"]\ncolumns = ["v"]\n'
  printf '[[rows]]\nname = "all"\ncount = %d\n[table]\nkey = "id"\n' $rows
  printf '[[variable]]\nname = "%s"\ntype = "numeric"\nlower = 0\nupper = 11\n' y x u v
  printf '[engine]\nname = "replicated"\nstripes = %d\n' "$1"
  printf '[design]\nsite = "ignore"\nmissing = "refuse"\n'
  printf '[[analysis]]\nmethod = "mle"\nprotocol = "pooled-moments"\nfunction = "regression"\n'
  printf 'model = "y ~ x + u + v"\nrelease = ["moments"]\n'
}
study 2 striped >striped.toml
study 1 whole >whole.toml
analyses() { perl -MJSON::PP -e 'local $/; print JSON::PP->new->canonical->encode(decode_json(<STDIN>)->{analyses})' <"$1"; }

for name in north west south; do
  port[$name]=$(free_port)
  "$partita" node init $name --name $name --address "127.0.0.1:${port[$name]}" --steward $name-steward \
    --passphrase-fd 3 3< <(phrase) >/dev/null
  opens_at_once $name-steward
  printf '\n[[table]]\nname = "people"\ndata = "%s/%s.csv"\n' "$work" $name >>$name/node.toml
  serve $name
done
joins north west
joins north south
joins west south

runs() {  # STUDY: from proposal to approvals; its result is in STUDY/
  "$partita" study run "$1.toml" --at north --output "$1" --yes >"$1.out" 2>"$1.err" &
  running=$!
  for name in north west south; do
    until_true "$1 at $name" sh -c "'$partita' node studies --at $name | grep -q '$1.*settled'"
    until_true "$name's approval of $1" approves $name "$1"
    cp $name-approved.txt "$1-$name.txt"
  done
}
runs whole
wait "$running" || fail "whole: $(tail -n 3 whole.err)"
runs striped
wait "$running" || fail "striped: $(tail -n 3 striped.err)"
for name in north west south; do
  tr -s ' \n' ' ' <striped-$name.txt | says 'computed in 2 stripes' || fail "$name approves without seeing stripes"
  ! tr -s ' \n' ' ' <whole-$name.txt | says ' stripes, ranges' || fail 'stripes of a study that has none'
done
analyses whole/result.json >whole.json
analyses striped/result.json >striped.json
[ -s whole.json ] || fail 'no analyses'
cmp whole.json striped.json || fail 'another result in stripes'
"$partita" node audit --at west --study striped >audit.txt
[ "$(grep -c ' run-begin ' audit.txt)" = 1 ] || fail "more than one attempt: $(cat audit.txt)"
[ -n "${PARTITA_THOROUGH:-}" ] || exit 0

in_stripes() { grep -q ', stripe ' "$1.err"; }  # STUDY: as its proposer is told
finishes_again() {  # STUDY: after an attempt that ended in its stripes and opened nothing
  wait "$running" || fail "$1: $(tail -n 3 "$1.err")"
  analyses "$1/result.json" >again.json
  cmp whole.json again.json || fail "another result of $1"
  for name in north west south; do
    "$partita" node audit --at $name --study "$1" >audit.txt
    [ "$(grep -c ' run-end ' audit.txt)" = 2 ] || fail "not two attempts at $name: $(cat audit.txt)"
  done
}
study 190 job-gone >job-gone.toml
runs job-gone
until_true 'the stripes' in_stripes job-gone
kill -KILL $(pgrep -P "${pid[south]}")
finishes_again job-gone

study 190 node-gone >node-gone.toml
runs node-gone
until_true 'the stripes' in_stripes node-gone
kill -KILL "${pid[north]}"
wait "${pid[north]}" 2>/dev/null || true
serve north
"$partita" study follow node-gone --at north --output node-gone >node-gone.out 2>node-gone.err &
running=$!
finishes_again node-gone
