#!/usr/bin/env bash
# Every planted bug of the pages is noticed: planted_bugs_test.sh SOURCE BUILD.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
node "$1/tests/web/planted_bugs.mjs" "$folder"
