"""Outcomes of a search and their process exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    """The outcome of one search. Only `SOLVED` has a plan; only `UNSOLVABLE` is a proof.

    >>> Outcome("UNSOLVABLE").exit_code
    1
    """

    SOLVED = "SOLVED"
    """The search found a plan, and an independent replay in the true domain confirmed it."""
    UNSOLVABLE = "UNSOLVABLE"
    """A complete search under the true dynamics ran out of states: there is no plan."""
    UNSOLVED_INCOMPLETE = "UNSOLVED_INCOMPLETE"
    """The frontier of an incomplete search is empty, which proves nothing."""
    OUT_OF_EXPANSIONS = "OUT_OF_EXPANSIONS"
    OUT_OF_TIME = "OUT_OF_TIME"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    INVALID_INPUT = "INVALID_INPUT"
    INTERRUPTED = "INTERRUPTED"

    @property
    def exit_code(self) -> int:
        """0 solved, 1 not solved, 2 bad input, 130 interrupted."""
        return _EXIT_CODES.get(self, 1)


_EXIT_CODES = {Outcome.SOLVED: 0, Outcome.INVALID_INPUT: 2, Outcome.INTERRUPTED: 130}


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The exit code of many searches: that of the worst outcome.

    >>> exit_code([Outcome.SOLVED, Outcome.OUT_OF_TIME])
    1
    """
    return max((outcome.exit_code for outcome in outcomes), default=0)
