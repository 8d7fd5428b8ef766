"""Errors for users: each says what was wrong, what is allowed and what to do.

The command line prints a `HipsError` as one line on stderr, without traceback, and exits with 2.
"""

from __future__ import annotations


class HipsError(Exception):
    """Base class of all errors that this package raises deliberately."""


class UnknownNameError(HipsError):
    """An unregistered name."""


class ConfigError(HipsError):
    """A parameter outside its range, or parameters that contradict each other."""


class LevelError(HipsError):
    """A level or level file that cannot be read.

    Attributes:
        reason: what is wrong and what is allowed.
        line: 1-based line in the text, or None if the error has no single line.
        column: 1-based column, or None.
        source: file name, or None.
    """

    def __init__(
        self,
        reason: str,
        line: int | None = None,
        column: int | None = None,
        source: str | None = None,
    ) -> None:
        self.reason, self.line, self.column, self.source = reason, line, column, source
        super().__init__(reason)

    def __str__(self) -> str:
        where = [] if self.source is None else [self.source]
        if self.line is not None:
            where.append(f"line {self.line}")
        if self.column is not None:
            where.append(f"column {self.column}")
        return f"{', '.join(where)}: {self.reason}" if where else self.reason

    def located(self, source: str) -> LevelError:
        """The same error, naming the file it came from."""
        return LevelError(self.reason, self.line, self.column, source)


class ContractError(HipsError):
    """A domain, generator or policy that breaks its contract."""


class ExpertError(HipsError):
    """The expert found no plan within its budget."""


class UnsolvableError(ExpertError):
    """The expert proved that no plan exists."""


class DatasetError(HipsError):
    """Demonstrations are missing, damaged, too few, or of another domain."""


class ModelError(HipsError):
    """A model is missing, damaged, or does not fit its use."""


class MissingExtraError(HipsError):
    """An optional dependency is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional extra: pip install 'hips-epsilon[{extra}]'")


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or was caused by it.

    Numba's dispatcher turns a `KeyboardInterrupt` into a `SystemError`; an interrupted writer of
    archives fails when it closes them.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
