"""The curriculum: how hard the next round is, given those before it."""

from __future__ import annotations

from collections.abc import Sequence

from hips.practice.journal import Entry


def next_grade(entries: Sequence[Entry], pass_mark: float, grades: int) -> int:
    """The grade of the next round: up after a success, down where nothing was solved.

    Args:
        entries: of all rounds so far; the first is the training from demonstrations.
        pass_mark: share of solved levels at which the next grade begins.
        grades: number of grades.
    """
    grade = 0
    for entry in entries[1:]:
        if entry.nothing_solved:
            grade = max(0, entry.grade - 1)
        else:
            passed = entry.solved >= pass_mark * entry.levels
            grade = min(entry.grade + passed, grades - 1)
    return grade


def next_limit(entries: Sequence[Entry], usual: int) -> int:
    """Expansions of the next searches: doubled for each round in vain at the lowest grade."""
    limit = usual
    for entry in reversed(entries):
        if not entry.nothing_solved or entry.grade > 0:
            break
        limit *= 2
    return limit
