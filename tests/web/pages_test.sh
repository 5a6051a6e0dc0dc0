#!/usr/bin/env bash
# The pages of a node in Chromium: pages_test.sh SOURCE BUILD [PART/PARTS].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PARTITA_PAGES_PART=${3:-1/3} PARTITA_PAGES_FOLDER=$folder node --test-reporter=spec "$1/tests/web/pages_test.mjs"
