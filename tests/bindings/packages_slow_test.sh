#!/usr/bin/env bash
# tools/package makes packages of R's and Python's that lintian finds nothing in, that can be installed and
# read a result, and that leave nothing behind. Needs root, debhelper, lintian and R, and installs them.
set -u
source "$(dirname "$0")/../tools/check.sh"
source_dir=$1
build=$2
[ "$(id -u)" = 0 ] || fail 'installing a package takes root'
expect 0 apt-get install -y --no-install-recommends debhelper lintian dpkg-dev r-base-core r-cran-generics \
  r-cran-jsonlite r-cran-processx
rm -f "$source_dir"/build/*-partita_*.deb
expect 0 "$source_dir/tools/package" bindings
expect 0 apt-get install -y --no-install-recommends "$source_dir"/build/r-other-partita_*.deb \
  "$source_dir"/build/python3-partita_*.deb
cd "$work" || fail 'no folder'
recorded=$source_dir/bindings/recorded/glm.json
expect 0 env -i PATH=/usr/bin HOME="$work" Rscript -e 'library(partita); summary(read_result(commandArgs(TRUE)))' "$recorded"
expect_output 'ward.surgery'
expect 0 env -i PATH=/usr/bin HOME="$work" /usr/bin/python3 -c \
  'import partita, sys; print(partita.read_result(sys.argv[1]).fit.summary())' "$recorded"
expect_output 'ward.surgery'
expect 0 env -i PATH=/usr/bin PARTITA="$build/bin/partita" /usr/bin/python3 -c 'import partita; print(partita.program_version())'
expect 0 apt-get remove -y r-other-partita python3-partita
for left in /usr/lib/R/site-library/partita /usr/lib/python3/dist-packages/partita; do
  [ ! -e "$left" ] || fail "$left stayed when the package was removed"
done
finish
