#!/usr/bin/env bash
# A node and its pages under load: load_test.sh SOURCE BUILD.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PARTITA_PROGRAM=$2/bin/partita PARTITA_SITES_FOLDER=$folder node --test-reporter=spec "$1/tests/web/load_test.mjs"
