"""Fits of method mle: structural equation models, with lavaan's table and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import design, laws
from .covariance import Covariance
from .errors import NotReleasedError
from .fit import Coefficient, CoefficientFit, number
from .program import Json
from .table import Cell, Table, records


class SEMFit(CoefficientFit):
    """A structural equation model (docs/sem-commands.md). `params` and the like are of the free parameters, by the
    names of lavaan's coef(): a label, or `lhs op rhs` without blanks, with `.g2` in the second group."""

    def __init__(self, name: str, raw: Json, body: Json) -> None:
        super().__init__(name, raw, body)
        self._shown: Sequence[Json] = (body["robust"] or body)["parameters"]
        self.coefficients: list[Coefficient] = self._free()

    def _free(self) -> list[Coefficient]:
        names = [str(text) for text in self.body["vcov"]["names"]]
        free: dict[int, Json] = {}
        for row in self._shown:
            if row["free"] > 0:
                free.setdefault(row["free"], row)
        return [Coefficient(term, number(row["est"]), number(row["se"]), number(row["z"]), number(row["pvalue"]),
                            number(row["ci.lower"]), number(row["ci.upper"]))
                for term, row in zip(names, (free[number] for number in sorted(free)), strict=True)]

    @property
    def converged(self) -> bool:
        return bool(self.body["convergence"]["converged"])

    @property
    def robust(self) -> bool:
        """Whether the table, the tests and the covariance are robust ones."""
        return self.body["robust"] is not None

    @property
    def model(self) -> Json:
        """function, estimator, observed and latent names, groups."""
        return dict(self.body["model"])

    @property
    def nobs(self) -> int:
        return int(self.body["fit"]["ntotal"])

    def fit_measures(self) -> dict[str, float | None]:
        """lavaan's names: chisq, df, pvalue, cfi, rmsea, ...; scaled and robust ones where there are any."""
        both: dict[str, float | None] = dict(self.body["fit"])
        if self.robust:
            both.update(self.body["robust"]["fit"])
        return both

    def _measure(self, name: str) -> float:
        value = self.fit_measures().get(name)
        if value is None:
            raise NotReleasedError(f"this fit has no {name}", "release the fit in the study file")
        return float(value)

    @property
    def llf(self) -> float:
        return self._measure("logl")

    @property
    def aic(self) -> float:
        return self._measure("aic")

    @property
    def bic(self) -> float:
        return self._measure("bic")

    def _covariance(self) -> Covariance:
        names = [str(text) for text in self.body["vcov"]["names"]]
        return Covariance(names, self.body["robust"]["vcov"] if self.robust else self.body["vcov"]["values"], None)

    def parameter_estimates(self, standardized: bool = False) -> Table:
        """lavaan's parameterEstimates(): lhs op rhs, group where there are several, label where there is one, est se
        z pvalue ci.lower ci.upper, and std.lv std.all if `standardized`."""
        columns = ["lhs", "op", "rhs"]
        if any(row["group"] > 1 for row in self._shown):
            columns.append("group")
        if any(row["label"] for row in self._shown):
            columns.append("label")
        columns += ["est", "se", "z", "pvalue", "ci.lower", "ci.upper"]
        return records("", self._shown, columns + (["std.lv", "std.all"] if standardized else []))

    def _table_to_read(self) -> Table:
        """Without the moments of fixed covariates that only the receiver has."""
        table = self.parameter_estimates(standardized=True)
        at = list(table.columns).index("est")
        return Table(table.columns, [row for row in table.rows if row[at] is not None])

    def compare_lr_test(self, restricted: SEMFit) -> tuple[float, float, int]:
        """Difference of chi-squares, p-value and degrees of freedom of a model of the same rows with fewer
        parameters. Not of robust fits: their difference has a scaling of its own (`nested_of` of the study file)."""
        if self.robust or restricted.robust:
            raise NotReleasedError("the difference of scaled chi-squares needs both models at once",
                                   'name the larger model in the study file: nested_of = "..."')
        if self.nobs != restricted.nobs:
            raise ValueError("a test compares models of the same rows")
        ours, theirs = self.model, restricted.model
        if set(ours["observed"]) != set(theirs["observed"]) or ours["estimator"] != theirs["estimator"]:
            raise ValueError("the models are of other observed variables or estimators")
        df = int(restricted._measure("df") - self._measure("df"))
        if df <= 0:
            raise ValueError("the other model has no fewer parameters: call it of the larger model")
        statistic = restricted._measure("chisq") - self._measure("chisq")
        if statistic < 0:
            raise ValueError("the other model fits better with fewer parameters: it is not nested in this one")
        return statistic, laws.chi_square_tail(statistic, df), df

    def least_squares(self) -> list[Table]:
        """What R's lm prints, per outcome and group, where least squares is the same model."""
        return [records(f"{of['outcome']}: R^2 {of['r2']:.4g}, residual sd {of['sigma']:.4g}, "
                        f"F({of['f_df']:g}, {of['df']:g}) = {number(of['f']):.4g}",
                        of["terms"], ["name", "est", "se", "t", "pvalue", "ci.lower", "ci.upper"])
                for of in self.body["least_squares"]]

    def predict(self, rows: Any, *, reference: design.Reference | None = None) -> list[float]:
        """Of a regression with one outcome and group: its mean in rows of the caller's own."""
        fits: Sequence[Mapping[str, Any]] = self.body["least_squares"]
        if len(fits) != 1:
            raise NotReleasedError("predict() is of regressions with one outcome and one group",
                                   "compute it from parameter_estimates()")
        estimates = {str(term["name"]): float(term["est"]) for term in fits[0]["terms"]}
        if "(Intercept)" not in estimates:
            raise NotReleasedError("predict() has no intercept: it is not among what was released",
                                   "compare rows by params, or release it: protocol = \"pooled-moments\", "
                                   "meanstructure, site = \"ignore\"")
        return design.linear_predictor(estimates, rows, reference)

    def _summary_parts(self) -> list[str | Table]:
        measures = self.fit_measures()
        shown: list[list[Cell]] = [[label, measures[key]] for label, key in (
            ("Observations", "ntotal"), ("Free parameters", "npar"), ("Chi-square", "chisq"),
            ("Degrees of freedom", "df"), ("P-value", "pvalue"), ("Scaled chi-square", "chisq.scaled"), ("Scaled p-value", "pvalue.scaled"),
            ("CFI", "cfi"), ("TLI", "tli"), ("RMSEA", "rmsea"), ("RMSEA, lower", "rmsea.ci.lower"),
            ("RMSEA, upper", "rmsea.ci.upper"), ("SRMR", "srmr"), ("Log-likelihood", "logl"), ("AIC", "aic"),
            ("BIC", "bic")) if measures.get(key) is not None]
        saturated = measures.get("df") == 0
        if saturated:
            shown = [row for row in shown if row[0] not in ("Chi-square", "P-value", "CFI", "TLI", "RMSEA",
                                                            "RMSEA, lower", "RMSEA, upper", "SRMR")]
        parts: list[str | Table] = [Table(["", "value"], shown), self._table_to_read()]
        parts += [f"Note: {text}" for text in self.body["notes"]]
        return parts
