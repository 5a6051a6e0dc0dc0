"""Fits of the methods mixed and meta: what differs between groups, and between sites."""

from __future__ import annotations

import math
from typing import Any

from .design import Reference
from .errors import NotReleasedError
from .fit import Coefficient, CoefficientFit, Interval, coefficients_of, number
from .program import Json
from .table import Cell, Table


class MixedFit(CoefficientFit):
    """A model with a random intercept (docs/mixed.md); of families that are not linear `within` is of nothing."""

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        super().__init__(name, raw, body)
        self.coefficients: list[Coefficient] = coefficients_of(body["coefficients"])

    @property
    def fe_params(self) -> dict[str, float]:
        return self.params

    @property
    def ngroups(self) -> int:
        return int(self.body["groups"])

    @property
    def between(self) -> Interval:
        """The variance between groups."""
        return Interval.of(self.body["between"])

    @property
    def within(self) -> Interval:
        """The residual variance."""
        return Interval.of(self.body["within"])

    @property
    def intraclass_correlation(self) -> Interval:
        return Interval.of(self.body["intraclass_correlation"])

    @property
    def slope_variance(self) -> Interval:
        """The variance of slopes between groups, where the model has a random slope."""
        return Interval.of((self.body.get("slope") or {}).get("variance"))

    @property
    def slope_correlation(self) -> Interval:
        """The correlation of intercepts and slopes."""
        return Interval.of((self.body.get("slope") or {}).get("correlation"))

    def _criterion(self, key: str) -> float:
        if self.body[key] is None:
            raise NotReleasedError(f"this fit has no {key.replace('_', ' ')}", "it has none if it did not converge")
        return float(self.body[key])

    @property
    def llf(self) -> float:
        return self._criterion("log_likelihood")

    @property
    def aic(self) -> float:
        return self._criterion("aic")

    @property
    def bic(self) -> float:
        return self._criterion("bic")

    def _facts(self) -> dict[str, Cell]:
        return {"criterion": self.body["criterion"], "observations": self.nobs, "groups": self.ngroups,
                "log-likelihood": self.body["log_likelihood"], "AIC": self.body["aic"], "BIC": self.body["bic"]}

    def _summary_parts(self) -> list[str | Table]:
        parts = super()._summary_parts()
        rows: list[list[Cell]] = [
            [label, of.value, of.lower, of.upper]
            for label, of in ((f"between groups ({self.body['group']})", self.between),
                              ("slopes of groups", self.slope_variance),
                              ("correlation of intercepts and slopes", self.slope_correlation),
                              ("within (residual)", self.within),
                              ("correlation within groups", self.intraclass_correlation))
            if of.value is not None]
        parts.insert(2, Table(["variance", "value", "lower", "upper"], rows))
        return parts


class MetaFit(CoefficientFit):
    """Estimates of sites, pooled (docs/meta.md)."""

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        super().__init__(name, raw, body)
        self.coefficients: list[Coefficient] = coefficients_of([{"term": body["of"], **body}])

    @property
    def nobs(self) -> int:
        """Sites that have an estimate."""
        return int(self.body["sites"])

    @property
    def tau2(self) -> float:
        return number(self.body["tau_squared"])

    @property
    def q(self) -> float:
        return number(self.body["q"])

    @property
    def i2(self) -> float:
        return number(self.body["i_squared"])

    def predict(self, rows: Any, *, reference: Reference | None = None) -> list[float]:
        """Raises NotReleasedError: there are no rows to predict for; `new_site` is the interval of another site."""
        raise NotReleasedError("a meta-analysis predicts no rows", "new_site is the interval of another site")

    @property
    def new_site(self) -> Interval:
        return Interval.of(self.body["new_site"])

    def _facts(self) -> dict[str, Cell]:
        ratio: dict[str, Cell] = {}
        if self.body["ratios"]:
            one = self.coefficients[0]
            ratio = {"ratio": math.exp(one.estimate), "ratio, lower": math.exp(one.lower),
                     "ratio, upper": math.exp(one.upper)}
        return {**ratio, "sites": self.nobs, "tau^2": self.tau2, "Q": self.q, "p of Q": self.body["q_p_value"],
                "I^2": self.i2, "another site, lower": self.new_site.lower, "another site, upper": self.new_site.upper}
