#!/usr/bin/env bash
# tools/package makes packages that lintian finds nothing in, that can be installed (in a bare Debian, too), run, and leave
# nothing behind when they are removed but an institution's keys, ledger and state. Needs root, debhelper, lintian and
# mmdebstrap, and installs them.
set -u
source_dir=$1
source "$(dirname "$0")/check.sh"
[ "$(id -u)" = 0 ] || fail 'installing a package takes root'
! dpkg-query -W -f='${Status}' partita 2>/dev/null | grep -q 'ok installed' ||
  fail 'partita is installed on this machine; remove it first'
expect 0 apt-get install -y --no-install-recommends debhelper lintian dpkg-dev
[ ! -e /var/lib/partita ] || fail '/var/lib/partita is there: a node of this machine'
rm -f "$source_dir"/build/partita_*.deb "$source_dir"/build/partita-node_*.deb "$source_dir"/build/partita-mpi_*.deb
expect 0 "$source_dir/tools/package" program
package=$(ls "$source_dir"/build/partita_*.deb)

# With nothing there but what the packages ask for.
expect 0 apt-get install -y --no-install-recommends mmdebstrap
mkdir "$work/packages"
cp "$package" "$source_dir"/build/partita-mpi_*.deb "$work/packages"
expect 0 mmdebstrap --quiet --variant=minbase --format=null \
  --customize-hook="cp -r '$work/packages' \"\$1/\"" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /packages/partita_*.deb"' \
  --customize-hook='chroot "$1" env -i PATH=/usr/bin HOME=/root partita demo' \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /packages/partita-mpi_*.deb"' \
  --customize-hook='chroot "$1" partita-mpi --version' \
  bookworm - http://deb.debian.org/debian
expect_output /usr/share/partita/examples/three_factor

expect 0 apt-get install -y --no-install-recommends "$package"
cd "$work" || fail 'no folder'
expect 0 env -i PATH=/usr/bin HOME="$work" partita demo
expect_output /usr/share/partita/examples/three_factor
expect 0 man -w partita-study-plan
expect 0 dpkg -L partita
files=$out

# The services: users and units, nothing that runs by itself.
expect 0 apt-get install -y --no-install-recommends systemd "$(ls "$source_dir"/build/partita-node_*.deb)"
expect 0 systemd-analyze verify --man=no /lib/systemd/system/partita-{node,sign,web}.service /lib/systemd/system/partita-job.socket \
  /lib/systemd/system/partita-job@.service
echo 'several words of a steward' >phrase
expect 0 partita node init /var/lib/partita/node --name north --address localhost:7400 --services \
  --steward /var/lib/partita/steward --passphrase-fd 3 3<phrase
expect 0 stat -c %U /var/lib/partita/node/key.pem /var/lib/partita/node/job/key.pem /var/lib/partita/node/web \
  /var/lib/partita/steward/steward.key
for user in partita-node partita-job partita-web partita-sign; do expect_output $user; done
expect 0 id -nG partita-job
expect_output partita-node
expect 0 partita ledger open /var/lib/partita/north.ledger --table registry --epsilon 1 --delta 1e-6
# Keys, ledger and state, byte by byte.
kept() { (cd /var/lib/partita && find . -type f -exec sha256sum {} + | sort); }
kept >before
for mine in steward.key node/key.pem north.ledger; do grep -q "$mine" before || fail "there is no $mine"; done
for verb in remove purge; do
  expect 0 apt-get $verb -y partita-node partita
  kept | cmp - before || fail "$verb changed what belongs to the institution"
done
rm -rf /var/lib/partita
while read -r file; do
  [ ! -f "$file" ] || fail "$file stayed when the package was removed"
done <<<"$files"
finish
