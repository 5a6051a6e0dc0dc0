#!/usr/bin/env bash
# A hundred studies at three real nodes: queue_test.sh SOURCE BUILD [STUDIES].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PARTITA_STUDIES=${3:-100} PARTITA_PROGRAM=$2/bin/partita PARTITA_SITES_FOLDER=$folder \
  node --test-reporter=spec "$1/tests/web/queue_test.mjs"
