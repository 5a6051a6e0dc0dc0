#!/usr/bin/env bash
# tools/setup: silent and quick when complete, precise when not. Nothing is installed here: apt-get,
# dpkg-query, npm, sudo and id are doubles that record how they were called.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
setup=$source_dir/tools/setup
unset PARTITA_SKIP_SETUP
bin=$work/bin
mkdir "$bin"

# double NAME <<BODY: a command that is found before the real one.
double() {
  { echo '#!/bin/sh'; cat; } >"$bin/$1"
  chmod +x "$bin/$1"
}
export PARTITA_WEB=$work/web
run_setup() { PATH=$bin:$PATH PARTITA_PACKAGES=$work/packages expect "$@"; }
double node <<<'exit 0'
double npm <<TXT
echo "\$PWD \$*" >>"$work/npm-calls"
[ ! -e "$work/no-registry" ] || { echo 'npm error network'; exit 1; }
mkdir -p node_modules && touch node_modules/.package-lock.json
TXT

# $work/installed is the state of the doubled machine.
double dpkg-query <<TXT
shift 2
for p in "\$@"; do grep -qx "\$p" "$work/installed" && echo "installed \$p"; done
exit 1
TXT
double apt-get <<TXT
echo "\$DEBIAN_FRONTEND \$*" >>"$work/calls"
case "\$*" in
  *' update'*) touch "$work/updated" ;;
  *' install '*)
    [ ! -e "$work/stale" ] || [ -e "$work/updated" ] || exit 100
    [ ! -e "$work/unreachable" ] || { echo 'E: could not resolve'; exit 100; }
    echo beta >>"$work/installed" ;;
esac
TXT
double id <<<'echo 0'
printf '# a comment\nalpha  # why\n\nbeta\n' >"$work/packages"

# Complete: no word, no apt-get.
printf 'alpha\nbeta\n' >"$work/installed"
run_setup 0 "$setup"
[ -z "$out" ] || fail "setup is not silent when complete: $out"
[ ! -e "$work/calls" ] || fail "setup called apt-get though nothing is missing"

# From any folder, and through a link.
ln -s "$setup" "$work/link"
cd / || exit 1
run_setup 0 "$work/link"

# One package is missing: only that one is installed, without questions.
echo alpha >"$work/installed"
run_setup 0 "$setup"
expect_output 'installing 1 packages: beta'
grep -q '^noninteractive -y .*install --no-install-recommends beta$' "$work/calls" ||
  fail "apt-get was called like this: $(cat "$work/calls")"
run_setup 0 "$setup"
[ -z "$out" ] || fail "a second run is not silent: $out"

# Stale lists: update, then install again.
rm -f "$work/updated" "$work/calls"
echo alpha >"$work/installed"
touch "$work/stale"
run_setup 0 "$setup"
[ -e "$work/updated" ] || fail 'apt-get update was not tried'

# The archive cannot be reached: apt-get's own words, and what is missing.
echo alpha >"$work/installed"
touch "$work/unreachable"
run_setup 1 "$setup"
expect_output 'could not resolve'
expect_output 'could not install: beta'
rm "$work/unreachable"

# Neither root nor sudo: says what to do. The search path holds the few tools that setup needs.
echo alpha >"$work/installed"
double id <<<'echo 1000'
for tool in bash sed awk dirname readlink cat mktemp rm grep env tail; do
  [ -e "$bin/$tool" ] || ln -s "$(command -v "$tool")" "$bin/$tool"
done
PATH=$bin PARTITA_PACKAGES=$work/packages expect 1 "$setup"
expect_output 'neither root nor is sudo there'
expect_output 'apt-get install beta'

# sudo that wants a password, and sudo that does not.
double sudo <<<'exit 1'
PATH=$bin PARTITA_PACKAGES=$work/packages expect 1 "$setup"
expect_output 'asks for a password'
double sudo <<TXT
[ "\$1" = -n ] && exit 0
echo used >"$work/sudo-used"
exec "\$@"
TXT
PATH=$bin PARTITA_PACKAGES=$work/packages expect 0 "$setup"
[ -e "$work/sudo-used" ] || fail 'sudo was not used'

# No node and npm on the search path: Debian's are wanted, too.
mkdir "$work/aside"
mv "$bin/node" "$bin/npm" "$work/aside"
echo alpha >"$work/installed"
double sudo <<<'exit 1'
PATH=$bin PARTITA_PACKAGES=$work/packages expect 1 "$setup"
expect_output 'apt-get install beta nodejs npm'
mv "$work/aside"/* "$bin"

# Not Debian: names what is needed, and can be told to go on.
rm "$bin/dpkg-query" "$bin/apt-get"
PATH=$bin PARTITA_PACKAGES=$work/packages expect 1 "$setup"
expect_output 'alpha beta'
PATH=$bin PARTITA_PACKAGES=$work/packages PARTITA_SKIP_SETUP=1 expect 0 "$setup"

# The npm packages: once per package-lock.json, and not without the registry.
printf 'alpha\nbeta\n' >"$work/installed"
double dpkg-query <<<"echo 'installed alpha'; echo 'installed beta'"
double apt-get <<<'exit 1'
mkdir "$work/web"
echo '{}' >"$work/web/package-lock.json"
touch "$work/no-registry"
run_setup 1 "$setup"
expect_output 'npm error network'
expect_output 'npm could not install'
rm "$work/no-registry" "$work/npm-calls"
run_setup 0 "$setup"
grep -q "^$work/web ci --ignore-scripts" "$work/npm-calls" ||
  fail "npm was called like this: $(cat "$work/npm-calls")"
run_setup 0 "$setup"
[ -z "$out" ] || fail "a second run is not silent: $out"
[ "$(wc -l <"$work/npm-calls")" -eq 1 ] || fail 'npm ran again though nothing has changed'
touch -d '1 minute' "$work/web/package-lock.json"
run_setup 0 "$setup"
[ "$(wc -l <"$work/npm-calls")" -eq 2 ] || fail 'a new package-lock.json was not installed'

# A list that cannot be read, or is empty.
PARTITA_PACKAGES=$work/none expect 1 "$setup"
expect_output 'cannot read the package list'
: >"$work/empty"
PARTITA_PACKAGES=$work/empty expect 1 "$setup"
expect_output 'names no package'
finish
