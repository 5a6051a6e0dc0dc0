"""What every method's result has, and fits that are a list of coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import design, laws
from .covariance import Covariance, WaldTest, wald
from .errors import NotReleasedError
from .program import Json
from .table import Cell, Page, Table, facts


class Fit:
    """One analysis of a result.

    name: of the analysis, or of the method; method: as in study files; raw: the whole JSON of the result
    (docs/result-json.md); body: the part of it that is this analysis.
    """

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        self.name = name
        self.raw = raw
        self.body = body

    @property
    def method(self) -> str:
        return str(self.raw["plan"]["method"]) if "plan" in self.raw else ""

    @property
    def converged(self) -> bool:
        return bool(self.body.get("converged", True))

    @property
    def warnings(self) -> list[str]:
        return [str(text) for text in self.body.get("warnings", [])]

    @property
    def title(self) -> str:
        study = self.raw.get("study", {})
        return str(study.get("title") or study.get("name") or self.name)

    def tables(self) -> list[Table]:
        """The tables of the report, as its pages show them."""
        return [Table(table["columns"], table["rows"], table["title"])
                for section in self.raw.get("document", {}).get("sections", [])
                for table in section["tables"]]

    def _summary_parts(self) -> list[str | Table]:
        return list(self.tables())

    def summary(self) -> Page:
        """What people read; prints as text and shows as HTML in a notebook."""
        parts: list[str | Table] = []
        if not self.converged:
            parts.append("NOT CONVERGED: these numbers are no estimates.")
        parts += self._summary_parts()
        parts += [f"Warning: {text}" for text in self.warnings]
        return Page(self.title, parts)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of study {self.raw.get('study', {}).get('name', '')!r}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


@dataclass(frozen=True)
class Coefficient:
    """step: the grid that the estimate is a multiple of (0: none)."""

    term: str
    estimate: float
    std_error: float
    statistic: float
    p_value: float
    lower: float
    upper: float
    step: float = 0.0


def number(value: Any) -> float:
    return math.nan if value is None else float(value)


def optional(value: Any) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True)
class Interval:
    value: float | None
    lower: float | None
    upper: float | None

    @staticmethod
    def of(read: Json | None, middle: str = "value") -> Interval:
        read = read or {}
        return Interval(optional(read.get(middle)), optional(read.get("lower")), optional(read.get("upper")))


def coefficients_of(rows: Sequence[Json]) -> list[Coefficient]:
    return [Coefficient(row["term"], number(row["estimate"]), number(row["standard_error"]),
                        number(row["statistic"]), number(row["p_value"]), number(row["lower"]),
                        number(row["upper"]), number(row.get("step") or 0)) for row in rows]


class CoefficientFit(Fit):
    """A regression: estimates with standard errors, tests and intervals. The names are those of statsmodels."""

    coefficients: list[Coefficient]

    @property
    def params(self) -> dict[str, float]:
        return {of.term: of.estimate for of in self.coefficients}

    @property
    def bse(self) -> dict[str, float]:
        return {of.term: of.std_error for of in self.coefficients}

    @property
    def tvalues(self) -> dict[str, float]:
        """Estimates by standard errors: t where there is `df_t`, else z."""
        return {of.term: of.statistic for of in self.coefficients}

    @property
    def zvalues(self) -> dict[str, float]:
        return self.tvalues

    @property
    def pvalues(self) -> dict[str, float]:
        return {of.term: of.p_value for of in self.coefficients}

    @property
    def df_t(self) -> float | None:
        """Degrees of freedom of Student's law of the tests; None: they are normal."""
        df = self.body.get("df")
        return None if df is None else float(df)

    @property
    def use_t(self) -> bool:
        return self.df_t is not None

    @property
    def confidence(self) -> float:
        """Of the intervals that the study has."""
        return float(self.body.get("confidence", 0.95))

    def _quantile(self, alpha: float) -> float:
        df = self.df_t
        if df is None:
            return laws.normal_quantile(1 - alpha / 2)
        if df != int(df):
            raise NotReleasedError(f"there are no intervals but those of {self.confidence:g}: the degrees of "
                                   f"freedom {df:g} are no whole number",
                                   "write the confidence into the study file")
        return laws.student_quantile(1 - alpha / 2, int(df))

    def conf_int(self, alpha: float | None = None) -> dict[str, tuple[float, float]]:
        """Lower and upper ends. Without `alpha` those of the study, at its `confidence`."""
        if alpha is None or abs(1 - alpha - self.confidence) < 1e-12:
            return {of.term: (of.lower, of.upper) for of in self.coefficients}
        if not 0 < alpha < 1:
            raise ValueError("alpha is between 0 and 1")
        half = self._quantile(alpha)
        return {of.term: (of.estimate - half * of.std_error, of.estimate + half * of.std_error)
                for of in self.coefficients}

    def cov_params(self) -> Table:
        """Of the estimates; first column: the term. Raises NotReleasedError where its diagonal opened only."""
        covariance = self._covariance()
        return Table(["", *covariance.names], [[name, *row] for name, row in zip(covariance.names, covariance.values)])

    def wald_test(self, hypotheses: Sequence[str] | Sequence[Sequence[float]], value: float = 0) -> WaldTest:
        """That all of these are `value`: names of coefficients, or rows of numbers, one for each coefficient, which make
        combinations of them. Raises NotReleasedError where cov_params() does."""
        covariance = self._covariance()
        rows: list[list[float]] = []
        for hypothesis in hypotheses:
            if isinstance(hypothesis, str):
                if hypothesis not in covariance.names:
                    raise ValueError(f"there is no coefficient {hypothesis!r}; there are: {', '.join(covariance.names)}")
                rows.append([float(name == hypothesis) for name in covariance.names])
            else:
                rows.append([float(number) for number in hypothesis])
                if len(rows[-1]) != len(covariance.names):
                    raise ValueError(f"a row has {len(rows[-1])} numbers, and there are {len(covariance.names)} "
                                     f"coefficients")
        if not rows:
            raise ValueError("there is no hypothesis")
        estimates = [self.params[name] for name in covariance.names]
        values = [sum(a * b for a, b in zip(row, estimates)) - value for row in rows]
        return wald(covariance, rows, values, self.df_t)

    def _covariance(self) -> Covariance:
        vcov = self.body.get("vcov")
        if vcov is None:
            raise NotReleasedError(
                "the covariance matrix of the estimates did not open, only standard errors did",
                "a test of several coefficients is a test of a term, or of a nested model, which the study file asks "
                "for; methods glm, survival (Cox's model) and mixed open the matrix with covariance = true, and methods "
                "mle, and glm at level aggregates, have it")
        return Covariance([str(name) for name in vcov["names"]],
                          [[number(value) for value in row] for row in vcov["values"]], vcov.get("steps"))

    def resid(self) -> list[float]:
        """Raises NotReleasedError: no rows come back."""
        raise NotReleasedError("there are no residuals and no fitted values: no row leaves its holder",
                               "predict() takes rows of your own")

    @property
    def nobs(self) -> int:
        return int(self.body["rows"])

    def predict(self, rows: Any, *, reference: design.Reference | None = None) -> list[float]:
        """The linear predictor in rows of the caller's own: a DataFrame, columns by name, or a list of mappings.
        reference: by variable the level that the others are compared with; the result says it, and another one raises
        ValueError."""
        return design.linear_predictor(self.params, rows, reference, self.body.get("factors"))

    def get_prediction(self, rows: Any, alpha: float = 0.05, *, reference: design.Reference | None = None) -> Table:
        """The linear predictor in rows of the caller's own, as statsmodels' summary_frame(): mean, mean_se, mean_ci_lower
        and mean_ci_upper; not a number where the matrix opened rounded and rounding may be all of a variance. Of Cox's
        model it is the log hazard ratio to covariates of 0, of mixed models without effects of groups. Raises
        NotReleasedError where cov_params() does."""
        return self._prediction(rows, alpha, reference, lambda eta: eta, lambda eta: 1.0)

    def _prediction(self, rows: Any, alpha: float, reference: design.Reference | None,
                    inverse: Callable[[float], float], slope: Callable[[float], float]) -> Table:
        """inverse, slope: of the link that the mean is by, and its derivative."""
        if not 0 < alpha < 1:
            raise ValueError("alpha is between 0 and 1")
        factors = self.body.get("factors")
        eta = design.linear_predictor(self.params, rows, reference, factors)
        covariance = self._covariance()
        quantile = self._quantile(alpha)
        table: list[list[Cell]] = []
        for at, x in zip(eta, design.rows_of(covariance.names, rows, reference, factors), strict=True):
            error = covariance.error(x)
            table.append([inverse(at), slope(at) * error, inverse(at - quantile * error), inverse(at + quantile * error)])
        return Table(["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"], table)

    def to_table(self) -> Table:
        columns = ["term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"]
        return Table(columns, [[of.term, of.estimate, of.std_error, of.statistic, of.p_value, of.lower, of.upper]
                               for of in self.coefficients])

    def to_frame(self) -> Any:
        """broom's columns as a pandas DataFrame; needs pandas."""
        return self.to_table().to_frame()

    def _coefficient_table(self) -> Table:
        letter = "t" if self.use_t else "z"
        low, high = f"[{(1 - self.confidence) / 2:.3g}", f"{1 - (1 - self.confidence) / 2:.3g}]"
        rows: list[list[Cell]] = [[of.term, of.estimate, of.std_error, of.statistic, of.p_value, of.lower, of.upper]
                                  for of in self.coefficients]
        return Table(["", "coef", "std err", letter, f"P>|{letter}|", low, high], rows)

    def _facts(self) -> dict[str, Cell]:
        return {"observations": self.nobs}

    def _summary_parts(self) -> list[str | Table]:
        formula = str(self.body.get("formula") or "")
        return [formula, self._coefficient_table(), facts("", self._facts())]
