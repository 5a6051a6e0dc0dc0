#!/usr/bin/env bash
# docs/tutorial.md: every command of the page runs, each party in a folder and as processes of its own, and
# each line that the page shows is printed, in that order, but for what differs from run to run (times,
# hashes, ports). The first result takes a party five commands at most.
set -u
source_dir=$1
program=$2/bin
source "$source_dir/tests/tools/check.sh"
page=$source_dir/docs/tutorial.md
export PATH=$program:$PATH HOME=$work
ln -s "$source_dir" "$work/partita"
steps=$work/steps
"$source_dir/tests/cli/page_steps.pl" "$page" >"$steps"

# A port that is free now for each address of the page.
ports=
while read -r address; do
  free=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1")->sockport')
  ports+="s/$address\\b/127.0.0.1:$free/; "
done < <(grep -oE '127\.0\.0\.1:[0-9]+' "$page" | sort -u)

# in_folder PARTY COMMAND: as the party would, in its folder; `you` is outside of all.
in_folder() {
  local folder=$work
  [ "$1" = you ] || folder+=/$1
  (cd "$folder" && eval "$(sed "$ports" <<<"$2")")
}

# Commands of `study join` run beside each other, until another one comes.
number=0 running=()
declare -A count
wait_for_all() {
  local pid
  for pid in "${running[@]}"; do
    wait "$pid" || fail "a party failed: $(tail -n 5 "$work"/error.*)"
  done
  if [ "${#running[@]}" -gt 0 ] && [ -z "${first_counts:-}" ]; then
    first_counts=$(for party in "${!count[@]}"; do echo "$party ${count[$party]}"; done)
  fi
  running=()
}
: >"$work/shown.0"
while IFS=$'\t' read -r kind who text; do
  if [ "$kind" = O ]; then
    printf '%s\n' "$who${text:+	$text}" >>"$work/shown.$number"
    continue
  fi
  number=$((number + 1))
  : >"$work/shown.$number"
  case "$text" in 'partita study join '*) ;; *) wait_for_all ;; esac
  count[$who]=$((${count[$who]:-0} + 1))
  case "$text" in
    'partita study join '*)
      in_folder "$who" "$text --yes --wait 60s" >"$work/printed.$number" 2>"$work/error.$number" </dev/null &
      running+=($!)
      ;;
    *)
      expect 0 in_folder "$who" "$text"
      printf '%s\n' "$out" >"$work/printed.$number"
      ;;
  esac
done <"$steps"
wait_for_all

plain() {
  sed -E 's/[0-9.,]+ (B|kB|MB|ms|s|us)\b/_/g; s/\b[0-9a-f]{64}\b/_/g; s/127\.0\.0\.1:[0-9]+/_/g
    s/20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9:]+Z?/_/g; s/ +/ /g; s/^ //; s/ $//'
}
shown=0
for ((i = 1; i <= number; i++)); do
  plain <"$work/printed.$i" >"$work/plain"
  at=1
  while IFS= read -r line; do
    [ "$line" != ... ] || continue
    shown=$((shown + 1))
    found=$(tail -n "+$at" "$work/plain" | grep -nF -- "$line" | head -n 1 | cut -d: -f1)
    if [ -z "$found" ]; then
      fail "the page shows '$line' below $(grep '^C' "$steps" | sed -n "${i}p"), which is not printed (or not there): $(tail -n "+$at" "$work/plain" | head -n 40)"
    else
      at=$((at + found))
    fi
  done < <(plain <"$work/shown.$i")
done
[ "$shown" -ge 60 ] || fail "the page shows $shown lines of output only"

# Five commands for the first result; the copies are mail.
for party in north south west; do
  commands=$(sed -n "s/^$party //p" <<<"${first_counts:-}")
  echo "$party: $commands commands"
  [ "${commands:-9}" -le 5 ] || fail "$party needs $commands commands for a first result"
done
[ ! -e "$work/south/result.json" ] || fail 'who is no receiver has a result'
for study in study private; do
  grep -q "^signed: approval-$study-south.json" "$work"/error.* || fail "south did not sign $study"
done

# What was seen in the tables is in no file that travels.
! grep -q '#!' "$work"/*/study.toml "$work"/*/*.bundle.json ||
  fail 'a file for others says what is in a table'
! grep -q '^#!' "$work/clinic/lab.dictionary.toml" || fail 'a dictionary for others has what is for its owner'
[ "$(wc -l <"$work/clinic/study.toml")" -le 60 ] || fail 'the study file is not short'
finish
