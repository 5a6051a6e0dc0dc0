#!/usr/bin/env bash
# run_mutants.sh, on a product of one shell script: it passes only if every mutant applies, builds and
# is caught, says which is not, and leaves the sources alone.
set -u
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
source "$here/../tools/check.sh"
product=$work/product
runner=$work/mutants/run_mutants.sh
mkdir -p "$work/mutants" "$product"/{cmake,docs,src,tests,examples,bench,tools,fuzz,web}
touch "$product/CMakeLists.txt" "$product/CMakePresets.json"
cp "$here/run_mutants.sh" "$runner"

# The test passes if the product says "two"; the "compiler" is bash -n.
printf 'say() {\n  echo two\n}\n' >"$product/src/say.sh"
cat >"$product/tools/build" <<'END'
#!/usr/bin/env bash
set -e
cd "$(dirname "$0")/.."
bash -n src/say.sh
mkdir -p build/release/bin
{ echo '#!/usr/bin/env bash'; cat src/say.sh; echo '[ "$(say)" = two ]'; } >build/release/bin/say_test
chmod +x build/release/bin/say_test
END
chmod +x "$product/tools/build"

# mutant NAME OLD NEW
mutant() {
  printf '%s\n' '# test: say_test' "# bug: says $3" 'diff --git a/src/say.sh b/src/say.sh' \
    '--- a/src/say.sh' '+++ b/src/say.sh' '@@ -1,3 +1,3 @@' ' say() {' "-  echo $2" "+  echo $3" ' }' \
    >"$work/mutants/$1.patch"
}
mutate() { expect "$1" bash "$runner" "$product" "$work/build" "${@:2}"; }

mutant one two one
mutant three two three
mutate 0
expect_output 'one: caught by say_test'
expect_output 'three: caught by say_test'
expect_output 'unchanged: 1 test programs pass'
[ "$(tail -n 1 <<<"$out")" = '2 mutants, all caught' ] || fail "another last line: $out"
grep -q 'echo two' "$product/src/say.sh" || fail 'the sources changed'
[ ! -e "$work/build/mutants" ] || fail 'the copy is still there'
mutate 0 three
expect_no_output 'one:'

mutant harmless two '"two"'
mutant stale four one
mutant syntax two '$('
mutate 1
expect_output 'one: caught by say_test'
expect_output 'harmless: SURVIVED say_test (says "two")'
expect_output 'stale: STALE'
expect_output 'syntax: BROKEN'
expect_output 'three: caught by say_test'
expect_output '5 mutants, 3 not caught: harmless stale syntax'
expect_no_output 'all caught'

# Without a mutant the test must pass, or its failure says nothing.
printf 'say() {\n  echo none\n}\n' >"$product/src/say.sh"
mutate 1 one
expect_output 'say_test fails without any mutant'
expect_no_output 'caught'

printf 'say() {\n  echo two\n}\n' >"$product/src/say.sh"
mutate 0 't*'
expect_output 'three: caught by say_test'
expect_output '1 mutants, all caught'
mutate 1 src/
expect_output '5 mutants, 3 not caught: harmless stale syntax'
mutate 1 src/other/
expect_output "there is no mutant 'src/other/'"

# Beside another run it works in a copy of its own.
(
  flock 9
  bash "$runner" "$product" "$work/build" one
) 9>"$work/build/mutants.lock" >"$work/beside" 2>&1 || fail "two runs: $(cat "$work/beside")"
grep -q 'one: caught' "$work/beside" || fail "two runs: $(cat "$work/beside")"

printf 'say() {\n  echo none\n}\n' >"$product/src/say.sh"
mutate 1 unheard
expect_output "there is no mutant 'unheard'"
sed -i '/^# test/d' "$work/mutants/one.patch"
mutate 1 one
expect_output "one.patch does not begin with '# test: NAME'"
expect 2 bash "$runner" "$product"
finish
