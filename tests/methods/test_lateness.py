"""Late rollouts, widths and shares of time with a shipped model, as a user sets them."""

from __future__ import annotations

import pytest

from hips import domains
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.settings import Settings
from hips.seeding import stream
from tests.planner.test_search import without_times

SOKOBAN = domains.create("sokoban")
LEVELS = list(SOKOBAN.sample(stream(0, "lateness"), 3))


def solved(settings: Settings, batch: int, method: str = "hips_eps") -> list[Result]:
    planner = Planner(SOKOBAN, Choice(method, settings, execution=Execution(batch, threads=1)))
    return planner.solve_many(LEVELS, Budget(max_expansions=300))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(rollouts="late"),
        Settings(rollouts="foreseen", width=3),
        Settings(rollouts="late", dynamics="hybrid", epsilon=0.0),
        Settings(shares="time", rollouts="foreseen"),
    ],
)
def test_levels_are_solved_alike_in_every_batch(settings: Settings) -> None:
    alone, together = solved(settings, 1), solved(settings, 3)
    assert all(result.solved for result in alone)
    assert [without_times(r) for r in together] == [without_times(r) for r in alone]
    assert sum(result.statistics.late_rollouts for result in alone) > 0


def test_late_rollouts_ask_the_reach_policy_less() -> None:
    rows = {
        rollouts: sum(r.statistics.reach_rows for r in solved(Settings(rollouts=rollouts), 3))
        for rollouts in ("eager", "late")
    }
    assert rows["late"] < rows["eager"]


def test_learned_dynamics_leave_rollouts_for_later_too() -> None:
    results = solved(Settings(rollouts="late", dynamics="learned"), 3, "hips")
    assert sum(result.statistics.late_rollouts for result in results) > 0
    assert sum(result.statistics.dynamics_rows for result in results) > 0
