from __future__ import annotations

from hips.cli.summary import line
from hips.planner.outcomes import Outcome
from hips.planner.result import FoundPlan, Result, Statistics


def test_a_line_says_from_which_plan_to_which() -> None:
    history = (FoundPlan(0.25, 9), FoundPlan(0.5, 7), FoundPlan(1.25, 4))
    spent = Statistics(expansions=3, seconds=0.25)
    result = Result(Outcome.SOLVED, ("up",) * 4, statistics=spent, history=history)
    expected = (
        "SOLVED, 4 steps, 3 expansions, 0.25 s, improved from 9 steps at 0.25 s to 4 at 1.25 s"
    )
    assert line({"index": 5, **result.to_json()}) == f"level 5: {expected}"
    unchanged = Result(Outcome.SOLVED, ("up",) * 9, statistics=spent, history=history[:1])
    assert "improved" not in line({"index": 5, **unchanged.to_json()})
