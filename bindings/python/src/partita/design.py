"""Columns of a model, by the names of its terms, of rows that the caller has.

Results of glm, Cox's and mixed models say how the levels of each factor became columns. Others say no more of levels than
the names of their columns: there a level with a column of its own is 1 there and 0 in the others, by treatment contrasts
and by sums, and any other level needs the reference from the caller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .cells import cell_number, cell_text, is_missing
from .errors import NotReleasedError
from .program import Json

Columns = Mapping[str, Sequence[Any]]
# By variable the level that the others are compared with.
Reference = Mapping[str, Any]

_FUNCTIONS: dict[str, Callable[[float], float]] = {"log": math.log, "log1p": math.log1p, "sqrt": math.sqrt}
_CALL = re.compile(r"^(\w+)\(([\w.]+)\)$")
_POWER = re.compile(r"^I\(([\w.]+)\s*\^\s*(\d+)\)$")
_PRODUCT = re.compile(r"^I\(([\w.]+)\s*\*\s*([\w.]+)\)$")
_NO_NAME = re.compile(r"[^A-Za-z0-9._]")


def _column(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ValueError(f"the column {name!r} is one value: give it a list with a value for each row")
    return list(values)


def columns_of(rows: Any) -> dict[str, list[Any]]:
    """From a pandas DataFrame, a mapping of columns, or a list of mappings. Raises ValueError unless every column has
    one value for each row."""
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        if len({str(name) for name in rows.columns}) < len(rows.columns):
            raise ValueError("two columns have the same name")
        columns = {str(name): list(rows[name]) for name in rows.columns}
    elif isinstance(rows, Mapping):
        columns = {str(name): _column(str(name), values) for name, values in rows.items()}
    else:
        listed = list(rows)
        if not all(isinstance(row, Mapping) for row in listed):
            raise ValueError("rows are a DataFrame, columns by name, or a list of mappings")
        if any(set(row) != set(listed[0]) for row in listed):
            raise ValueError("rows have other names than the first: give each row a value for every column, or None")
        columns = {str(name): [row[name] for row in listed] for name in (listed[0] if listed else {})}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    return columns


def length_of(columns: Columns) -> int:
    return max((len(values) for values in columns.values()), default=0)


def _factors(term: str) -> list[str]:
    """"a:log(b)" at its colons."""
    return term.split(":")


def _level_part(level: str) -> str:
    """As the program names the column of a level."""
    return _NO_NAME.sub("_", level)


def _may_be_polynomial(parts: Collection[str], numeric: bool) -> bool:
    """Whether columns may as well be polynomials of an ordered variable or of a number."""
    degrees = [str(i + 1) for i in range(len(parts))]
    ordered = ["L", "Q", "C", *degrees[3:]][:len(degrees)]
    return set(parts) == set(ordered) or (numeric and len(parts) > 1 and set(parts) == set(degrees))


@dataclass(frozen=True)
class _Levels:
    """A variable's levels in a model: `parts` are the ends of the names of their columns."""

    column: str
    parts: Collection[str]
    by_factor: bool
    reference: str | None

    def _hint(self) -> str:
        return (f'name the reference of the study file: predict(rows, reference={{"{self.column}": "..."}}), which says '
                f"that its contrasts are treatment contrasts; or give the columns of the model themselves")

    def _check(self, cells: Sequence[Any], levels: Collection[str]) -> None:
        numeric = not any(isinstance(cell, str) for cell in cells if not is_missing(cell))
        if self.reference is None:
            if not self.by_factor and _may_be_polynomial(self.parts, numeric):
                raise NotReleasedError(f"the result does not say whether {self.column} has levels or polynomials",
                                       self._hint())
        elif _level_part(self.reference) in self.parts:
            raise ValueError(f"{self.reference!r} is not the reference of {self.column}: it has a column of its own")
        others = [level for level in levels if level != self.reference]
        if len({_level_part(level) for level in others}) < len(others):
            raise ValueError(f"two levels of {self.column} have the same column in the model: write them exactly as in "
                             f"the study file")
        unknown = [level for level in others if _level_part(level) not in self.parts]
        if unknown:
            what = (f"{self.column} has no column for {', '.join(map(repr, unknown))}; there are: "
                    f"{', '.join(self.parts)}")
            if self.reference is None:
                raise NotReleasedError(f"{what}. Which other level is the reference the result does not say",
                                       self._hint())
            raise ValueError(what)

    def indicator(self, part: str, cells: Sequence[Any]) -> list[float]:
        """1 in the rows with this level, not a number where it is missing."""
        texts = [None if is_missing(cell) else cell_text(cell) for cell in cells]
        self._check(cells, {text: None for text in texts if text is not None})
        return [math.nan if text is None else float(_level_part(text) == part) for text in texts]


