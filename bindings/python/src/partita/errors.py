"""The program's errors as exceptions: what went wrong, and what to do about it."""

from __future__ import annotations


class PartitaError(Exception):
    """What the program refused or could not do.

    code: its ``error_code`` (docs/exit-codes.md); hint: what to do; exit_code: of the process.
    """

    code = ""

    def __init__(self, message: str, hint: str = "", *, code: str = "", exit_code: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or type(self).code
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class UsageError(PartitaError):
    code = "usage"


class BadInputError(PartitaError):
    code = "bad-input"


class BadDataError(PartitaError):
    code = "bad-data"


class UnreachableError(PartitaError):
    code = "unreachable"


class UntrustedError(PartitaError):
    code = "untrusted"


class PeerFaultError(PartitaError):
    code = "peer-fault"


class TimedOutError(PartitaError):
    code = "timeout"


class RefusedError(PartitaError):
    code = "refused"


class BudgetError(PartitaError):
    code = "budget"


class PeerLostError(PartitaError):
    code = "peer-lost"


class CancelledError(PartitaError):
    code = "cancelled"


class StorageError(PartitaError):
    code = "storage"


class InternalError(PartitaError):
    code = "internal"


class ProgramError(PartitaError):
    """The program is not there, or speaks another version of its JSON."""

    code = "program"


class NotReleasedError(PartitaError):
    """A number that the study did not open, so that nobody has it."""

    code = "not-released"


class NotConvergedWarning(UserWarning):
    """A fit that did not converge: its numbers are no estimates."""


_BY_CODE: dict[str, type[PartitaError]] = {
    kind.code: kind
    for kind in (
        UsageError, BadInputError, BadDataError, UnreachableError, UntrustedError, PeerFaultError,
        TimedOutError, RefusedError, BudgetError, PeerLostError, CancelledError, StorageError,
        InternalError,
    )
}


def error_of(code: str, message: str, hint: str, exit_code: int) -> PartitaError:
    """The exception of an ``error_code``; one that this package does not know is a PartitaError."""
    return _BY_CODE.get(code, PartitaError)(message, hint, code=code, exit_code=exit_code)
