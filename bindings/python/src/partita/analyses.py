"""What a study computes: the method and its keys of [[analysis]] in a study file (docs/study-file.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Scalar = str | float | int | bool
Setting = Scalar | Sequence[Any] | Mapping[str, Any]


def toml(value: Any) -> str:
    """A value as TOML writes it; mappings as tables on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return toml(value.tolist())
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(toml(part) for part in value) + "]"


def setting(value: Setting) -> str:
    """As the option --set takes it: texts as they are, everything else as TOML."""
    return value if isinstance(value, str) else toml(value)


class Analysis:
    """Any method: `settings` are keys of [[analysis]], `risk_groups={"cuts": ...}` a table below it. A key without a
    value (None) is left out."""

    def __init__(self, method: str, **settings: Setting | None) -> None:
        self.method = method
        self.settings: dict[str, Setting] = {key: value for key, value in settings.items() if value is not None}

    def arguments(self) -> list[str]:
        """Of `partita study new`."""
        words = ["--method", self.method]
        for key, value in self.settings.items():
            if isinstance(value, Mapping):
                for part, part_value in value.items():
                    words += ["--set", f"{key}.{part}={setting(part_value)}"]
            else:
                words += ["--set", f"{key}={setting(value)}"]
        return words

    # Rows of each party, which become public, where the study does not say how many.
    rows_of_each: int | None = None

    def __repr__(self) -> str:
        return f"Analysis({self.method!r}, {', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"


class SEM(Analysis):
    """A structural equation model in lavaan's syntax."""

    def __init__(self, model: str, *, function: str = "sem", **settings: Setting | None) -> None:
        super().__init__("mle", model=model, function=function, **settings)


class CFA(SEM):
    def __init__(self, model: str, **settings: Setting | None) -> None:
        super().__init__(model, function="cfa", **settings)


class Growth(SEM):
    def __init__(self, model: str, **settings: Setting | None) -> None:
        super().__init__(model, function="growth", **settings)


class Regression(SEM):
    """A linear regression by maximum likelihood, with what least squares prints: `sbp ~ age + sex.male`."""

    def __init__(self, model: str, **settings: Setting | None) -> None:
        super().__init__(model, function="regression", **settings)


class GLM(Analysis):
    """family: binomial, poisson, gaussian, gamma, ... (docs/glm.md)."""

    def __init__(self, formula: str, family: str = "binomial", **settings: Setting | None) -> None:
        super().__init__("glm", formula=formula, family=family, **settings)


class SurvivalCurves(Analysis):
    """Kaplan-Meier curves, `Surv(days, died) ~ arm`, opened at the times of `report`."""

    def __init__(self, formula: str, report: Sequence[float], **settings: Setting | None) -> None:
        super().__init__("survival", formula=formula, report=report, **settings)


class Cox(Analysis):
    """Hazard ratios, `Surv(days, died) ~ arm + age`."""

    def __init__(self, formula: str, **settings: Setting | None) -> None:
        super().__init__("survival", model="cox", formula=formula, **settings)


class Describe(Analysis):
    """A Table 1 of all variables of the study, or of some, by the levels of `group`."""

    def __init__(self, variables: Sequence[str] | None = None, group: str | None = None,
                 **settings: Setting | None) -> None:
        super().__init__("describe", variables=variables, group=group, **settings)


class Meta(Analysis):
    """Estimates that sites have already, pooled: one row each."""

    rows_of_each = 1

    def __init__(self, estimate: str, standard_error: str, **settings: Setting | None) -> None:
        super().__init__("meta", estimate=estimate, standard_error=standard_error, **settings)


class Classify(Analysis):
    """A private classifier of a factor."""

    def __init__(self, outcome: str, predictors: Sequence[str], *, epsilon: float, delta: float,
                 **settings: Setting | None) -> None:
        super().__init__("classify", outcome=outcome, predictors=predictors,
                         privacy={"epsilon": epsilon, "delta": delta}, **settings)