@dataclass(frozen=True)
class _Coding:
    """How the levels of a factor became columns, as the result says it (docs/schemas/result-parts.json)."""

    variable: str
    contrasts: str
    levels: Sequence[str]
    reference: str | None
    columns: Mapping[str, Sequence[float]]

    @staticmethod
    def of(read: Json) -> _Coding:
        return _Coding(read["variable"], read["contrasts"], read["levels"], read["reference"],
                       {column["name"]: column["values"] for column in read["columns"]})

    def check_reference(self, reference: str) -> None:
        hint = "leave reference out: the result says how its factors are coded"
        if self.reference is None:
            raise ValueError(f"{self.variable} has no reference: its contrasts are {self.contrasts}; {hint}")
        if self.reference != reference:
            raise ValueError(f"{reference!r} is not the reference of {self.variable}: that is {self.reference!r}; {hint}")

    def column(self, name: str, cells: Sequence[Any]) -> list[float]:
        """Not a number where a level is missing."""
        by_level = dict(zip(self.levels, self.columns[name], strict=True))
        texts = [None if is_missing(cell) else cell_text(cell) for cell in cells]
        unknown = list(dict.fromkeys(text for text in texts if text is not None and text not in by_level))
        if unknown:
            raise ValueError(f"{self.variable} has no level {', '.join(map(repr, unknown))}; there are: "
                             f"{', '.join(self.levels)}")
        return [math.nan if text is None else float(by_level[text]) for text in texts]


class Design:
    """Of rows of the caller's own, for a model whose columns have the names of `terms`. factors: how they are coded, as
    the result says it, or None where it does not."""

    def __init__(self, terms: Iterable[str], columns: Columns, reference: Reference | None = None,
                 factors: Sequence[Json] | None = None) -> None:
        self._names = list(dict.fromkeys(name for term in terms for name in _factors(term)))
        self._columns = columns
        self._reference = {name: cell_text(level) for name, level in (reference or {}).items()}
        strange = [name for name in self._reference if name not in columns]
        if strange:
            raise ValueError(f"reference names no columns of these rows: {', '.join(strange)}")
        self._levels_by_name = factors is None
        codings = [_Coding.of(factor) for factor in factors or ()]
        self._codings = {name: coding for coding in codings for name in coding.columns}
        if factors is not None:
            by_variable = {coding.variable: coding for coding in codings}
            for name, level in self._reference.items():
                if name not in by_variable:
                    raise ValueError(f"reference names {name}, which is no factor of this model")
                by_variable[name].check_reference(level)

    def _numbers(self, name: str) -> list[float]:
        return [cell_number(value, name) for value in self._columns[name]]

    def _one(self, name: str) -> list[float]:
        coding = self._codings.get(name)
        # Scores have the name of their variable.
        if coding is not None and coding.variable in self._columns and (
                name == coding.variable or name not in self._columns):
            return coding.column(name, self._columns[coding.variable])
        if name in self._columns:
            return self._numbers(name)
        for pattern in (_CALL, _POWER, _PRODUCT):
            found = pattern.match(name)
            if found is None:
                continue
            if pattern is _CALL and found[1] in _FUNCTIONS and found[2] in self._columns:
                return [_FUNCTIONS[found[1]](value) for value in self._numbers(found[2])]
            if pattern is _POWER and found[1] in self._columns:
                return [value ** int(found[2]) for value in self._numbers(found[1])]
            if pattern is _PRODUCT and found[1] in self._columns and found[2] in self._columns:
                return [a * b for a, b in zip(self._numbers(found[1]), self._numbers(found[2]), strict=True)]
        # The column of a level: "sex.male", "factor(k).3".
        for column in sorted(self._columns, key=len, reverse=True) if self._levels_by_name else ():
            for before in (f"{column}.", f"factor({column})."):
                if name.startswith(before):
                    parts = [other[len(before):] for other in self._names if other.startswith(before)]
                    levels = _Levels(column, parts, before.startswith("factor("), self._reference.get(column))
                    return levels.indicator(name[len(before):], self._columns[column])
        raise ValueError(
            f"the column {name!r} of the model cannot be made from the columns {', '.join(self._columns)}: "
            f"add the variable that it comes from, or a column of that name")

    def column_of(self, term: str) -> list[float]:
        """The values of a term in every row. Raises ValueError, and NotReleasedError for levels that the result does
        not know."""
        if term in ("(Intercept)", "(intercept)"):
            return [1.0] * length_of(self._columns)
        if term in self._columns and term not in self._codings:
            return self._numbers(term)
        values = [1.0] * length_of(self._columns)
        for name in _factors(term):
            values = [a * b for a, b in zip(values, self._one(name), strict=True)]
        return values


def rows_of(terms: Iterable[str], rows: Any, reference: Reference | None = None,
            factors: Sequence[Json] | None = None) -> list[list[float]]:
    """The values of all terms in every row."""
    columns = columns_of(rows)
    terms = list(terms)
    design = Design(terms, columns, reference, factors)
    values = [design.column_of(term) for term in terms]
    return [[value[row] for value in values] for row in range(length_of(columns))]


def linear_predictor(params: Mapping[str, float], rows: Any, reference: Reference | None = None,
                     factors: Sequence[Json] | None = None) -> list[float]:
    estimates = list(params.values())
    return [sum(a * b for a, b in zip(estimates, row, strict=True))
            for row in rows_of(params, rows, reference, factors)]
