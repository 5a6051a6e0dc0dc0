"""Variances of combinations of estimates, from a covariance matrix that may have opened rounded.

The entry of two estimates is a multiple of the product of their steps, so that what rounding adds to the variance of a
combination a is at most half of the square of sum |a_i| step_i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import laws
from .errors import NotReleasedError

Row = Sequence[float]


@dataclass(frozen=True)
class Covariance:
    names: list[str]
    values: list[list[float]]
    steps: list[float] | None  # none: it has all its digits

    def of(self, a: Row, b: Row) -> float:
        """Of two combinations."""
        return math.fsum(x * y * value for x, row in zip(a, self.values, strict=True)
                         for y, value in zip(b, row, strict=True))

    def rounding(self, a: Row) -> float:
        """What rounding adds to the variance of a combination, at most."""
        return 0.0 if self.steps is None else sum(abs(x) * step for x, step in zip(a, self.steps, strict=True)) ** 2 / 2

    def error(self, a: Row) -> float:
        """The standard error of a combination; not a number where rounding may be all of its variance."""
        if any(math.isnan(x) for x in a):
            return math.nan
        variance = self.of(a, a)
        return math.sqrt(variance) if variance > self.rounding(a) else math.nan


@dataclass(frozen=True)
class WaldTest:
    """That combinations of coefficients have given values. statistic: chi-square, or F where tests are Student's, with
    df_num and, of F, df_denom degrees of freedom."""

    statistic: float
    p_value: float
    df_num: int
    df_denom: float | None


def _squared(covariance: Covariance, rows: Sequence[Row], values: Sequence[float]) -> float:
    """values' (L V L')^-1 values, by Cholesky's factor."""
    factor: list[list[float]] = []
    total = 0.0
    solved: list[float] = []
    for i, row in enumerate(rows):
        line: list[float] = []
        for j in range(i):
            rest = covariance.of(row, rows[j]) - math.fsum(a * b for a, b in zip(line, factor[j]))
            line.append(rest / factor[j][j])
        pivot = covariance.of(row, row) - math.fsum(a * a for a in line)
        if pivot <= max(covariance.rounding(row), 1e-12 * covariance.of(row, row)):
            raise NotReleasedError("one of these hypotheses follows from the others, or nearly so: what is left of its "
                                   "variance is no more than rounding", "leave it out")
        line.append(math.sqrt(pivot))
        solved.append((values[i] - math.fsum(a * b for a, b in zip(line, solved))) / line[i])
        total += solved[i] ** 2
        factor.append(line)
    return total


def wald(covariance: Covariance, rows: Sequence[Row], values: Sequence[float], df: float | None) -> WaldTest:
    count = len(rows)
    statistic = _squared(covariance, rows, values)
    if df is None:
        return WaldTest(statistic, laws.chi_square_tail(statistic, count), count, None)
    return WaldTest(statistic / count, laws.f_tail(statistic / count, count, df), count, df)
