#!/usr/bin/env bash
# tools/package makes a package that lintian finds nothing in, that can be installed, runs, and leaves
# nothing behind when it is removed. Needs root, debhelper and lintian, and installs them.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
[ "$(id -u)" = 0 ] || fail 'installing a package takes root'
! dpkg-query -W -f='${Status}' partita 2>/dev/null | grep -q 'ok installed' ||
  fail 'partita is installed on this machine; remove it first'
expect 0 apt-get install -y --no-install-recommends debhelper lintian dpkg-dev
rm -f "$source_dir"/build/partita_*.deb
expect 0 "$source_dir/tools/package" program
package=$(ls "$source_dir"/build/partita_*.deb)

expect 0 apt-get install -y --no-install-recommends "$package"
cd "$work" || fail 'no folder'
expect 0 env -i PATH=/usr/bin HOME="$work" partita demo
expect_output /usr/share/partita/examples/three_factor
expect 0 man -w partita-study-plan
expect 0 dpkg -L partita
files=$out
expect 0 apt-get remove -y partita
while read -r file; do
  [ ! -f "$file" ] || fail "$file stayed when the package was removed"
done <<<"$files"
finish
