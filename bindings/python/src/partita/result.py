"""A result: its analyses as fits, and what it says of itself."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from .errors import NotConvergedWarning, ProgramError
from .fit import Fit
from .others import CurvesFit, DescribeFit, DrawsFit, MarginalsFit, MixtureFit, PrivateClassifier
from .pooled import MetaFit, MixedFit
from .program import Json, read_output
from .regressions import CoxFit, GLMFit
from .sem import SEMFit
from .table import Table, records

RESULT_VERSION = 3

_KINDS: dict[str, Callable[[str, Json, Json], Fit]] = {
    "glm": GLMFit, "mixed": MixedFit, "meta": MetaFit, "describe": DescribeFit, "mcmc": DrawsFit,
    "classify": PrivateClassifier, "mixture": MixtureFit, "marginals": MarginalsFit,
}


def _fits(raw: Json) -> dict[str, Fit]:
    if "analyses" in raw:
        return {str(body["name"] or "mle"): SEMFit(str(body["name"] or "mle"), raw, body) for body in raw["analyses"]}
    if "result" not in raw:
        return {}
    method, body = str(raw["plan"]["method"]), raw["result"]
    if method == "survival":
        return {method: CoxFit(method, raw, body) if "coefficients" in body else CurvesFit(method, raw, body)}
    # A method that is newer than this package: its tables are those of the report.
    return {method: _KINDS.get(method, Fit)(method, raw, body)}


class Result:
    """What the receiver of a study keeps (docs/result-json.md). `result["adjusted"]` is a fit by the name of its
    analysis, `result.fit` the only one."""

    def __init__(self, raw: Json) -> None:
        if raw.get("schema_version") != RESULT_VERSION:
            raise ProgramError(f"this result has version {raw.get('schema_version')}; this package reads "
                               f"{RESULT_VERSION}",
                               "install a package and a program of the same version")
        self.raw = raw
        self._fits = _fits(raw)

    @property
    def status(self) -> str:
        return str(self.raw["status"])

    @property
    def fit(self) -> Any:
        """The fit of a study with one analysis. Its type follows the method: GLMFit, SEMFit, ..."""
        if len(self._fits) != 1:
            raise KeyError(f"this result has {len(self._fits)} analyses ({', '.join(self._fits)}): take one by name")
        return next(iter(self._fits.values()))

    def __getitem__(self, name: str) -> Any:
        if name not in self._fits:
            raise KeyError(f"no analysis {name!r}; there are: {', '.join(self._fits)}")
        return self._fits[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    def fits(self) -> list[Fit]:
        return list(self._fits.values())

    @property
    def statements(self) -> list[str]:
        """What every report says in words; of private studies `privacy` too."""
        return [str(of["text"]) for of in self.raw.get("statements", [])] + [str(text) for text in self.raw["privacy"]]

    @property
    def methods(self) -> str:
        """A paragraph for the methods section of a paper; of method mle."""
        return str(self.raw.get("methods", ""))

    def learned(self) -> dict[str, list[str]]:
        """By party what it learned."""
        return {of["party"]: [str(text) for text in of["learns"]] for of in self.raw["learned"]}

    def traffic(self) -> Table:
        return records("", self.raw["traffic"], ["phase", "rounds", "bytes_sent", "bytes_received", "seconds"])

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the JSON, which `read_result` and `partita study report` read. It may hold moments: as confidential
        as these, and readable by its owner only."""
        text = json.dumps(self.raw, indent=2, allow_nan=False) + "\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text)

    def __str__(self) -> str:
        return "\n\n".join(str(fit) for fit in self._fits.values())

    def __repr__(self) -> str:
        return f"<Result of study {self.raw['study']['name']!r}: {', '.join(self._fits) or 'no analyses here'}>"

    def _repr_html_(self) -> str:
        return "".join(fit._repr_html_() for fit in self._fits.values())


def result_of(raw: Json) -> Result:
    """Warns NotConvergedWarning of analyses that did not converge."""
    result = Result(raw)
    for fit in result.fits():
        if not fit.converged:
            warnings.warn(f"{fit.name}: did not converge; its numbers are no estimates",
                          NotConvergedWarning, stacklevel=3)
    return result


def read_result(path: str | PathLike[str]) -> Result:
    """From a result.json, or from what a command printed with --format json."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        raw = json.loads(text)
    except ValueError:
        raise ProgramError(f"{path} is no JSON", "give it a result.json") from None
    printed = isinstance(raw, dict) and ("data" in raw or "error_code" in raw)
    return result_of(read_output(text).data if printed else raw)
