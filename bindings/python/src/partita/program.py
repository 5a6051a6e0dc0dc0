"""Starts the program, a list of arguments and no shell, and reads the JSON that it prints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .errors import InternalError, ProgramError, error_of

Json = dict[str, Any]

# Of the object around every output.
ENVELOPE_VERSION = 1


@dataclass(frozen=True)
class Progress:
    """Where a run is: `done` of `total` units of a phase (total 0: not known), after `seconds` of it."""

    phase: str
    done: int
    total: int
    seconds: float


ProgressHandler = Callable[[Progress], None]


@dataclass(frozen=True)
class Output:
    status: str
    data: Json


def program() -> str:
    """The program's path: the variable PARTITA, else the first `partita` on the PATH."""
    named = os.environ.get("PARTITA")
    found = shutil.which(named) if named else shutil.which("partita")
    if found is None:
        raise ProgramError(
            f"there is no program {named!r}" if named else "the program partita is not on the PATH",
            "install it (docs/install.md of Partita), or say where it is in the variable PARTITA")
    return found


def program_version() -> str:
    """What `partita --version` prints, for example "0.1.0"."""
    done = subprocess.run([program(), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout.strip():
        raise ProgramError(f"{program()} does not say its version", "install it (docs/install.md of Partita)")
    return done.stdout.strip()


def _progress_of(line: str) -> Progress | None:
    if not line.startswith("{"):
        return None
    try:
        read = json.loads(line)
        return Progress(read["phase"], read["done"], read["total"], read["seconds"])
    except (ValueError, KeyError, TypeError):
        return None


class Child:
    """A running command. Its standard error is read by a thread: progress, and remarks for people. notes: the command
    has no progress of its own, and each of its remarks is one."""

    def __init__(self, arguments: Sequence[str], progress: ProgressHandler | None = None,
                 folder: str | None = None, *, notes: bool = False) -> None:
        command = [program(), *arguments, "--format", "json"]
        if not notes:
            command += ["--quiet"] if progress is None else ["--progress", "jsonl"]
        self._began = time.monotonic() if notes else None
        self._handler = progress
        self._failure: BaseException | None = None
        self._remarks: list[str] = []
        self.last_progress: Progress | None = None
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", cwd=folder,
            # Control-C at a terminal reaches groups: wait() passes on the one that is meant for this program.
            process_group=0)
        self._printed: list[str] = []
        self._readers = [threading.Thread(target=read, daemon=True)
                         for read in (self._read_output, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        self._printed.append(self._process.stdout.read())

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            at = _progress_of(line)
            if at is None:
                self._remarks.append(line.rstrip("\n"))
                if self._began is None:
                    continue
                at = Progress(self._remarks[-1], 0, 0, time.monotonic() - self._began)
            self.last_progress = at
            if self._handler is None or self._failure is not None:
                continue
            # What it raises is raised by wait(); the pipe is read on, or the program would wait for it.
            try:
                self._handler(at)
            except BaseException as failure:
                self._failure = failure
                self.cancel()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def cancel(self) -> None:
        """Asks it to stop, as Control-C does."""
        if self.running:
            self._process.send_signal(signal.SIGINT)

    def stop(self, patience: float | None = None) -> None:
        """Cancels it and waits for its end, which comes by force after `patience` seconds. Another Control-C meanwhile
        is its second, which ends it at once."""
        self.cancel()
        try:
            self._process.wait(patience)
        except KeyboardInterrupt:
            self.cancel()
            self._process.wait()
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self, timeout: float | None = None) -> Output:
        """Its output. Raises what it reports, what the progress function raised, and subprocess.TimeoutExpired after `timeout` seconds."""
        try:
            self._process.wait(timeout)
        except KeyboardInterrupt:
            self.stop()
            raise
        for reader in self._readers:
            reader.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._failure is not None:
            raise self._failure
        return read_output("".join(self._printed), self._process.returncode, "\n".join(self._remarks))


def read_output(text: str, exit_code: int = 0, remarks: str = "") -> Output:
    """What a command printed with --format json. Raises the error that it reports."""
    try:
        read = json.loads(text)
    except ValueError:
        raise InternalError(
            f"the program ended with {exit_code} and printed no JSON{': ' + remarks if remarks else ''}",
            "look at the system's log: out of memory?", exit_code=exit_code) from None
    if not isinstance(read, dict) or "status" not in read:
        raise ProgramError("this is no output of partita", "give it what --format json prints")
    if read.get("schema_version") != ENVELOPE_VERSION:
        raise ProgramError(
            f"this output has version {read.get('schema_version')}; this package reads {ENVELOPE_VERSION}",
            "install a package and a program of the same version")
    if read["status"] == "error":
        raise error_of(read["error_code"], read["message"], read["hint"], exit_code)
    return Output(read["status"], cast(Json, read["data"]))


def call(arguments: Sequence[str], progress: ProgressHandler | None = None,
         folder: str | None = None) -> Output:
    """Runs a command to its end."""
    return Child(arguments, progress, folder).wait()
