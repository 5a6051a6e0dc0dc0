#!/usr/bin/env bash
# stripes_slow_test.sh SOURCES BUILD: stripes_test.sh at all its points.
set -euo pipefail
PARTITA_THOROUGH=1 exec bash "$(dirname "$0")/stripes_test.sh" "$@"
