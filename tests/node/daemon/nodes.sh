# What tests with real nodes on loopback share, in a folder of their own: sourced after $partita is set.
# shellcheck shell=bash
work=$(mktemp -d)
cd "$work" || exit
# shellcheck disable=SC2034
declare -A pid port signer  # signer: the socket of a site's signer, if it is to be asked

finish() {
  for name in "${!pid[@]}"; do kill "${pid[$name]}" 2>/dev/null || true; done
  kill $(jobs -p) 2>/dev/null || true  # who waits for digits that do not come
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "$(basename "$0"): $*" >&2
  for log in *.log err1 err2 typed.out; do [ ! -f "$log" ] || { echo "== $log" >&2; tail -n 6 "$log" >&2; }; done
  exit 1
}
# Waits until a command succeeds, 30 s at most.
until_true() {
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  fail "$what did not come"
}
# Reads all of it: a command that still writes when its pipe is closed fails, and pipefail counts that.
says() {
  local text
  text=$(cat)
  grep -q "$@" <<<"$text"
}
expect_error() {  # WORDS COMMAND...: fails, and says so
  local words=$1
  shift
  if "$@" >out 2>err; then fail "this went well: $*"; fi
  grep -qF -- "$words" err || fail "'$words' is not in: $(cat err)"
}
free_port() {
  perl -MIO::Socket::INET -e \
    'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}
serve() {
  "$partita" node serve "$1" 2>>"$1.log" &
  pid[$1]=$!
  until_true "node $1" "$partita" node status --at "$1"
}
phrase() { echo 'several words of a steward'; }
# A steward's key is closed so that a guess takes a fifth of a second, and these tests open it thirty times: the
# same key under the same words, by OpenSSL with the least scrypt that there is.
opens_at_once() {  # FOLDER...: of stewards
  local folder
  for folder in "$@"; do
    openssl pkcs8 -topk8 -scrypt -scrypt_N 2 -scrypt_r 1 -scrypt_p 1 -in "$folder/steward.key" \
      -out "$folder/quick.key" -passin "pass:$(phrase)" -passout "pass:$(phrase)" || fail "cannot close $folder again"
    cat "$folder/quick.key" >"$folder/steward.key"
    rm "$folder/quick.key"
  done
}
as_steward() {  # COMMAND NAME ARGUMENT...: of the steward of site NAME
  local command=$1 name=$2
  shift 2
  local key=(--steward "$name-steward")
  [ -z "${signer[$name]:-}" ] || key=(--sign "${signer[$name]}")
  "$partita" node "$command" "$@" --at "$name" "${key[@]}" --passphrase-fd 3 3< <(phrase)
}
approves() { as_steward approve "$1" "$2" --yes >"$1-approved.txt"; }  # SITE STUDY; fails until it is frozen
joins() {  # INVITER JOINER: by two terminals and a telephone
  local line
  line=$("$partita" node invite "$2" --at "$1" --only-line)
  rm -f typed1 typed2 out1 out2 err1 err2
  mkfifo typed1 typed2
  as_steward compare "$1" "$2" <typed1 >out1 2>err1 &
  local first=$!
  as_steward join "$2" "$line" <typed2 >out2 2>err2 &
  local second=$!
  exec 8>typed1 9>typed2
  until_true 'the digits of the inviter' grep -q 'Tell them' err1
  until_true 'the digits of the joiner' grep -q 'Tell them' err2
  if [ "${3:-}" = wrong ]; then
    # A slip is no try; other digits are the only one.
    echo 12345 >&8
    until_true 'a second question' grep -q 'six digits are needed' err1
    local shown
    shown=$(sed -n 's/^.*Tell them: *//p' err2 | tr -d ' ')
    printf '%06d\n' $(((10#$shown + 1) % 1000000)) >&8
    if wait "$first"; then fail 'wrong digits paired'; fi
    grep -q 'somebody in between' err1 || fail "wrong digits: $(cat err1)"
    kill "$second"
    wait "$second" || true
    exec 8>&- 9>&-
    return
  fi
  sed -n 's/^.*Tell them: *//p' err1 >&9
  sed -n 's/^.*Tell them: *//p' err2 >&8
  wait "$first" || fail "$1 did not pair: $(cat err1)"
  wait "$second" || fail "$2 did not pair: $(cat err2)"
  exec 8>&- 9>&-
}
