#!/usr/bin/env bash
# Three parties on loopback, each of its own number of ranks: the same numbers to the bit as one process
# without stripes; and a rank that is killed ends the run at every party.
set -u
source_dir=$1
bin=$2/bin
source "$source_dir/tests/tools/check.sh"
# This machine has few cores, and may run tests as root.
export PATH=$bin:$PATH HOME=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
rows=$((6 * 1024 + 5))
parties=(north south west)

port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1")->sockport'; }

# study STRIPES: the study file.
study() {
  echo 'partita = 1'
  echo 'name = "ranks"'
  for party in "${parties[@]}"; do
    roles='"holder"'
    [ "$party" != north ] || roles+=', "receiver"'
    printf '[[party]]\nname = "%s"\nroles = [%s]\ncolumns = ["%s1", "%s2"]\nrows = ["all"]\n' \
      "$party" "$roles" "${party:0:1}" "${party:0:1}"
  done
  printf '[[rows]]\nname = "all"\ncount = %d\n[table]\nkey = "id"\n' "$rows"
  for column in n1 n2 s1 s2 w1 w2; do
    printf '[[variable]]\nname = "%s"\ntype = "numeric"\nlower = -10\nupper = 10\n' "$column"
  done
  printf '[design]\nsite = "ignore"\nmissing = "refuse"\n[engine]\nname = "replicated"\n'
  [ "$1" = 1 ] || printf 'stripes = %d\n' "$1"
  printf '[network]\ntimeout_seconds = 60\n'
  printf '[[analysis]]\nmethod = "mle"\nprotocol = "pooled-moments"\nrelease = ["moments"]\n'
  printf 'function = "sem"\nmodel = "n1 ~ s1 + w1; n2 ~ s2 + w2"\n'
}

# site NAME STRIPES: folders of all parties with keys, a roster, tables and the study, approved.
site() {
  local folder=$work/$1 party
  mkdir "$folder"
  study "$2" >"$folder/study.toml"
  for party in "${parties[@]}"; do
    mkdir "$folder/$party"
    (cd "$folder/$party" && partita cert new "$party" >cert.out 2>&1) || fail "no key: $(cat "$folder/$party/cert.out")"
    partita cert roster "$folder/roster.toml" --certificate "$folder/$party/cert.pem" \
      --address "127.0.0.1:$(port)" >"$folder/roster.out" 2>&1 || fail "no roster: $(cat "$folder/roster.out")"
  done
  for party in "${parties[@]}"; do
    cp "$folder/roster.toml" "$folder/study.toml" "$folder/$party"
    awk -v rows="$rows" -v name="${party:0:1}" -v seed="${#party}${party:0:1}" 'BEGIN {
      x = 0; for (i = 1; i <= length(seed); ++i) x = x * 31 + index("nsw456", substr(seed, i, 1));
      printf "id,%s1,%s2\n", name, name
      for (i = 0; i < rows; ++i) {
        x = (x * 16807 + 11) % 2147483647; a = x / 2147483647 * 8 - 4
        x = (x * 16807 + 11) % 2147483647; b = x / 2147483647 * 8 - 4
        printf "k%d,%.6f,%.6f\n", i, a, b + a / 3
      }
    }' >"$folder/$party/data.csv"
  done
}

# join SITE PARTY COMMAND...: runs it as `COMMAND study join ...` in the party's folder, in the background.
pids=()
patience=120s  # only a failure waits for it
join() {
  local folder=$work/$1/$2
  shift 2
  # Open MPI keeps a folder of its own there: two that begin at once would make the same one.
  mkdir "$folder/tmp"
  (cd "$folder" && TMPDIR=$folder/tmp exec "$@" study join study.toml --approve --yes --wait "$patience") \
    >"$folder/out" 2>"$folder/err" </dev/null &
  pids+=($!)
}
# ends SITE: the exit codes of all that joined.
ends() {
  codes=()
  local pid status
  for pid in "${pids[@]}"; do
    status=0
    wait "$pid" || status=$?
    codes+=("$status")
  done
  pids=()
}
said() { tail -n 5 "$work/$1"/*/err "$work/$1"/*/out; }
# What must be the same: the fit and the moments, not times and hashes.
numbers() {
  python3 -c 'import json, sys
result = json.load(open(sys.argv[1]))
print(json.dumps(result["analyses"] if "analyses" in result else result["data"]["analyses"], sort_keys=True))' "$work/$1/north/result.json"
}

site whole 1
for party in "${parties[@]}"; do join whole "$party" partita; done
ends
[ "${codes[*]}" = '0 0 0' ] || fail "without stripes: ${codes[*]}; $(said whole)"

site ranks 6
count=1
for party in "${parties[@]}"; do
  join ranks "$party" mpirun -n "$count" partita-mpi
  count=$((count + 1))
done
ends
[ "${codes[*]}" = '0 0 0' ] || fail "with ranks: ${codes[*]}; $(said ranks)"
[ "$(numbers ranks)" = "$(numbers whole)" ] || fail 'ranks give other numbers'

# One process with stripes beside parties with ranks.
site mixed 6
join mixed north partita
join mixed south mpirun -n 2 partita-mpi
join mixed west partita
ends
[ "${codes[*]}" = '0 0 0' ] || fail "one of several: ${codes[*]}; $(said mixed)"
[ "$(numbers mixed)" = "$(numbers whole)" ] || fail 'some ranks give other numbers'

# says SITE PARTY TEXT: waits until the party has said so.
says() { timeout 120 grep -q -m 1 "$3" < <(exec tail --pid=$$ -n +1 -f "$work/$1/$2/err") || fail "$2 does not say '$3': $(said "$1")"; }

# A rank that is killed in the run: every party ends. It is stopped first, so that the run waits for it.
site killed 6
mkfifo "$work/killed/rank"
# shellcheck disable=SC2016
join killed south mpirun -n 2 bash -c 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo $$ >"$0"; fi; exec partita-mpi "$@"' "$work/killed/rank"
read -r rank <"$work/killed/rank"
says killed south 'waiting for north'
kill -STOP "$rank"
join killed north partita
join killed west mpirun -n 1 partita-mpi
says killed north 'stripe 1 of 6'
kill -KILL "$rank"
ends
for code in "${codes[@]}"; do
  [ "$code" -ne 0 ] || fail "a party has a result: ${codes[*]}; $(said killed)"
done
[ "${codes[1]}" = 9 ] || fail "north ended with ${codes[1]}: $(said killed)"
grep -q 'rank 1' "$work/killed/south/err" || fail "nothing names the rank: $(said killed)"
[ ! -e "$work/killed/north/result.json" ] || fail 'a result without a rank'

finish
