#!/usr/bin/env bash
# `cmake --install` into a folder: the program there needs nothing of the checkout, no library that
# most do not need, and its manual and completions are where man and the shells look.
set -u
source "$(dirname "$0")/check.sh"
build=$2
prefix=$work/usr
expect 0 cmake --install "$build" --prefix "$prefix"
for file in bin/partita share/man/man1/partita.1 share/man/man1/partita-study-plan.1 \
  share/bash-completion/completions/partita share/zsh/site-functions/_partita \
  share/fish/vendor_completions.d/partita.fish share/partita/examples/three_factor/complex/study.toml \
  share/doc/partita/README.md share/doc/partita/study-file.md; do
  [ -s "$prefix/$file" ] || fail "$file was not installed"
done
find "$prefix" -name '*.cc' -o -name status.md | grep -q . && fail 'files for developers were installed'

# Moved, so that nothing knows where it was installed; the examples are read from beside it.
mv "$prefix" "$work/elsewhere"
cd "$work" || fail 'no folder'
expect 0 env -i HOME="$work" "$work/elsewhere/bin/partita" demo --in-process
expect_output "$work/elsewhere/share/partita/examples/three_factor/complex/study.toml"

expect 0 ldd "$work/elsewhere/bin/partita"
for library in libpq libldap libkrb5 libgnutls; do
  grep -q "$library" <<<"$out" && fail "the program links $library, which only PostgreSQL needs"
done
finish
