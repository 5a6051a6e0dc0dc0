#!/usr/bin/env bash
# The pages link what is there and name commands and options that there are (tools/check_docs), and
# the check says so when one does not.
set -u
source_dir=$1
build=$2
source "$(dirname "$0")/check.sh"
check=$source_dir/tools/check_docs
expect 0 "$build/bin/partita" generate man "$work/man"
expect 0 "$check" "$source_dir" "$work/man"
echo "$out"

tree=$work/tree
mkdir -p "$tree/docs" "$tree/tools" "$tree/tests" "$tree/cmake"
# page TEXT COMPLAINT: what is said of a page with that text; none: nothing.
page() {
  printf '# Title of `it`\n\n%s\n' "$1" >"$tree/docs/page.md"
  printf '[page](page.md)\n' >"$tree/docs/README.md"
  if [ -z "${2:-}" ]; then
    expect 0 "$check" "$tree" "$work/man"
  else
    expect 1 "$check" "$tree" "$work/man"
    expect_output "$2"
  fi
}
page 'See [here](page.md#title-of-it), [there](../docs/page.md), [the web](https://example.org).'
page 'See [here](gone.md).' 'docs/page.md:3: nothing is at gone.md'
page 'See [here](#gone).' 'docs/page.md has no heading #gone'
page '    partita study plan study.toml --format json | less --nosuch'
page '    partita study plan study.toml --nosuch' "'partita study plan' has no option --nosuch"
page '    partita study nosuch study.toml' "there is no command 'partita study nosuch'"
page '    partita study plan study.toml \
      --nosuch' "has no option --nosuch"
page '```
partita nosuch
```' "there is no command 'partita nosuch'"
page 'Say `partita study nosuch`.' "there is no command 'partita study nosuch'"
page 'Say `--format`.'
page 'Say `--nosuch`.' 'no command has an option --nosuch'
echo >"$tree/docs/other.md"
expect 1 "$check" "$tree"
expect_output 'docs/README.md:1: does not link other.md'
finish
