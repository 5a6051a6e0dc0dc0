"""Single values of the caller's rows: Python's, and those of numpy and pandas, which need not be there."""

from __future__ import annotations

import math
import operator
from datetime import date, datetime
from decimal import Decimal
from typing import Any


def is_missing(value: Any) -> bool:
    """None, not a number, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, Decimal)) and math.isnan(value)


def cell_text(value: Any) -> str:
    """Numbers with all their digits, whole ones without a point; missing: empty. Raises ValueError for what is no
    single value."""
    if is_missing(value):
        return ""
    if isinstance(value, str):
        return value
    kind = type(value).__name__
    if kind == "datetime64":
        return "" if str(value) == "NaT" else str(value)[:10]
    if isinstance(value, bytes) or hasattr(value, "__len__"):
        raise ValueError(f"a cell is of type {kind}, which is no single value")
    if hasattr(value, "isoformat"):
        return str(value.isoformat())[:10]
    if kind in ("bool", "bool_"):
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def cell_number(value: Any, column: str) -> float:
    """As a model has it: dates in days since 1970-01-01, missing: not a number. Raises ValueError."""
    if is_missing(value):
        return math.nan
    if isinstance(value, date):
        day = value.date() if isinstance(value, datetime) else value
        return float((day - date(1970, 1, 1)).days)
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise ValueError(f"the column {column!r} has {value!r}, and the model has it as a number")
