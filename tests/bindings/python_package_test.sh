#!/usr/bin/env bash
# The Python package: its types hold (mypy --strict), its tests pass, and what is built of it can be
# imported from elsewhere.
set -u
source "$(dirname "$0")/../tools/check.sh"
source_dir=$1
build=$2
python=/usr/bin/python3
cp -r "$source_dir/bindings/python" "$work/python"
cd "$work/python" || fail 'no folder'
export PARTITA=$build/bin/partita PARTITA_RECORDED=$source_dir/bindings/recorded PYTHONDONTWRITEBYTECODE=1

expect 0 "$python" -m mypy --cache-dir "$work/mypy"
expect_output 'no issues found'
expect 0 env PYTHONPATH=src "$python" -W error -m unittest discover -s . -t .
expect_output OK
expect_no_output skipped

# Every name that the package says it has, it has; the page for its users runs.
expect 0 env PYTHONPATH=src "$python" -c 'import partita; [getattr(partita, name) for name in partita.__all__]'
"$source_dir/tests/bindings/page_code" python "$source_dir/docs/python.md" >"$work/page.py"
cp -r "$source_dir/examples/readmission" "$work/readmission"
cd "$work" || fail 'no folder'
expect 0 env PYTHONPATH="$work/python/src" "$python" -W error page.py
finish
