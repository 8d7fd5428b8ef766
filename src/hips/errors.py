"""Errors for people: each says what was wrong, what is allowed and what to do.

The command line prints any `HipsError` on one line of stderr and exits with 2; no traceback.
"""

from __future__ import annotations


class HipsError(Exception):
    """Root of everything this package raises on purpose."""


class UnknownNameError(HipsError):
    """A name that no registry holds."""


class ConfigError(HipsError):
    """A parameter outside its range, or parameters that contradict each other."""


class LevelError(HipsError):
    """A level or level file that cannot be read.

    Attributes:
        reason: what is wrong and what is allowed.
        line: 1-based line in the text, or None if no single line is to blame.
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
    """The expert gave up on a state within its effort limit."""


class UnsolvableError(ExpertError):
    """The expert proved that no plan exists."""


class DatasetError(HipsError):
    """Demonstrations that are missing, damaged, too few, or of another domain."""


class ModelError(HipsError):
    """Weights that are missing, damaged, or made for something else."""


class MissingExtraError(HipsError):
    """An optional dependency is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'hips-epsilon[{extra}]'")


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, also one that struck inside a compiled kernel.

    Numba's dispatcher turns a `KeyboardInterrupt` into a `SystemError` caused by it.
    """
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)
