"""Studies and runs with the program itself."""

from __future__ import annotations

import csv
import gc
import math
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import partita as pt
from partita.analyses import toml
from partita.cells import cell_text
from partita.program import Child, call
from partita.tables_of_parties import write_csv

PARTIES = ["north", "south", "west"]


def rows(seed: int = 7, count: int = 900) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        age, male = round(chance.uniform(20, 90), 1), chance.random() < 0.5
        p = 1 / (1 + math.exp(3 - 0.04 * age - 0.5 * male))
        made.append({"age": age, "sex": "male" if male else "female", "event": int(chance.random() < p)})
    return made


def tables() -> dict[str, list[dict[str, Any]]]:
    return {party: rows()[i::3] for i, party in enumerate(PARTIES)}


def study() -> pt.Study:
    return pt.Study("events", PARTIES, {"event": pt.Variable("integer", 0, 1), "age": (18.0, 98.0),
                                        "sex": ["female", "male"]}, min_rows=500)


class WholeNumber:
    """As numpy's integers: no int, and its float has fewer digits."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)


class ScalarOfNumpy(float):
    """As numpy.float64, whose repr names its class."""

    def __repr__(self) -> str:
        return "np.float64(...)"

    def tolist(self) -> float:
        return float(self)


ScalarOfNumpy.__module__ = "numpy"


class Cells(unittest.TestCase):
    def test_whole_numbers_and_decimals_are_exact(self) -> None:
        for whole in (2**53 + 1, 1234567890123456789, -(2**63)):
            self.assertEqual(cell_text(WholeNumber(whole)), str(whole))
        self.assertEqual(cell_text(Decimal("12345678901234567890.5")), "12345678901234567890.5")
        self.assertEqual(cell_text(Decimal("1E+3")), "1000")
        self.assertEqual(cell_text(Decimal("NaN")), "")
        self.assertEqual(toml([ScalarOfNumpy(0.5)]), "[0.5]")

    def test_columns_have_one_value_in_each_row(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for wrong in ({"x": [1, 2], "g": "ab"}, {"x": [1, 2], "g": ["a"]}, {"x": [[1, 2], [3, 4]]},
                          [{"x": 1}, {"x": 2, "y": 3}], {"x": [b"a"]}):
                with self.subTest(wrong), self.assertRaises(ValueError):
                    write_csv(wrong, Path(folder) / "t.csv")

    def test_numbers_keep_all_digits(self) -> None:
        chance = random.Random(1)
        values = [chance.gauss(0, 1) * 10.0 ** chance.randint(-300, 300) for _ in range(100_000)]
        for value in [*values, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 2.0**53]:
            self.assertEqual(float(cell_text(value)), value)
        self.assertEqual([cell_text(value) for value in (None, math.nan, True, 7.0, date(2024, 2, 29))],
                         ["", "", "1", "7", "2024-02-29"])

    def test_missing_codes_are_texts(self) -> None:
        text = pt.Variable("integer", 0, 10, missing_codes=[-9, "n.d."]).toml("x")
        self.assertIn('missing_codes = ["-9", "n.d."]', text)
        self.assertNotIn("missing_codes", pt.Variable("integer", 0, 10).toml("x"))

    def test_texts_are_quoted_where_needed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "t.csv"
            write_csv({"f": ["a, \"b\"", "c"], "x": [0.5, None]}, file, ";", ",")
            self.assertEqual(file.stat().st_mode & 0o077, 0)
            with file.open(newline="") as read:
                self.assertEqual(list(csv.reader(read, delimiter=";")),
                                 [["f", "x"], ["a, \"b\"", "0,5"], ["c", ""]])


class Studies(unittest.TestCase):
    def test_from_rows_to_a_fit(self) -> None:
        made = study().add(pt.GLM("event ~ age + sex", "binomial"))
        self.assertIn('formula = "event ~ age + sex"', made.text)
        self.assertEqual(made.validate(), [])
        plan = made.plan(latency="20ms")
        self.assertGreater(plan.rounds, 10)
        seen: list[pt.Progress] = []
        fit: pt.GLMFit = made.simulate(tables(), progress=seen.append).fit
        self.assertTrue(seen)
        self.assertEqual(fit.nobs, 900)
        # The score of the pooled rows is 0 at their estimates; these are within a step of their grids, each of
        # which moves the score by the information times that.
        chances = fit.predict(rows())
        for column in self.columns():
            score = sum(x * (row["event"] - p) for x, row, p in zip(column, rows(), chances))
            slack = sum(p * (1 - p) * x * sum(of.step * z for of, z in zip(fit.coefficients, other))
                        for p, x, other in zip(chances, column, zip(*self.columns())))
            self.assertLess(abs(score), slack)

    @staticmethod
    def columns() -> list[list[float]]:
        return [[1.0] * 900, [row["age"] for row in rows()], [float(row["sex"] == "male") for row in rows()]]

    def test_from_files_and_back(self) -> None:
        made = study().add(pt.Describe(["age", "event"], group="sex"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for party, table in tables().items():
                (folder / party).mkdir()
                write_csv(table, folder / party / "data.csv")
            made.write(folder / "study.toml")
            with self.assertRaises(FileExistsError):
                made.write(folder / "study.toml")
            read = pt.Study.read(folder / "study.toml")
            self.assertEqual(read.parties, PARTIES)
            self.assertEqual(read.plan().hash, made.plan().hash)
            result = read.simulate(in_process=True, output=folder / "result.json")
            self.assertEqual(pt.read_result(folder / "result.json").fit.table().rows, result.fit.table().rows)
            males = sum(row["sex"] == "male" for row in rows())
            counts = {(row["variable"], row["group"]): row["n"] for row in result.fit.table()}
            self.assertEqual(counts["age", "male"], males)

    def test_columns_of_the_same_rows(self) -> None:
        variables: dict[str, tuple[float, float]] = {"x": (0.0, 10.0), "y": (0.0, 20.0)}
        made = pt.Study("columns", ["north", "south"], variables, columns={"north": ["x"], "south": ["y"]}, key="id",
                        rows=100, helper="helper", min_rows=50).add(pt.Regression("y ~ x"))
        x = [i % 10 + 0.25 for i in range(100)]
        y = [1 + 1.5 * value + (i % 7) / 7 for i, value in enumerate(x)]
        names = [f"p{i}" for i in range(100)]
        fit = made.simulate({"north": {"id": names, "x": x}, "south": {"id": names, "y": y}}).fit
        self.assertAlmostEqual(fit.params["y~x"], 1.5, delta=0.05)
        self.assertAlmostEqual(fit.predict({"x": [2.0]})[0], 1 + 3 + 3 / 7, delta=0.2)

    def test_what_a_study_is_for(self) -> None:
        made = pt.Study("for", ["north", "south"], {"x": (0.0, 10.0), "y": (0.0, 20.0)}, helper="helper", min_rows=50,
                        purpose='Does "x" help?', ethics="EK 2026/117", legal_basis="Article 6",
                        contact="a@example.org").add(pt.Regression("y ~ x"))
        self.assertEqual(made.plan().raw["declared"], {"purpose": 'Does "x" help?', "ethics": "EK 2026/117",
                                                       "legal_basis": "Article 6", "contact": "a@example.org"})

    def test_rehearsal(self) -> None:
        rehearsal = study().add(pt.GLM("event ~ age", "binomial")).rehearse(rows=300)
        self.assertTrue(rehearsal.passed, rehearsal.raw)


def held_port() -> socket.socket:
    """Bound and not listening: nobody else is given its port, and a program that reuses addresses may listen there."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class BetweenHosts(unittest.TestCase):
    def test_each_party_runs_in_its_own_folder(self) -> None:
        made = study().add(pt.GLM("event ~ age + sex"))
        with tempfile.TemporaryDirectory() as name, ExitStack() as sockets:
            folder = Path(name)
            roster = folder / "roster.toml"
            ports = [sockets.enter_context(held_port()) for _ in PARTIES]
            for party, port in zip(PARTIES, ports):
                call(["cert", "new", party, "--folder", str(folder / party)])
                call(["cert", "roster", str(roster), "--certificate", str(folder / party / "cert.pem"), "--address",
                      f"127.0.0.1:{port.getsockname()[1]}"])
            runs: dict[str, pt.Run] = {}
            for party, table in tables().items():
                shutil.copy(roster, folder / party)
                made.write(folder / party / "study.toml")
                runs[party] = pt.Study.read(folder / party / "study.toml").start(
                    folder / party, party=party, data=table, options=["--approve"])
            results = {party: run.wait(60) for party, run in runs.items()}
            self.assertEqual([len(result) for result in results.values()], [1, 0, 0])
            self.assertEqual(results["south"].status, "finished")
            fit: pt.GLMFit = results["north"].fit
            self.assertEqual(fit.nobs, 900)
            self.assertEqual(pt.read_result(folder / "north" / "result.json").fit.params, fit.params)
            self.assertIsNotNone(runs["north"].progress)
            self.assertFalse(any(run.running for run in runs.values()))


