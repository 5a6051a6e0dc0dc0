"""Results that are no list of coefficients: curves, tables, draws, classifiers, synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import design
from .errors import NotReleasedError
from .fit import Fit, Interval, number, optional
from .table import Cell, Table, facts, records


class CurvesFit(Fit):
    """Survival curves by group (docs/survival.md)."""

    @property
    def groups(self) -> list[str]:
        return [str(curve["group"] or "all") for curve in self.body["curves"]]

    def curves(self) -> Table:
        """A row per group and report time; groups that are withheld have none."""
        columns = ["time", "events", "censored", "remaining", "survival", "standard_error", "lower", "upper"]
        rows: list[list[Cell]] = [
            [str(curve["group"] or "all"), *(point[name] for name in columns)]
            for curve in self.body["curves"] if not curve["withheld"] for point in curve["points"]]
        return Table(["group", *columns], rows)

    def medians(self) -> dict[str, Interval]:
        return {str(curve["group"] or "all"): Interval.of(curve["median"], "estimate")
                for curve in self.body["curves"] if not curve["withheld"]}

    def log_rank(self) -> tuple[float, float, int] | None:
        """Chi-square, p-value and degrees of freedom; None: there is one group, or the test is withheld."""
        test = self.body["log_rank"]
        if test is None or test["withheld"]:
            return None
        return float(test["chi_square"]), float(test["p_value"]), int(test["df"])

    def to_frame(self) -> Any:
        return self.curves().to_frame()

    def _summary_parts(self) -> list[str | Table]:
        medians: list[list[Cell]] = [[group, of.value, of.lower, of.upper] for group, of in self.medians().items()]
        parts: list[str | Table] = [str(self.body["formula"]), self.curves(),
                                    Table(["group", "median", "lower", "upper"], medians)]
        test = self.log_rank()
        if test is not None:
            parts.append(f"Log-rank test: chi-square {test[0]:.4g} on {test[2]} df, p = {test[1]:.4g}")
        return parts


class DescribeFit(Fit):
    """A Table 1 (docs/describe.md)."""

    @property
    def group(self) -> str | None:
        return None if self.body["group"] is None else str(self.body["group"])

    def table(self) -> Table:
        """A row per variable, value (of counts) and group; what is withheld is empty, with `withheld` true.

        Of a table with noise a row per number, with its interval."""
        if "table_one" in self.body:
            return self._noised()
        columns = ["variable", "value", "group", "withheld", "n", "missing", "count", "mean", "sd"]
        quantiles = [f"q{100 * of:g}" for of in self.body["quantiles"]]
        rows: list[list[Cell]] = []
        for variable in self.body["variables"]:
            for cell in variable["columns"]:
                group = "all" if cell["group"] is None else str(cell["group"])
                start: list[Cell] = [variable["name"], None, group, bool(cell["withheld"])]
                empty: list[Cell] = [None] * len(quantiles)
                if cell["withheld"]:
                    rows.append([*start, None, None, None, None, None, *empty])
                elif "counts" in cell:
                    for value, count in zip(variable["values"], cell["counts"]):
                        rows.append([variable["name"], value, group, False, cell["n"], cell["missing"], count, None,
                                     None, *empty])
                else:
                    rows.append([*start, cell["n"], cell["missing"], None, cell["mean"], cell["sd"],
                                 *(cell["quantiles"] or empty)])
        return Table(columns + quantiles, rows)

    def _noised(self) -> Table:
        rows: list[list[Cell]] = []
        for entry in self.body["table_one"]:
            group = "all" if entry["group"] is None else str(entry["group"])

            def add(value: str | None, statistic: str, of: dict[str, Any]) -> None:
                rows.append([entry["column"], value, group, statistic, of["estimate"], of["lower"], of["upper"]])

            add(None, "n", entry["n"])
            half = 1.96 * entry["noise_stddev"]
            for value, count in zip(entry["levels"], entry["counts"]):
                add(value, "count", {"estimate": count, "lower": count - half, "upper": count + half})
            for value, share in zip(entry["levels"], entry["shares"]):
                add(value, "share", share)
            for statistic in ("mean", "sd"):
                if entry[statistic] is not None:
                    add(None, statistic, entry[statistic])
            for quartile in entry["quartiles"]:
                add(None, f"q{100 * quartile['probability']:g}", quartile)
        return Table(["variable", "value", "group", "statistic", "estimate", "lower", "upper"], rows)

    def comparisons(self) -> Table:
        """The tests between groups, where the study asks for them; of a table with noise standardized differences."""
        if "table_one" in self.body:
            rows = [{"variable": of["column"], "value": of["level"],
                     **(of["value"] or {"estimate": None, "lower": None, "upper": None})}
                    for of in self.body["differences"]]
            return records("", rows, ["variable", "value", "estimate", "lower", "upper"])
        rows = [{"variable": variable["name"], **test}
                for variable in self.body["variables"] if "comparison" in variable
                for test in variable["comparison"]["tests"]]
        return records("", rows, ["variable", "test", "statistic", "df", "df_within", "p_value"])

    def to_frame(self) -> Any:
        return self.table().to_frame()


class DrawsFit(Fit):
    """Posterior of confidential Markov chains (method mcmc)."""

    def posterior(self) -> Table:
        """mean sd mcse quantiles rhat and effective sample sizes by parameter."""
        columns = ["name", "mean", "sd", "mcse_mean", "q2_5", "median", "q97_5", "rhat", "bulk_ess", "tail_ess"]
        return records("", self.body["parameters"], columns)

    @property
    def params(self) -> dict[str, float]:
        """Posterior means."""
        return {row["name"]: number(row["mean"])
                for row in self.body["parameters"]}

    @property
    def bse(self) -> dict[str, float]:
        """Posterior standard deviations."""
        return {row["name"]: number(row["sd"]) for row in self.body["parameters"]}

    @property
    def acceptance_rate(self) -> float | None:
        return optional(self.body["acceptance_rate"])

    def to_frame(self) -> Any:
        return self.posterior().to_frame()

    def _summary_parts(self) -> list[str | Table]:
        return [self.posterior(), facts("", {"acceptance rate": self.acceptance_rate,
                                             "decisions": self.body["decisions"]})]


@dataclass(frozen=True)
class Evaluation:
    accuracy: float | None
    sensitivity: float | None
    specificity: float | None
    area: float | None


class PrivateClassifier(Fit):
    """A classifier that was learned on shares (method classify). It predicts; it has no fit(X, y), as no rows are
    here."""

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.body["columns"]]

    def _coefficients(self) -> Mapping[str, list[float]]:
        read = self.body.get("coefficients")
        if read is None:
            raise NotReleasedError("each party keeps its own classifier with protocol single-party",
                                   "take another protocol to have a common one")
        return {str(level): [number(value) for value in values]
                for level, values in read.items()}

    @property
    def classes_(self) -> list[str]:
        """Levels whose chance is modelled."""
        return list(self._coefficients())

    @property
    def coef_(self) -> list[list[float]]:
        """A row per level of `classes_`, a number per column."""
        return list(self._coefficients().values())

    def decision_function(self, rows: Any, *, reference: design.Reference | None = None) -> dict[str, list[float]]:
        """The linear predictor by level, in rows of the caller's own (columns as in `columns`, or the variables that
        these come from, with `reference` as in predict() of regressions)."""
        columns = design.columns_of(rows)
        return {level: design.linear_predictor(dict(zip(self.columns, values)), columns, reference)
                for level, values in self._coefficients().items()}

    def evaluation(self) -> Evaluation | None:
        read = self.body.get("evaluation")
        if read is None:
            return None
        return Evaluation(read["accuracy"], read["sensitivity"], read["specificity"], read["area"])

    def _summary_parts(self) -> list[str | Table]:
        if self.body.get("coefficients") is None:
            return [f"outcome {self.body['outcome']}: each party has a classifier of its own"]
        levels = self._coefficients()
        rows: list[list[Cell]] = [[name, *(values[i] for values in levels.values())]
                                  for i, name in enumerate(self.columns)]
        parts: list[str | Table] = [Table(["", *levels], rows, f"outcome {self.body['outcome']}")]
        of = self.evaluation()
        if of is not None:
            parts.append(facts("", {"accuracy": of.accuracy, "sensitivity": of.sensitivity,
                                    "specificity": of.specificity, "area under the curve": of.area}))
        return parts


class SyntheticFit(Fit):
    """A model that synthetic tables were drawn from (methods mixture and marginals)."""

    @property
    def files(self) -> list[str]:
        """Names of the synthetic tables, which lie beside the result that was written."""
        return [str(name) for name in self.body["synthetic"]]


class MixtureFit(SyntheticFit):
    @property
    def weights(self) -> list[float]:
        return [float(weight) for weight in self.body["weights"]]

    @property
    def trained(self) -> bool:
        return str(self.raw["status"]) != "not-trained"

    def _summary_parts(self) -> list[str | Table]:
        lines = [] if self.trained else ["NOT TRAINED: interruptions took openings that the model was to be made from."]
        keys = ("components", "active_components", "iterations", "planned_iterations", "noise_multiplier")
        return [*lines, facts("", {key.replace("_", " "): self.body[key] for key in keys}),
                "poor for learning: " + (", ".join(self.body["poor_for_learning"]) or "none")]


class MarginalsFit(SyntheticFit):
    def counts(self) -> Table:
        """The noised counts by column and level, as opened."""
        rows: list[list[Cell]] = [[column["column"], level, count] for column in self.body["counts"]
                                  for level, count in zip(column["levels"], column["counts"])]
        return Table(["column", "level", "count"], rows)

    def _summary_parts(self) -> list[str | Table]:
        return [facts("", {"rows": self.body["rows"], "noise, standard deviation": self.body["noise_stddev"],
                           "generator": self.body["generator"]}), self.counts()]
