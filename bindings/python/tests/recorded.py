"""Where the recorded results are: beside the package in Partita's sources."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import partita as pt

FOLDER = Path(os.environ.get("PARTITA_RECORDED") or Path(__file__).parents[2] / "recorded")


def result(name: str) -> pt.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.NotConvergedWarning)
        return pt.read_result(FOLDER / f"{name}.json")
