#!/usr/bin/env python3
"""Whole matchings by the command, each party a process, over TLS on loopback; what they take of time and memory.

bench/matching_command.py KIND ROWS [PROGRAM]   (PROGRAM: build/release/bin/partita)

KIND      two       two holders, level matched-ids
          hidden    two holders, level hidden
          linker    two holders and a linker, level matched-ids
          moments   two holders with ten columns each and a linker, level hidden, and then a study of the
                    moments of all twenty at the positions (partita study simulate, engine dealer)
ROWS      of each list; half of each is in the other.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

HOLDERS = ("clinic", "registry")


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    return done.stdout


def write_table(path, holder, rows, columns):
    numbers = random.Random(holder)
    people = list(range(holder * rows // 2, holder * rows // 2 + rows))
    numbers.shuffle(people)
    names = [f"t{holder * columns + j + 1}" for j in range(columns)]
    with open(path, "w", encoding="ascii") as table:
        table.write(",".join(["nid", *names]) + "\n")
        for person in people:
            common = random.Random(person).gauss(0, 0.7) if columns else 0
            cells = [f"{max(-10, min(10, common + numbers.gauss(0, 0.7))):.8g}" for _ in names]
            table.write(",".join([f"{person:09d}", *cells]) + "\n")


def matching_text(kind, rows):
    level = 'level = "hidden"\n' if kind in ("hidden", "moments") else ""
    text = f'matching = 1\nname = "m"\nkeys = [["nid"]]\n{level}'
    text += '[[column]]\nname = "nid"\nrule = "digits"\nlength = 9\n'
    for holder in HOLDERS:
        text += f'[[party]]\nname = "{holder}"\nrows = {rows}\n'
    if kind in ("linker", "moments"):
        text += '[[party]]\nname = "trust"\nrole = "linker"\n'
    return text


def study_text(rows, record, columns):
    text = 'partita = 1\nname = "bench"\n'
    for k, holder in enumerate(HOLDERS):
        own = ", ".join(f'"t{k * columns + j + 1}"' for j in range(columns))
        text += f'[[party]]\nname = "{holder}"\nroles = ["holder"]\ncolumns = [{own}]\n'
    text += '[[party]]\nname = "helper"\nroles = ["dealer"]\n'
    text += '[[party]]\nname = "analyst"\nroles = ["receiver"]\n'
    text += f'[[rows]]\nname = "matched"\ncount = {2 * rows - rows // 2}\n[rows.match]\n'
    text += f'level = "hidden"\nmatching = "m"\nrecord = "{record}"\ncount = "exact"\n'
    text += 'linker = "trust"\n[design]\nsite = "ignore"\nmissing = "refuse"\n'
    names = [f"t{j + 1}" for j in range(2 * columns)]
    for name in names:
        text += f'[[variable]]\nname = "{name}"\ntype = "numeric"\nlower = -10\nupper = 10\n'
    text += '[engine]\nname = "dealer"\n[[analysis]]\nname = "a"\nrelease = ["moments"]\n'
    text += 'method = "mle"\nprotocol = "pooled-moments"\nfunction = "cfa"\n'
    return text + f'model = "f =~ {" + ".join(names)}"\n'


def loopback_bytes():
    with open("/proc/net/dev", encoding="ascii") as table:
        return next(int(line.split()[1]) for line in table if line.strip().startswith("lo:"))


def match(program, folder, parties):
    """Runs all parties; prints what each took."""
    matching, roster = folder + "/m.toml", folder + "/roster.toml"
    for i, party in enumerate(parties):
        home = f"{folder}/{party}"
        run(program, "cert", "new", party, "--folder", home, "--quiet")
        run(program, "cert", "roster", roster, "--certificate", home + "/cert.pem",
            "--address", f"127.0.0.1:{7600 + i}")
    plan = json.loads(run(program, "match", "plan", matching, "--format", "json"))["data"]
    for i, party in enumerate(plan["parties"]):
        sent = sum(phase["bytes_sent"][i] for phase in plan["phases"])
        print(f"{party['name']}: {sent / 1e6:.1f} MB sent by the plan")
    common = {p: ["--party", p, "--folder", f"{folder}/{p}", "--roster", roster] for p in parties}
    for party in parties:
        run(program, "match", "approve", matching, *common[party], "--yes")
    before, start, processes = loopback_bytes(), time.time(), {}
    for party in parties:
        process = subprocess.Popen([program, "match", "run", matching, *common[party], "--quiet"],
                                   stdout=subprocess.DEVNULL)
        processes[process.pid] = party
    while processes:
        pid, status, used = os.wait4(-1, 0)
        print(f"{processes.pop(pid)}: {time.time() - start:.1f} s, of which computing "
              f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MB"
              + (f", exit {status >> 8}" if status else ""))
    print(f"loopback: {(loopback_bytes() - before) / 1e6:.1f} MB, all that this machine sent there")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("two", "hidden", "linker", "moments"):
        sys.exit(__doc__)
    kind, rows = sys.argv[1], int(sys.argv[2])
    program = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "build/release/bin/partita")
    columns = 10 if kind == "moments" else 0
    parties = [*HOLDERS] + (["trust"] if kind in ("linker", "moments") else [])
    with tempfile.TemporaryDirectory() as folder:
        for party in parties:
            os.makedirs(f"{folder}/{party}")
        for k, holder in enumerate(HOLDERS):
            write_table(f"{folder}/{holder}/data.csv", k, rows, columns)
        with open(folder + "/m.toml", "w", encoding="ascii") as text:
            text.write(matching_text(kind, rows))
        print("load", *os.getloadavg())
        match(program, folder, parties)
        if kind != "moments":
            return
        shown = json.loads(run(program, "match", "show", f"{folder}/clinic/m.matched", "--format", "json"))
        with open(folder + "/study.toml", "w", encoding="ascii") as text:
            text.write(study_text(rows, shown["data"]["record"], columns))
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
        result = json.loads(run(program, "study", "simulate", folder + "/study.toml", "--format", "json",
                                "--quiet"))["data"]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"study: {time.time() - start:.1f} s, all parties computing "
              f"{used.ru_utime - before.ru_utime:.1f} s")
        for phase in result["traffic"]:
            print(f"  {phase['phase']}: {phase['seconds']:.2f} s")


main()
