"""The node of the own site (docs/node-guide.md), on this machine: what its analyst does at a terminal, here."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .errors import NotReleasedError
from .program import Child, Json, ProgressHandler, call
from .result import Result, read_result
from .study import Run, Study, end_line, progress_handler


@dataclass(frozen=True)
class NodeStudy:
    """A study that a node knows. number: of 64 digits; state: proposed, settled, approved, running, finished, failed,
    rejected, withdrawn, expired; reason: why it is there, if there is one; expires: until when it may run."""

    number: str
    name: str
    proposer: str
    state: str
    reason: str
    expires: str

    @staticmethod
    def of(read: Json) -> NodeStudy:
        return NodeStudy(read["study"], read["name"], read["proposer"], read["state"], read["reason"], read["expires"])


def _number(study: str | NodeStudy) -> str:
    return study.number if isinstance(study, NodeStudy) else study


def _result_at_receiver(data: Json) -> Result:
    if not data["result"]:
        raise NotReleasedError(f"the study {data['name']!r} is finished, and its result went to others",
                               "follow it at the node of its receiver")
    return read_result(data["result"])


class Node:
    """at: the folder of the node, or its control.sock. Errors of its methods are the program's, with what to do."""

    def __init__(self, at: str | PathLike[str] = ".") -> None:
        self.at = str(Path(at).resolve())

    def studies(self, over: bool = False) -> list[NodeStudy]:
        """Those that are open; `over`: also what has ended, the newest 100."""
        read = call(["study", "list", "--at", self.at, *["--all"] * over]).data
        return [NodeStudy.of(study) for study in read["studies"]]

    def _start(self, command: str, study: Study | str, options: Sequence[str], handler: ProgressHandler | None) -> Run:
        with ExitStack() as files:
            made = Path(files.enter_context(tempfile.TemporaryDirectory(prefix="partita-")))
            if isinstance(study, Study):
                file = made / "study.toml"
                file.write_text(study.text, encoding="utf-8")
                study = str(file)
            words = ["study", command, study, "--at", self.at, "--output", str(made / "result"), "--yes", *options]
            child = Child(words, handler or (lambda at: None), notes=True)
            kept = files.pop_all()
        return Run(child, kept, _result_at_receiver)

    def start(self, study: Study, *, days: int = 14, accept_useless: bool = False,
              progress: ProgressHandler | bool | None = False) -> Run:
        """Proposes a study to all its parties, and follows it. Returns at once: `wait()` has the result, `progress` where
        it is. `cancel()` stops following; the study goes on at the nodes until somebody withdraws it."""
        options = ["--days", str(days), *["--accept-useless"] * accept_useless]
        return self._start("run", study, options, progress_handler(progress))

    def run(self, study: Study, *, days: int = 14, accept_useless: bool = False,
            progress: ProgressHandler | bool | None = None) -> Result:
        """As `start`, to its end: when all stewards have approved and the nodes have computed it. Raises RefusedError where
        somebody rejects or withdraws it, and NotReleasedError where the result goes to another site."""
        handler = progress_handler(progress)
        try:
            return self.start(study, days=days, accept_useless=accept_useless, progress=handler or False).wait()
        finally:
            end_line(handler)

    def follow(self, study: str | NodeStudy, *, progress: ProgressHandler | bool | None = None) -> Result:
        """To the result of a study by its name, or six digits of its number or more; of one that is over at once. Raises
        as `run`."""
        handler = progress_handler(progress)
        try:
            return self._start("follow", _number(study), [], handler).wait()
        finally:
            end_line(handler)

    def withdraw(self, study: str | NodeStudy, reason: str) -> None:
        """Ends a study, for all. reason: one line that all parties may read."""
        call(["study", "withdraw", _number(study), "--at", self.at, "--reason", reason, "--yes"])

    def __repr__(self) -> str:
        return f"<Node at {self.at}>"

