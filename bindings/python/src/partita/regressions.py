"""Fits of the methods glm and survival (Cox's model)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import laws
from .design import Reference
from .errors import NotReleasedError
from .fit import Coefficient, CoefficientFit, Interval, coefficients_of
from .program import Json
from .table import Cell, Table, records


def _likelihood_ratio(larger: float, smaller: float, df: int, rows: tuple[int, int]) -> tuple[float, float, int]:
    if rows[0] != rows[1]:
        raise ValueError(f"the models are of {rows[0]} and {rows[1]} rows: a test compares models of the same rows")
    if df <= 0:
        raise ValueError("the other model has no fewer coefficients: call it of the larger model")
    statistic = 2 * (larger - smaller)
    if statistic < 0:
        raise ValueError("the other model fits better with fewer coefficients: its terms are none of this one's")
    return statistic, laws.chi_square_tail(statistic, df), df


def _require_same(fit: CoefficientFit, other: CoefficientFit, *keys: str) -> None:
    """Of the outcome and of keys of the result; without them likelihoods are not of the same numbers."""
    def of(one: CoefficientFit) -> list[Any]:
        return [str(one.body["formula"]).partition("~")[0].strip(), *(one.body.get(key) for key in keys)]

    if of(fit) != of(other):
        raise ValueError(f"the models differ in the outcome or in {', '.join(keys)}: a test compares models that "
                         f"differ in their terms only")


class RatioFit(CoefficientFit):
    """Coefficients whose exponential is a ratio."""

    def ratios(self) -> dict[str, Interval]:
        """exp of the coefficients that are logarithms of odds, risks, rates or hazards."""
        return {row["term"]: Interval.of(row["ratio"], "estimate")
                for row in self.body["coefficients"] if row.get("ratio") is not None}

    _ratio_name = "ratio"

    def _ratio_table(self) -> Table:
        rows: list[list[Cell]] = [[term, of.value, of.lower, of.upper] for term, of in self.ratios().items()]
        return Table(["", self._ratio_name, "lower", "upper"], rows)


_INVERSE_LINKS: dict[str, Callable[[float], float]] = {
    "identity": lambda eta: eta,
    "log": math.exp,
    "logit": lambda eta: 1 / (1 + math.exp(-eta)) if eta >= 0 else math.exp(eta) / (1 + math.exp(eta)),
    "probit": laws.normal_cdf,
    "cloglog": lambda eta: -math.expm1(-math.exp(eta)),
}
# Their derivatives.
_INVERSE_LINK_SLOPES: dict[str, Callable[[float], float]] = {
    "identity": lambda eta: 1.0,
    "log": math.exp,
    "logit": lambda eta: math.exp(-abs(eta)) / (1 + math.exp(-abs(eta))) ** 2,
    "probit": lambda eta: math.exp(-eta * eta / 2) / math.sqrt(2 * math.pi),
    "cloglog": lambda eta: math.exp(eta - math.exp(eta)),
}


class GLMFit(RatioFit):
    """A generalised linear model (docs/glm.md)."""

    _ratio_name = "exp(coef)"

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        super().__init__(name, raw, body)
        self.coefficients: list[Coefficient] = coefficients_of(body["coefficients"])

    @property
    def family(self) -> str:
        return str(self.body["family"])

    @property
    def link(self) -> str:
        return str(self.body["link"])

    def _fit(self, key: str) -> float:
        fit = self.body["fit"]
        value = None if fit is None else fit[key]
        if value is None:
            raise NotReleasedError(f"this fit has no {key.replace('_', ' ')}",
                                   "it has none with sampling weights, a penalty, or if it did not converge")
        return float(value)

    @property
    def llf(self) -> float:
        return self._fit("log_likelihood")

    @property
    def aic(self) -> float:
        return self._fit("aic")

    @property
    def deviance(self) -> float:
        return self._fit("deviance")

    @property
    def null_deviance(self) -> float:
        return self._fit("null_deviance")

    @property
    def df_resid(self) -> float:
        return self._fit("df_residual")

    @property
    def df_null(self) -> float:
        return self._fit("df_null")

    @property
    def scale(self) -> float:
        """The dispersion."""
        return self._fit("dispersion")

    @property
    def bic(self) -> float:
        """From the AIC, which has two for each parameter."""
        parameters = (self.aic + 2 * self.llf) / 2
        return -2 * self.llf + parameters * math.log(self.nobs)

    def wald_test_terms(self) -> Table:
        """Of every term of several columns: chi-square, or F where tests are Student's."""
        return records("", self.body["tests"], ["term", "columns", "statistic", "p_value"])

    def _require_likelihood(self) -> None:
        """Raises for fits whose log-likelihood is no maximum of one, or has no chi-square law."""
        if self.family in ("gaussian", "gamma", "quasi-binomial", "quasi-poisson"):
            raise NotReleasedError(f"family {self.family} has a dispersion, and its test is F",
                                   "ask for it in the study file: [analysis.nested]")
        why = ""
        if self.family == "modified-poisson":
            why = "family modified-poisson"
        elif self.body["errors"] != "model":
            why = f"errors {self.body['errors']}"
        elif self.body.get("ridge") is not None or self.body.get("firth"):
            why = "a penalty"
        if why:
            raise NotReleasedError(f"there is no likelihood ratio test of a fit with {why}",
                                   "take the Wald tests of terms: wald_test_terms()")

    def compare_lr_test(self, restricted: GLMFit) -> tuple[float, float, int]:
        """Statistic, p-value and degrees of freedom of a model of the same rows with fewer terms, where the
        dispersion is known."""
        for fit in (self, restricted):
            fit._require_likelihood()
        _require_same(self, restricted, "family", "link", "sites", "weights")
        return _likelihood_ratio(self.llf, restricted.llf, len(self.coefficients) - len(restricted.coefficients),
                                 (self.nobs, restricted.nobs))

    def predict(self, rows: Any, which: str = "mean", *, reference: Reference | None = None) -> list[float]:
        """Of rows of the caller's own: "mean" (probabilities, rates) or "linear". reference: as of CoefficientFit."""
        if which not in ("mean", "linear"):
            raise ValueError('which is "mean" or "linear"')
        if self.family in ("ordinal", "multinomial"):
            raise NotReleasedError(f"predict() does not know family {self.family}", "compute it from params")
        if self.body["sites"] is not None:
            raise NotReleasedError('predict() has no intercept: each institution keeps its own (site = "fixed")',
                                   'compare rows by params, or fit one intercept: site = "ignore"')
        if "offset(" in str(self.body["formula"]):
            raise NotReleasedError("predict() does not know the offset of the formula", "compute it from params")
        eta = super().predict(rows, reference=reference)
        return eta if which == "linear" else [_INVERSE_LINKS[self.link](value) for value in eta]

    def get_prediction(self, rows: Any, alpha: float = 0.05, *, reference: Reference | None = None) -> Table:
        """Of rows of the caller's own, as statsmodels' summary_frame(): mean, mean_se (delta method), mean_ci_lower and
        mean_ci_upper (of the linear predictor's interval); not a number where the matrix opened rounded and rounding
        may be all of a variance. Raises NotReleasedError where cov_params() does."""
        self.predict(rows, "linear", reference=reference)  # refuses what has no predictions
        return self._prediction(rows, alpha, reference, _INVERSE_LINKS[self.link], _INVERSE_LINK_SLOPES[self.link])

    def _facts(self) -> dict[str, Cell]:
        fit = self.body["fit"] or {}
        return {"family": self.family, "link": self.link, "errors": self.body["errors"],
                "observations": self.nobs, "events": self.body["events"], "clusters": self.body["clusters"],
                "null deviance": fit.get("null_deviance"), "deviance": fit.get("deviance"),
                "residual df": fit.get("df_residual"), "dispersion": fit.get("dispersion"),
                "log-likelihood": fit.get("log_likelihood"), "AIC": fit.get("aic")}

    def _summary_parts(self) -> list[str | Table]:
        parts = super()._summary_parts()
        if self.ratios():
            parts.insert(2, self._ratio_table())
        if self.body["tests"]:
            parts.insert(-1, self.wald_test_terms())
        return parts


