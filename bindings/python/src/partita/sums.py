"""Regression on private sums: what `partita regression fit` prints."""

from __future__ import annotations

import math
from os import PathLike

from .fit import Coefficient, CoefficientFit, number, optional
from .program import Json, call
from .table import Table, facts, records


class SumsRegressionFit(CoefficientFit):
    """Bayesian linear regression on private sums: what `partita regression fit` prints (docs/private-regression.md).
    `bse` are posterior standard deviations; there are no tests."""

    def __init__(self, raw: Json) -> None:
        super().__init__(raw["outcome"], raw, raw)
        self.coefficients = [
            Coefficient(row["name"], number(row["mean"]), number(row["stddev"]), math.nan, math.nan,
                        number(row["lower"]), number(row["upper"]))
            for row in raw["coefficients"]]

    @property
    def method(self) -> str:
        return "regression"

    @property
    def title(self) -> str:
        return f"Regression of {self.name} on private sums"

    @property
    def confidence(self) -> float:
        return float(self.body["level"])

    def positive(self) -> dict[str, float | None]:
        """The posterior probability that a coefficient is above 0."""
        return {row["name"]: optional(row["positive"]) for row in self.body["coefficients"]}

    def _summary_parts(self) -> list[str | Table]:
        return [records("", self.body["coefficients"], ["name", "mean", "stddev", "lower", "upper", "positive"]),
                facts("", {"rows": self.nobs, "estimator": self.body["estimator"],
                           "residual standard deviation": self.body["residual_stddev"]})]


def fit_private_sums(opened_sum: str | PathLike[str], collection: str | PathLike[str]) -> SumsRegressionFit:
    """Fits the regression of a collection file to its opened sum."""
    words = ["regression", "fit", str(opened_sum), "--collection", str(collection)]
    return SumsRegressionFit(call(words).data)
