#!/usr/bin/env bash
# Three real nodes and their pages in Chromium: real_nodes_test.sh SOURCE BUILD.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PARTITA_PROGRAM=$2/bin/partita PARTITA_SITES_FOLDER=$folder node --test-reporter=spec "$1/tests/web/real_nodes_test.mjs"
