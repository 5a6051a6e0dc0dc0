#!/usr/bin/env bash
# The way of three institutions from nothing to a result, with the commands of
# docs/how-to-run-between-hosts.md as they stand there: in separate folders, on loopback.
set -u
source_dir=$1
program=$2/bin
source "$source_dir/tests/tools/check.sh"
guide=$source_dir/docs/how-to-run-between-hosts.md
export PATH=$program:$PATH HOME=$work

# commands WORDS: the guide's commands with these words, "north partita ...", in order.
commands() {
  "$source_dir/tests/cli/page_steps.pl" "$guide" | sed -n 's/^C\t\([a-z]*\)\t/\1 /p' | grep " partita $1"
}

# A port for each, free now: addresses of the guide become loopback.
port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1")->sockport'; }
addresses=
for party in north south helper; do
  mkdir "$work/$party"
  addresses+="s/$party\\.example\\.org:7400/127.0.0.1:$(port)/; "
done

# in_folder PARTY COMMAND...: as the party would, in its folder.
in_folder() { (cd "$work/$1" && eval "$(sed "$addresses" <<<"$2")"); }

declare -A count
run() {
  local party=${1%% *} command=${1#* }
  count[$party]=$((${count[$party]:-0} + 1))
  expect 0 in_folder "$party" "$command"
}

# The tables: what each holder has before it hears of Partita.
expect 0 partita study new "$work/template.toml" --commented --partition horizontal
expect 0 partita data mock --study "$work/template.toml" --output "$work" --rows 200

while read -r line; do run "$line"; done < <(commands init)
grep -q 'name = "x1"' "$work/south/dictionary.toml" || fail 'no draft of the dictionary'
[ "$(stat -c %a "$work/south/key.pem" "$work/south/dictionary.toml" | sort -u)" = 600 ] ||
  fail 'others may read what is the owner'"'"'s'
[ ! -e "$work/helper/dictionary.toml" ] || fail 'a dictionary without a table'
while read -r line; do run "$line"; done < <(commands 'study new')
# It is valid, and runs on made-up rows.
expect 0 in_folder north 'partita study validate study.toml'
expect 0 in_folder north 'partita study rehearse study.toml'
# At a terminal the same questions, answered, make the same file. Without one what is missing is named.
printf '%s\n' 'north south' '' helper dictionary.toml '' '' 'visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6' '' '' \
  0..10 0..10 0..10 0..10 0..10 0..10 '' '' '' >"$work/answers"
(cd "$work/north" && script -qec 'partita study new asked.toml --name study' /dev/null <"$work/answers" >"$work/asked" 2>&1)
cmp "$work/north/asked.toml" "$work/north/study.toml" || fail "answers make another file: $(cat "$work/asked")"
expect 2 in_folder north 'partita study new unasked.toml --party north'
expect_output 'something is missing: --dictionary FILE, --model VALUE'
[ ! -e "$work/north/unasked.toml" ] || fail 'a study file although something is missing'
expect 2 in_folder north 'partita study new wrong.toml --party north,south --dictionary study.toml --model "x1 ~ x22"'
expect_output "this makes no valid study: model: the analysis uses 'x22'"
[ ! -e "$work/north/wrong.toml" ] || fail 'a study file that is not valid'
# Mail.
cp "$work"/south/south.card.toml "$work"/helper/helper.card.toml "$work/north"
while read -r line; do run "$line"; done < <(commands 'study bundle')
for party in south helper; do cp "$work/north/study.bundle.json" "$work/$party"; done
while read -r line; do run "$line"; done < <(commands 'study open')
for party in south helper; do
  for file in study.toml roster.toml; do
    cmp -s "$work/north/$file" "$work/$party/$file" || fail "$party has another $file than north"
  done
done

# Together, answering at no terminal.
mapfile -t joins < <(commands 'study join')
[ "${#joins[@]}" = 3 ] || fail "the guide lets ${#joins[@]} parties join"
for line in "${joins[@]}"; do
  party=${line%% *}
  count[$party]=$((${count[$party]} + 1))
  in_folder "$party" "${line#* } --yes --wait 60s" >"$work/$party/out" 2>"$work/$party/err" &
done
for _ in "${joins[@]}"; do
  wait -n || fail "a party failed: $(tail -n 5 "$work"/*/err)"
done
[ -s "$work/north/result.json" ] || fail 'the receiver has no result'
[ ! -e "$work/south/result.json" ] || fail 'who is no receiver has a result'
grep -q 'Who learned what' "$work/north/out" || fail 'the receiver is not told who learned what'
for party in north south helper; do
  echo "$party: ${count[$party]} commands"
  [ "${count[$party]}" -le 5 ] || fail "$party needs ${count[$party]} commands"
  grep -q 'What will be signed' "$work/$party/out" || fail "$party was not shown what it signs"
done

# The approval was for one run, which is said before anybody is waited for; the certificate says who signs anew.
expect 3 in_folder helper 'partita study join study.toml --approve --yes --wait 1s'
expect_output 'was signed before, for one run, of which none is left'
expect 0 in_folder helper 'partita study approve study.toml --yes --force'
expect_output 'party helper approves the study'
expect 3 in_folder helper 'partita study join study.toml --approve --yes --wait 1s'
expect_output 'was signed before; going on with it'

# Again in the same folders: nothing is replaced unasked.
expect 2 in_folder north 'partita init --party north --address 127.0.0.1:7400'
expect_output 'key.pem is there already'
echo '# another' >>"$work/south/study.toml"
expect 2 in_folder south 'partita study open study.bundle.json'
expect_output 'study.toml is there already, and is another'
expect 0 in_folder south 'partita study open study.bundle.json --force'
cmp -s "$work/north/study.toml" "$work/south/study.toml" || fail '--force did not replace the study file'

# A roster with another certificate of a party is replaced, but not without a word.
mkdir "$work/again"
expect 0 in_folder again 'partita init --party helper --address 127.0.0.1:7400'
expect 0 in_folder north 'partita study bundle study.toml --card north.card.toml --card south.card.toml --card ../again/helper.card.toml --output other.json'
expect 0 in_folder south 'partita study open ../north/other.json --force'
expect_output 'helper had the certificate'
expect_no_output 'north had the certificate'
rm "$work/north/other.json"

# Who is not in it, and what was changed on the way.
mkdir "$work/east"
expect 0 in_folder east 'partita init --party east --address 127.0.0.1:7400'
expect 2 in_folder east 'partita study open ../north/study.bundle.json'
expect_output 'lists no party with the certificate of this folder'
[ ! -e "$work/east/study.toml" ] || fail 'a bundle for others left its study file'
sed 's/upper = 10\\n/upper = 99\\n/' "$work/north/study.bundle.json" >"$work/south/changed.json"
cmp -s "$work/north/study.bundle.json" "$work/south/changed.json" && fail 'nothing was changed'
expect 5 in_folder south 'partita study open changed.json'
expect_output 'was changed after it was signed'
expect 2 in_folder north 'partita study bundle study.toml --card north.card.toml --card south.card.toml --output other.json'
expect_output "no card of party 'helper'"
finish
