"""`hips solve --watch`: the search in the terminal, round by round."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hips.arrays import Grid
from hips.cli.boards import board, has_colours
from hips.cli.summary import count
from hips.domains.base import Domain
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round

PICTURES_PER_SECOND = 8
OTHER_ROWS = 3
"""Rows of the terminal beside the board: the facts, which may need two, and the cursor's."""


class Watcher(Observer):
    """Shows the most promising state so far, and passes everything on to other observers.

    Of searches in lockstep, the first that still runs is shown.

    Args:
        domain: the domain of the levels.
        total: number of levels, if known.
        live: where to draw.
        others: observers that see the same searches.
    """

    def __init__(
        self, domain: Domain, total: int | None, live: Live, others: Sequence[Observer] = ()
    ) -> None:
        self.domain, self.total, self.live, self.others = domain, total, live, others
        self.shown = -1
        self.expansions = self.open = self.ended = self.solved = 0
        self.best: float | None = None
        self.better = ""
        self.board: Grid | None = None
        self._drawn = 0.0

    def on_round(self, round: Round) -> None:
        """Takes the shown problem's part of a round."""
        for other in self.others:
            if other.wants_rounds:
                other.on_round(round)
        problem = int(round.expanded.problems[0])
        if problem != self.shown:
            self.shown, self.expansions, self.best = problem, 0, None
            self.board = round.expanded.states[0]
        self.expansions += int((round.expanded.problems == problem).sum())
        self.open = int(round.open_nodes[0])
        self._look_for_better(round)
        if time.monotonic() - self._drawn > 1 / PICTURES_PER_SECOND:
            self.draw()

    def on_plan(self, index: int, result: Result) -> None:
        """Shows the length of a better plan."""
        self.better = f"level {index + 1}: {count(len(result.plan), 'step')}"
        self.draw()
        for other in self.others:
            other.on_plan(index, result)

    def on_result(self, index: int, result: Result) -> None:
        """Counts results."""
        self.ended += 1
        self.solved += result.solved
        if index == self.shown and result.solved:
            self.board, self.best = result.states[-1], 0.0
            self.draw()
        for other in self.others:
            other.on_result(index, result)

    def draw(self) -> None:
        """Draws the board and the counts."""
        self._drawn = time.monotonic()
        if self.board is None:
            return
        console = self.live.console
        best = "–" if self.best is None else f"{self.best:.1f}"
        ended = f" · {self.solved} of {self.ended} solved" if self.ended else ""
        total = "" if self.total is None else f" of {self.total}"
        facts = Text(
            f"level {self.shown + 1}{total} · {count(self.expansions, 'expansion')} · "
            f"{self.open:,} open · best ĥ {best}{ended}"
            f"{self.better and f' · improving {self.better}'}"
        )
        domain = self.domain.for_grid(self.board)
        shown = board(console, domain, self.board, OTHER_ROWS, has_colours(console))
        self.live.update(Group(shown, facts), refresh=True)

    def _look_for_better(self, round: Round) -> None:
        offered = round.offered
        shown = round.expanded.problems[offered.parents] == self.shown
        rows = np.flatnonzero(shown & offered.accepted & ~offered.guessed)
        if not len(rows):
            return
        estimates = np.where(offered.goals[rows], 0.0, offered.h[rows])
        place = int(estimates.argmin())
        if self.best is None or estimates[place] < self.best:
            self.best, self.board = float(estimates[place]), offered.states[rows[place]]


@contextmanager
def watching(domain: Domain, total: int | None, *others: Observer) -> Iterator[Observer]:
    """An observer that draws on stderr until the searches end, and passes everything on."""
    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False) as live:
        watcher = Watcher(domain, total, live, others)
        yield watcher
        watcher.draw()
    if not console.is_terminal:
        console.line()  # a file gets the last picture alone, without the end of its line
