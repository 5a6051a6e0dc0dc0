#!/usr/bin/env bash
# kill_points_slow_test.sh SOURCES BUILD: kill_points_test.sh at all its points.
set -euo pipefail
PARTITA_THOROUGH=1 exec bash "$(dirname "$0")/kill_points_test.sh" "$@"
