#!/usr/bin/env bash
# What the README shows of `partita demo` is what it prints, in that order: each line that is shown, but
# for what differs from run to run (times; bytes of certificates).
set -u
source_dir=$1
program=$2/bin/partita
source "$source_dir/tests/tools/check.sh"
expect 0 env HOME="$work" "$program" demo
plain() { sed -E 's/[0-9.,]+ (B|kB|MB|ms|s|us)\b/_/g; s/ +/ /g; s/^ //; s/ $//'; }
plain <<<"$out" >"$work/printed"

# The block after the sentence that says what it is.
awk '/\(shortened here\):$/ { block = 1; next } block && /^[^ ]/ { exit } block' "$source_dir/README.md" |
  plain | grep -vE '^(\.\.\.)?$' >"$work/shown"
[ "$(wc -l <"$work/shown")" -ge 15 ] || fail 'the README shows no output of the demonstration'

# In order: each line is found behind the one before. "; ..." ends a line that goes on; lines that
# begin where the one before was broken are one.
at=1
while IFS= read -r line; do
  line=${line%; ...}
  found=$(tail -n "+$at" "$work/printed" | grep -nF -- "$line" | head -n 1 | cut -d: -f1)
  if [ -z "$found" ]; then
    fail "the README shows '$line', which is not printed (or not there)"
  else
    at=$((at + found))
  fi
done <"$work/shown"
finish
