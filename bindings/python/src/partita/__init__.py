"""Statistical models of data that several institutions hold in pieces: studies, runs and results of the program
`partita`. The manual is docs/python.md of its documentation."""

from .analyses import CFA, GLM, SEM, Analysis, Classify, Cox, Describe, Growth, Meta, Regression, SurvivalCurves
from .covariance import WaldTest
from .errors import (BadDataError, BadInputError, BudgetError, CancelledError, InternalError, NotConvergedWarning,
                     NotReleasedError, PartitaError, PeerFaultError, PeerLostError, ProgramError, RefusedError,
                     StorageError, TimedOutError, UnreachableError, UntrustedError, UsageError)
from .fit import Coefficient, CoefficientFit, Fit, Interval
from .node import Node, NodeStudy
from .others import (CurvesFit, DescribeFit, DrawsFit, Evaluation, MarginalsFit, MixtureFit, PrivateClassifier,
                     SyntheticFit)
from .plan import Plan
from .pooled import MetaFit, MixedFit
from .program import Progress, program, program_version
from .regressions import CoxFit, GLMFit
from .result import Result, read_result
from .sem import SEMFit
from .study import Rehearsal, Run, Study, Variable
from .sums import SumsRegressionFit, fit_private_sums
from .table import Page, Table

__version__ = "0.1.0"

__all__ = [
    "CFA", "GLM", "SEM", "Analysis", "BadDataError", "BadInputError", "BudgetError", "CancelledError", "Classify",
    "Coefficient", "CoefficientFit", "Cox", "CoxFit", "CurvesFit", "Describe", "DescribeFit", "DrawsFit", "Evaluation",
    "Fit", "GLMFit", "Growth", "InternalError", "Interval", "MarginalsFit", "Meta", "MetaFit", "MixedFit", "MixtureFit",
    "Node", "NodeStudy", "NotConvergedWarning", "NotReleasedError", "Page", "PartitaError", "PeerFaultError", "PeerLostError", "Plan",
    "PrivateClassifier", "ProgramError", "Progress", "RefusedError", "Regression", "Rehearsal", "Result", "Run",
    "SEMFit", "StorageError", "Study", "SumsRegressionFit", "SurvivalCurves", "SyntheticFit", "Table", "TimedOutError",
    "UnreachableError", "UntrustedError", "UsageError", "Variable", "WaldTest", "fit_private_sums", "program",
    "program_version", "read_result",
]
