"""A study: parties, a dictionary of public bounds and levels, an analysis. Nothing of it is data."""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path
from subprocess import TimeoutExpired
from weakref import finalize
from typing import Any

from .analyses import Analysis, toml
from .errors import UsageError
from .plan import Plan
from .program import Child, Json, Output, Progress, ProgressHandler, call
from .result import Result, result_of
from .tables_of_parties import table_files

Bound = float | int | date


@dataclass(frozen=True)
class Variable:
    """type: numeric, integer, factor, ordered, date, survival (docs/study-file.md). Bounds are public: what a value can
    be, not what it is in a table."""

    type: str
    lower: Bound | None = None
    upper: Bound | None = None
    levels: Sequence[str] = ()
    unit: str = ""
    time: str = ""
    event: str = ""
    missing_codes: Sequence[str | float] = ()

    def toml(self, name: str) -> str:
        lines = ["[[variable]]", f"name = {_text(name)}", f"type = {_text(self.type)}"]
        for key, text in (("unit", self.unit), ("time", self.time), ("event", self.event)):
            if text:
                lines.append(f"{key} = {_text(text)}")
        for key, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None:
                lines.append(f"{key} = {bound.isoformat() if isinstance(bound, date) else toml(bound)}")
        if self.levels:
            lines.append(f"levels = [{', '.join(_text(level) for level in self.levels)}]")
        if self.missing_codes:
            lines.append(f"missing_codes = [{', '.join(_text(str(code)) for code in self.missing_codes)}]")
        return "\n".join(lines) + "\n"


VariableLike = Variable | tuple[Bound, Bound] | Sequence[str]


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _variable(spec: VariableLike) -> Variable:
    if isinstance(spec, Variable):
        return spec
    if isinstance(spec, tuple):
        lower, upper = spec
        if isinstance(lower, str) or isinstance(upper, str):
            raise UsageError("a tuple is a variable's bounds (lower, upper)", 'write levels as a list: ["no", "yes"]')
        return Variable("date" if isinstance(lower, date) else "numeric", lower, upper)
    return Variable("factor", levels=[str(level) for level in spec])


@dataclass(frozen=True)
class Rehearsal:
    """A run on made-up rows beside the same in the clear: whether all numbers agreed and the traffic was as planned."""

    passed: bool
    lowest_digits: float | None
    rows: int
    raw: Json


def draw_progress(at: Progress) -> None:
    """One line that redraws itself."""
    share = f", {100 * at.done // at.total} %" if at.total else ""
    sys.stderr.write(f"\r\x1b[K{at.phase}{share}")
    sys.stderr.flush()


def progress_handler(progress: ProgressHandler | bool | None) -> ProgressHandler | None:
    """None: draw if there is a terminal."""
    if progress is None:
        progress = sys.stderr.isatty()
    if isinstance(progress, bool):
        return draw_progress if progress else None
    return progress


def end_line(handler: ProgressHandler | None) -> None:
    if handler is draw_progress:
        sys.stderr.write("\r\x1b[K")


def _stop(child: Child, files: ExitStack) -> None:
    if child.running:
        child.stop(patience=5)
    files.close()


class Run:
    """A party's part of a study that goes on by itself, until nobody has this object. `wait()` has its result."""

    def __init__(self, child: Child, files: ExitStack, read: Callable[[Json], Result] = result_of) -> None:
        self._child = child
        self._read = read
        self._end = finalize(self, _stop, child, files)

    @property
    def running(self) -> bool:
        return self._child.running

    @property
    def progress(self) -> Progress | None:
        """Where it is; None: not begun."""
        return self._child.last_progress

    def cancel(self) -> None:
        """Stops it; the other parties end with an error that says so. wait() raises CancelledError."""
        self._child.cancel()

    def wait(self, timeout: float | None = None) -> Result:
        """Raises what went wrong, and subprocess.TimeoutExpired while it still runs after `timeout` seconds."""
        try:
            output = self._child.wait(timeout)
        except TimeoutExpired:
            raise
        except BaseException:
            self._end()
            raise
        try:
            return self._read(output.data)
        finally:
            self._end()


