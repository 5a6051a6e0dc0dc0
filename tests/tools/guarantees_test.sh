#!/usr/bin/env bash
# Every sentence that promises something is on docs/guarantees.md, and tools/check_guarantees says so
# when one is not.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
check=$source_dir/tools/check_guarantees

# A tree of what the check reads.
tree=$work/t
mkdir -p "$tree"
cp -r "$source_dir/src" "$source_dir/docs" "$source_dir/tests" "$source_dir/tools" "$source_dir/SECURITY.md" "$tree"
expect 0 "$check" "$tree"
echo "$out"

# changed FILE SED TEXT...: changes that file; `complaints` are what must be said of all changes.
complaints=()
changed() {
  local file=$tree/$1 script=$2
  shift 2
  cp "$file" "$work/kept"
  sed -i "$script" "$file"
  cmp -s "$file" "$work/kept" && fail "nothing changed in $file"
  complaints+=("$@")
}

# A new sentence in a file of statements, whatever its words, also over two lines.
changed src/methods/mixture/statement.cc 's|^  AddOthers(steps, audience, statement);|&\n  statement.caveats.emplace_back("Pigs fly "\n      "over the {} moon.");|' \
  'src/methods/mixture/statement.cc:' 'not in docs/guarantees.md: Pigs fly over the {} moon.'
# A promise anywhere else, also in a raw literal; a sentence that promises nothing may stand there.
{
  echo 'const char* a = "whatever you do, nobody learns it";'
  echo 'const char* b = R"(this study keeps every row of it to itself)"; // "nobody sees this comment here"'
  echo 'const char* c = "a sentence about the weather";'
  echo 'throw Error(ErrorCode::kUsage, "nobody has such a thing here", "ask nobody about it now");'
} >>"$tree/src/run/weather.cc"
complaints+=('src/run/weather.cc:1: not in docs/guarantees.md: whatever you do, nobody learns it'
  'src/run/weather.cc:2: not in docs/guarantees.md: this study keeps every row of it to itself')
# A changed word is another sentence: the old one is said nowhere, the new one is not listed.
changed src/sums/protocol/sum_statement.cc 's/Who takes part and how many do is public/Who takes part is public/' \
  'not in docs/guarantees.md: Who takes part is public.' 'said nowhere: Who takes part and how many do is public'
changed SECURITY.md 's/stop if they differ/go on if they differ/' 'said nowhere: Parties compare the hashes'
# What the page names must be there.
changed docs/guarantees.md 's|`src/privacy/statement.cc`|`src/privacy/statements.cc`|' 'no such file: src/privacy/statements.cc'
changed docs/guarantees.md 's/`sums_statement_test`/`sums_statements_test`/' 'no such test: sums_statements_test'
changed docs/guarantees.md '/^Assumes: .*max_collude/d' "without 'Assumes:'"
changed docs/guarantees.md '/^- "Every party.s number of rows is public."$/d' \
  "not in docs/guarantees.md: Every party's number of rows is public."
expect 1 "$check" "$tree"
for text in "${complaints[@]}"; do expect_output "$text"; done
expect_no_output 'a sentence about'
expect_no_output 'comment'
expect_no_output 'weather.cc:4'
expect 2 "$check" "$work/nowhere"
finish
