#!/usr/bin/env bash
# Other journeys than those of pages_test.sh: pages_second_test.sh SOURCE BUILD.
exec "$1/tests/web/pages_test.sh" "$1" "$2" 2/3