class Study:
    """parties: who holds data, the first gets the result unless `receiver` says otherwise; helper: who deals
    randomness and sees no data. variables: by name bounds `(18, 100)`, levels `["female", "male"]`, or a Variable.
    purpose, ethics (reference of the committee's decision), legal_basis and contact are for the parties' records of
    processing, and public. Where parties hold other columns of the same rows, columns: by party their names, with `key` and `rows`. Everything
    else as in `partita study new`. `add` an analysis; a study file is read by `Study.read`.
    """

    def __init__(self, name: str, parties: Sequence[str], variables: Mapping[str, VariableLike], *,
                 title: str = "", helper: str = "", receiver: str = "", engine: str = "",
                 columns: Mapping[str, Sequence[str]] | None = None, key: str = "",
                 rows: int | Mapping[str, int] | None = None, min_rows: int | None = None, site: str = "",
                 missing: str = "", purpose: str = "", ethics: str = "", legal_basis: str = "", contact: str = "",
                 text: str = "", path: Path | None = None) -> None:
        self.name = name
        self.parties = list(parties)
        self.variables = {of: _variable(spec) for of, spec in variables.items()}
        self.columns = columns
        words = {"title": title, "helper": helper, "receiver": receiver, "engine": engine, "key": key, "site": site,
                 "missing": missing, "min-rows": "" if min_rows is None else str(min_rows), "purpose": purpose,
                 "ethics": ethics, "legal-basis": legal_basis, "contact": contact}
        self._options = [word for option, value in words.items() if value for word in (f"--{option}", value)]
        if isinstance(rows, int):
            self._options += ["--rows", str(rows)]
        elif rows is not None:
            self._options += [word for party, count in rows.items() for word in ("--rows", f"{party}={count}")]
        self._text = text
        self._path = path
        self.remarks: list[str] = []

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Study:
        """A study file. Its tables are PARTY/data.csv beside it unless a command is given others."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            read = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path} is no TOML: {error}", "see docs/study-file.md") from None
        parties = [str(party.get("name")) for party in read.get("party", [])]
        return cls(str(read.get("name", "")), parties, {}, text=text, path=Path(path).resolve())

    def add(self, analysis: Analysis) -> Study:
        """The study with its analysis: checked and written by `partita study new`. Raises BadInputError or UsageError
        for what makes no valid study. `remarks` says what was taken without being told."""
        if self._text:
            raise UsageError("this study has its analysis", "write several analyses into a study file: Study.read()")
        with tempfile.TemporaryDirectory(prefix="partita-") as folder:
            arguments = ["study", "new", str(Path(folder) / "study.toml"), "--name", self.name, "--yes"]
            for party in self.parties:
                arguments += ["--party", party]
            for party, names in (self.columns or {"": list(self.variables)}).items():
                file = Path(folder) / f"dictionary-{party}.toml"
                file.write_text("\n".join(self.variables[of].toml(of) for of in names), encoding="utf-8")
                arguments += ["--dictionary", f"{party}={file}" if party else str(file)]
            if analysis.rows_of_each is not None and "--rows" not in self._options:
                arguments += [word for party in self.parties for word in ("--rows", f"{party}={analysis.rows_of_each}")]
            output = call([*arguments, *self._options, *analysis.arguments()])
            text = (Path(folder) / "study.toml").read_text(encoding="utf-8")
        study = Study(self.name, self.parties, self.variables, columns=self.columns, text=text)
        study.remarks = [str(line) for line in output.data["taken"] + output.data["warnings"]]
        return study

    @property
    def text(self) -> str:
        """The study file, which parties agree on."""
        if not self._text:
            raise UsageError("this study has no analysis", "add one: study.add(partita.GLM(...))")
        return self._text

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the study file, for the other parties; refuses to overwrite one."""
        with open(path, "x", encoding="utf-8") as file:
            file.write(self.text)

    def _file(self, folder: Path) -> str:
        if self._path is not None:
            return str(self._path)
        file = folder / "study.toml"
        file.write_text(self.text, encoding="utf-8")
        return str(file)

    def _call(self, command: str, *arguments: str, progress: ProgressHandler | None = None) -> Output:
        with tempfile.TemporaryDirectory(prefix="partita-") as folder:
            return call(["study", command, self._file(Path(folder)), *arguments], progress)

    def validate(self) -> list[str]:
        """Warnings. Raises BadInputError for what is wrong."""
        return [str(text) for text in self._call("validate").data["warnings"]]

    def plan(self, latency: str = "", bandwidth: str = "") -> Plan:
        """Who sends what to whom, what opens and what it costs; nothing runs. latency="20ms", bandwidth="100Mbit/s"."""
        words = {"--latency": latency, "--bandwidth": bandwidth}
        return Plan(self._call("plan", *(word for pair in words.items() if pair[1] for word in pair)).data)

    def rehearse(self, rows: int | None = None, seed: int | None = None,
                 progress: ProgressHandler | bool | None = None) -> Rehearsal:
        """Runs it on made-up rows beside the same in the clear; no data is read."""
        words = {"--rows": rows, "--seed": seed}
        handler = progress_handler(progress)
        output = self._call("rehearse", *(str(word) for pair in words.items() if pair[1] is not None for word in pair),
                            progress=handler)
        end_line(handler)
        raw = output.data
        return Rehearsal(bool(raw["passed"]), raw["lowest_digits"], int(raw["rows"]), raw)

    def _tables(self, data: Mapping[str, Any], folder: Path) -> dict[str, str]:
        form = tomllib.loads(self.text).get("table", {})
        return table_files(data, folder, str(form.get("separator", ",")), str(form.get("decimal", ".")))

    def simulate(self, data: Mapping[str, Any] | None = None, *, in_process: bool = False,
                 output: str | PathLike[str] | None = None, accept_useless: bool = False,
                 progress: ProgressHandler | bool | None = None) -> Result:
        """All parties on this machine, as processes over TLS (in_process: as threads). data: by party a path or rows (a
        DataFrame, columns by name, a list of mappings); of a study file that was read, its own tables without.
        output: also write result.json and the report there."""
        handler = progress_handler(progress)
        with tempfile.TemporaryDirectory(prefix="partita-") as made:
            folder = Path(made)
            words = ["study", "simulate", self._file(folder)]
            for party, file in self._tables(data or {}, folder).items():
                words += ["--data", f"{party}={file}"]
            words += ["--in-process"] * in_process + ["--accept-useless"] * accept_useless
            words += [] if output is None else ["--output", str(Path(output).resolve())]
            try:
                done = call(words, handler)
            finally:
                end_line(handler)
        return result_of(done.data)

    def start(self, folder: str | PathLike[str] = ".", *, party: str = "", data: Any = None, wait: str = "10m",
              options: Sequence[str] = (), progress: ProgressHandler | bool | None = False) -> Run:
        """Takes part as one party, on its host, and returns at once. folder: where key.pem, cert.pem, roster.toml and
        data.csv are; the party's approval lies in it or beside the study file. data: a path or rows instead of data.csv.
        options: others of `partita study join`, as ["--ledger", "ledger.db"]."""
        with ExitStack() as files:
            made = Path(files.enter_context(tempfile.TemporaryDirectory(prefix="partita-")))
            words = ["study", "join", self._file(made), "--folder", str(Path(folder).resolve()), "--wait", wait, "--yes"]
            words += ["--party", party] if party else []
            if data is not None:
                words += ["--data", self._tables({party: data}, made)[party]]
            child = Child([*words, *options], progress_handler(progress) or (lambda at: None))
            kept = files.pop_all()
        return Run(child, kept)

    def run(self, folder: str | PathLike[str] = ".", *, party: str = "", data: Any = None, wait: str = "10m",
            options: Sequence[str] = (), progress: ProgressHandler | bool | None = None) -> Result:
        """As `start`, to its end. A party that is not the receiver gets a result without fits."""
        handler = progress_handler(progress)
        try:
            return self.start(folder, party=party, data=data, wait=wait, options=options,
                              progress=handler or False).wait()
        finally:
            end_line(handler)

    def __repr__(self) -> str:
        return f"<Study {self.name!r} of {', '.join(self.parties)}{'' if self._text else ', without an analysis'}>"
