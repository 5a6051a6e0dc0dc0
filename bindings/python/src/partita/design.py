"""Columns of a model, by the names of its terms, of rows that the caller has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]

_FUNCTIONS: dict[str, Callable[[float], float]] = {"log": math.log, "log1p": math.log1p, "sqrt": math.sqrt}
_CALL = re.compile(r"^(\w+)\(([\w.]+)\)$")
_POWER = re.compile(r"^I\(([\w.]+)\s*\^\s*(\d+)\)$")
_PRODUCT = re.compile(r"^I\(([\w.]+)\s*\*\s*([\w.]+)\)$")


def columns_of(rows: Any) -> dict[str, list[Any]]:
    """From a pandas DataFrame, a mapping of columns, or a list of mappings."""
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        return {str(name): list(rows[name]) for name in rows.columns}
    if isinstance(rows, Mapping):
        return {str(name): list(values) for name, values in rows.items()}
    listed = list(rows)
    return {str(name): [row[name] for row in listed] for name in (listed[0] if listed else {})}


def length_of(columns: Columns) -> int:
    return max((len(values) for values in columns.values()), default=0)


def _factors(term: str) -> list[str]:
    """"a:log(b)" at its colons."""
    return term.split(":")


def _one(name: str, columns: Columns) -> list[float]:
    if name in columns:
        return [float(value) for value in columns[name]]
    for pattern in (_CALL, _POWER, _PRODUCT):
        found = pattern.match(name)
        if found is None:
            continue
        if pattern is _CALL and found[1] in _FUNCTIONS and found[2] in columns:
            return [_FUNCTIONS[found[1]](float(value)) for value in columns[found[2]]]
        if pattern is _POWER and found[1] in columns:
            return [float(value) ** int(found[2]) for value in columns[found[1]]]
        if pattern is _PRODUCT and found[1] in columns and found[2] in columns:
            return [float(a) * float(b) for a, b in zip(columns[found[1]], columns[found[2]])]
    # The column of a level: "sex.male", "factor(k).3".
    for column in sorted(columns, key=len, reverse=True):
        for before in (f"{column}.", f"factor({column})."):
            if name.startswith(before):
                return [1.0 if str(value) == name[len(before):] else 0.0 for value in columns[column]]
    raise ValueError(
        f"the column {name!r} of the model cannot be made from the columns {', '.join(columns)}: "
        f"add the variable that it comes from, or a column of that name")


def column_of(term: str, columns: Columns) -> list[float]:
    """The values of a term in every row. Contrasts are treatment contrasts. Raises ValueError."""
    if term in ("(Intercept)", "(intercept)"):
        return [1.0] * length_of(columns)
    if term in columns:
        return [float(value) for value in columns[term]]
    values = [1.0] * length_of(columns)
    for name in _factors(term):
        values = [a * b for a, b in zip(values, _one(name, columns))]
    return values


def linear_predictor(params: Mapping[str, float], rows: Any) -> list[float]:
    columns = columns_of(rows)
    total = [0.0] * length_of(columns)
    for term, estimate in params.items():
        total = [a + estimate * b for a, b in zip(total, column_of(term, columns))]
    return total