class Errors(unittest.TestCase):
    def test_have_the_class_of_their_code_and_leave_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            with self.assertRaises(pt.UsageError) as usage:
                study().text
            self.assertTrue(usage.exception.hint)
            with self.assertRaises(pt.PartitaError):
                study().add(pt.GLM("event ~ nosuch"))
            made = study().add(pt.GLM("event ~ age"))
            wrong = tables()
            wrong["south"][0]["age"] = 500
            with self.assertRaises(pt.BadDataError) as caught:
                made.simulate(wrong)
            self.assertEqual(caught.exception.exit_code, 7)
            self.assertEqual(os.listdir(folder), [])

    def test_of_a_party_that_cannot_run(self) -> None:
        made = study().add(pt.GLM("event ~ age"))
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(pt.PartitaError):
                made.run(folder, party="north")

    def test_of_a_program_that_is_not_there_or_is_another(self) -> None:
        with mock.patch.dict(os.environ, {"PARTITA": "/nowhere/partita"}):
            with self.assertRaises(pt.ProgramError):
                pt.program_version()
        with mock.patch.dict(os.environ, {"PARTITA": "/bin/false"}):
            with self.assertRaises(pt.ProgramError):
                pt.program_version()
            with self.assertRaises(pt.InternalError):
                study().add(pt.GLM("event ~ age"))

    def test_of_a_progress_function_stop_the_run(self) -> None:
        class Stopped(Exception):
            pass

        def stop(at: pt.Progress) -> None:
            raise Stopped(at.phase)

        # More lines than a pipe holds, so that it waits unless they are read.
        line = '{"phase": "p", "done": 0, "total": 1, "seconds": 0}'
        with tempfile.TemporaryDirectory() as folder:
            talker = Path(folder) / "talker"
            talker.write_text(f"#!{sys.executable}\nimport signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                              f"for _ in range(10000): print('{line}', file=sys.stderr)\n"
                              "print('{\"schema_version\": 1, \"status\": \"ok\", \"data\": {}}')\n")
            talker.chmod(0o700)
            with mock.patch.dict(os.environ, {"PARTITA": str(talker)}):
                child = Child(["study"], stop)
                with self.assertRaises(Stopped):
                    child.wait(60)

    def test_control_c_reaches_the_program_once_and_only_the_one_that_is_waited_for(self) -> None:
        # In a group of their own, as at a terminal: a program that is waited for, and one in the background.
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            counter = folder / "counter"
            counter.write_text(
                f"#!{sys.executable}\nimport os, signal, sys, time\ncount = 0\n"
                "def add(*_):\n    global count\n    count += 1\n"
                "signal.signal(signal.SIGINT, add)\n"
                "open(sys.argv[1], 'w').close()\n"
                "end = time.monotonic() + 60\n"
                "while count == 0 and not os.path.exists(sys.argv[2]) and time.monotonic() < end: time.sleep(0.01)\n"
                "while count > 0 and not os.path.exists(sys.argv[1] + '.cancelled'): time.sleep(0.01)\n"
                "open(sys.argv[1], 'w').write(str(count))\n")
            counter.chmod(0o700)
            caller = (
                "import os, pathlib, signal, sys, threading, time\n"
                "from partita.program import Child\n"
                "folder = pathlib.Path(sys.argv[1])\n"
                "end = folder / 'end'\n"
                "waited, other = (Child([str(folder / of), str(end)]) for of in ('waited', 'other'))\n"
                "def control_c():\n"
                "    while not all((folder / of).exists() for of in ('waited', 'other')): time.sleep(0.01)\n"
                "    os.killpg(0, signal.SIGINT)\n"
                "cancel = waited.cancel\n"
                "def cancel_and_say(): cancel(), (folder / 'waited.cancelled').touch()\n"
                "waited.cancel = cancel_and_say\n"
                "threading.Thread(target=control_c).start()\n"
                "try: waited.wait()\n"
                "except KeyboardInterrupt: print('interrupted')\n"
                "end.touch()\n"
                "other._process.wait()\n")
            done = subprocess.run([sys.executable, "-c", caller, name], env={**os.environ, "PARTITA": str(counter)},
                                  start_new_session=True, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout, "interrupted\n", done.stderr)
            self.assertEqual([(folder / of).read_text() for of in ("waited", "other")], ["1", "0"])

    def test_runs_that_nobody_has_end(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sleeper = Path(folder) / "sleeper"
            sleeper.write_text("#!/bin/sh\nexec sleep 600\n")
            sleeper.chmod(0o700)
            with mock.patch.dict(os.environ, {"PARTITA": str(sleeper)}):
                child = Child(["study"])
            run = pt.Run(child, ExitStack())
            self.assertTrue(run.running)
            del run
            gc.collect()
            self.assertFalse(child.running)
            with self.assertRaises(pt.InternalError):
                child.wait()

    def test_cancelled_runs_end(self) -> None:
        made = study().add(pt.GLM("event ~ age"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made.write(folder / "study.toml")
            for party, table in tables().items():
                (folder / party).mkdir()
                write_csv(table, folder / party / "data.csv")
            begun = threading.Event()
            child = Child(["study", "simulate", str(folder / "study.toml"), "--latency", "1s"], lambda at: begun.set())
            self.assertTrue(begun.wait(60))
            self.assertTrue(child.running)
            child.cancel()
            with self.assertRaises(pt.CancelledError):
                child.wait(60)
