# shellcheck shell=bash
# Shared by the shell tests: a temporary folder in $work, and checks that count what fails.
# Usage: source check.sh; ...; finish
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# expect STATUS COMMAND...: runs it; its output is in $out afterwards.
expect() {
  local wanted=$1 status=0
  shift
  out=$("$@" 2>&1 </dev/null) || status=$?
  [ "$status" -eq "$wanted" ] || fail "'$*' ended with $status instead of $wanted; it said: $out"
}

# expect_output TEXT / expect_no_output TEXT: about $out.
expect_output() {
  case "$out" in *"$1"*) ;; *) fail "expected '$1' in: $out" ;; esac
}
expect_no_output() {
  case "$out" in *"$1"*) fail "did not expect '$1' in: $out" ;; esac
}

finish() {
  [ "$failures" -eq 0 ] || exit 1
  echo "all checks passed"
}
