"""How a search can end, and the process exit code that says so."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    """The end of one search. Only `SOLVED` carries a plan, only `UNSOLVABLE` is a proof.

    >>> Outcome("unsolvable").exit_code
    1
    """

    SOLVED = "solved"
    """A plan was found and an independent replay in the true domain confirmed it."""
    UNSOLVABLE = "unsolvable"
    """A complete search under the true dynamics ran out of states: there is no plan."""
    UNSOLVED_INCOMPLETE = "unsolved_incomplete"
    """The frontier of an incomplete search ran empty, which proves nothing."""
    OUT_OF_EXPANSIONS = "out_of_expansions"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_MEMORY = "out_of_memory"
    INVALID_INPUT = "invalid_input"
    INTERRUPTED = "interrupted"

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