class CoxFit(RatioFit):
    """Cox's model (docs/survival.md). Estimates are log hazard ratios."""

    _ratio_name = "hazard ratio"

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        super().__init__(name, raw, body)
        self.coefficients: list[Coefficient] = coefficients_of(body["coefficients"])

    @property
    def nevents(self) -> int:
        return int(self.body["events"])

    def _fit(self, key: str) -> Any:
        if self.body["fit"] is None:
            raise NotReleasedError("this fit did not converge, and has no likelihood", "look at its warnings")
        return self.body["fit"][key]

    @property
    def llf(self) -> float:
        return float(self._fit("log_likelihood"))

    @property
    def llnull(self) -> float:
        return float(self._fit("null_log_likelihood"))

    @property
    def aic(self) -> float:
        return float(self._fit("aic"))

    def tests(self) -> Table:
        """Of all coefficients together: likelihood ratio, Wald, score; and of proportional hazards, if asked for."""
        rows: list[Json] = [{"test": key.replace("_", " "), **self._fit(key)}
                            for key in ("likelihood_ratio", "wald", "score")]
        proportional = self._fit("proportional")
        if proportional is not None:
            rows += [{"test": f"proportional hazards: {of['term']}", "df": 1, **of} for of in proportional["terms"]]
            rows.append({"test": "proportional hazards: all", **proportional["all"]})
        return records("", rows, ["test", "chi_square", "df", "p_value"])

    def compare_lr_test(self, restricted: CoxFit) -> tuple[float, float, int]:
        """Statistic, p-value and degrees of freedom of a model of the same rows with fewer terms."""
        if "robust" in (self.body["errors"], restricted.body["errors"]):
            raise NotReleasedError("there is no likelihood ratio test of a fit with errors robust",
                                   "take the Wald test: tests()")
        _require_same(self, restricted, "ties", "strata")
        return _likelihood_ratio(self.llf, restricted.llf, len(self.coefficients) - len(restricted.coefficients),
                                 (self.nobs, restricted.nobs))

    def _facts(self) -> dict[str, Cell]:
        fit = self.body["fit"] or {}
        return {"observations": self.nobs, "events": self.nevents, "ties": self.body["ties"],
                "log-likelihood": fit.get("log_likelihood"), "AIC": fit.get("aic")}

    def _summary_parts(self) -> list[str | Table]:
        parts = super()._summary_parts()
        parts.insert(2, self._ratio_table())
        if self.body["fit"] is not None:
            parts.append(self.tests())
        return parts
