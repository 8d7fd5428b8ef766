"""Verdicts in words, and what a trial says about subgoals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hips import domains, parts
from hips.arrays import Grid
from hips.methods import trial
from hips.methods.trial import Tried, judge_trial, summarise, why_undecided
from hips.models.bundle import shipped_folder
from hips.models.card import read_card
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result, Statistics
from hips.training.curves import is_share
from hips.training.progress import compared, shipped_values
from hips.training.verdict import Verdict, as_facts, combine, judge, judge_all, useless_parts

SINGLE = Tried("phs_star", 50, 50, 0, 40.0, 0.02, 50)
ALONE = Tried("hips", 50, 45, 0, 8.0, 0.01, 50)


@pytest.mark.parametrize(
    ("usable", "coverage", "level"),
    [(0.9, 0.9, "good"), (0.2, 0.9, "weak"), (0.06, 0.9, "useless"), (0.9, 0.1, "useless")],
)
def test_the_worst_score_decides(usable: float, coverage: float, level: str) -> None:
    verdict = judge(parts.get("subgoals"), {"usable": usable, "coverage": coverage})
    assert verdict is not None
    assert verdict.level == level
    assert bool(verdict.advice) == (level != "good")


def test_a_verdict_names_the_score_and_what_to_try() -> None:
    verdict = judge(parts.get("subgoals"), {"usable": 0.06, "coverage": 0.8})
    assert verdict is not None
    assert verdict.text() == (
        "subgoals: useless. 6% of decoded subgoals are usable (legal and reached by the policy): "
        "train the VQ-VAE longer (subgoals.discrete.steps) or shorten the horizon."
    )
    assert judge(parts.get("subgoals"), {"codes_in_use": 0.1}) is None
    assert judge(parts.get("dynamics"), {"exact": float("nan")}).level == "useless"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", parts.names())
def test_every_score_of_a_shipped_part_is_explained(name: str) -> None:
    part = parts.get(name)
    assert part.headline in part.gauges
    for gauge in part.gauges.values():
        assert gauge.meaning
        assert gauge.good is None or gauge.advice


def tried(solved: int, expansions: float, seconds: float, alone: int = 45) -> Verdict:
    both = Tried("hips_eps", 50, solved, 50 - solved, expansions, seconds, solved)
    found = judge_trial(
        {"hips_eps": both, "hips": replace(ALONE, solved=alone), "phs_star": SINGLE}
    )
    assert found is not None
    return found


def test_a_trial_compares_expansions_time_and_levels() -> None:
    assert tried(50, 10.0, 0.01).level == "good"
    assert tried(50, 10.0, 0.03).level == "weak"  # fewer expansions, but slower
    assert tried(50, 10.0, 0.01, alone=20).level == "weak"  # actions do the work
    assert tried(50, 41.0, 0.09).level == "useless"
    assert tried(49, 10.0, 0.01).level == "good"  # one level is noise
    assert tried(46, 10.0, 0.01).level == "useless"
    assert "25% of the expansions" in tried(50, 10.0, 0.01).reason
    assert judge_trial({"phs_star": SINGLE}) is None


def outcomes(solved: int, expansions: int, of: int = 10) -> list[Result]:
    """Results of which the first ones are solved, the others out of time."""
    costs = Statistics(expansions=expansions, seconds=0.01 * expansions)
    found = [Outcome.SOLVED] * solved + [Outcome.OUT_OF_TIME] * (of - solved)
    return [Result(outcome, statistics=costs) for outcome in found]


def test_costs_are_compared_on_the_levels_that_both_searches_solved() -> None:
    found = summarise(
        {"hips_eps": outcomes(9, 5), "hips": outcomes(8, 3), "phs_star": outcomes(6, 20)}
    )
    assert {one.common for one in found.values()} == {6}
    assert found["phs_star"].undecided == 4
    assert found["phs_star"].text() == (
        "PHS*: solved 6 of 10 (4 undecided at a limit), "
        "20.0 expansions and 200.0 ms a level on the 6 comparable ones"
    )
    verdict = judge_trial(found)
    assert verdict is not None
    assert (verdict.level, why_undecided(found)) == ("good", "")


def test_a_trial_that_ended_at_its_limits_says_that_it_decides_nothing() -> None:
    found = summarise(
        {"hips_eps": outcomes(2, 5), "hips": outcomes(0, 3), "phs_star": outcomes(2, 9)}
    )
    assert judge_trial(found) is None
    assert "2 of 10 levels were solved within its limits" in why_undecided(found)
    none = summarise(
        {"hips_eps": outcomes(0, 5), "hips": outcomes(0, 3), "phs_star": outcomes(0, 9)}
    )
    assert judge_trial(none) is None
    assert none["hips_eps"].text() == "HIPS-ε: solved 0 of 10 (10 undecided at a limit)"


def test_a_trial_keeps_to_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow searches try one group of levels, each with a share of the time."""
    clock, limits = [0.0], list[float]()

    class Slow:
        def __init__(self, *given: object) -> None:
            pass

        def solve_many(self, grids: list[Grid], budget: Budget) -> list[Result]:
            assert budget.max_seconds is not None
            limits.append(budget.max_seconds)
            clock[0] += len(grids) * budget.max_seconds
            return outcomes(0, 1, len(grids))

    monkeypatch.setattr(trial, "Planner", Slow)
    monkeypatch.setattr(trial, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    domain = domains.create("sliding_tiles", height=2, width=2)
    card = read_card(shipped_folder() / "sliding_tiles")
    found = trial.run_trial(Path("model"), domain, card, 30.0)
    assert [one.levels for one in found.values()] == [10, 10, 10]
    assert limits == [1.0] * 3
    assert clock[0] == pytest.approx(30.0)


def test_a_trial_decides_about_subgoals_and_the_card_lists_the_useless() -> None:
    scores = judge_all(parts.known(), {"subgoals": {"usable": 0.05}, "dynamics": {"exact": 0.1}})
    both = combine(scores, tried(50, 10.0, 0.01))
    levels = {verdict.part: verdict.level for verdict in both}
    assert levels == {"dynamics": "useless", "subgoals": "good"}
    assert useless_parts({"verdict": as_facts(both)}) == ("dynamics",)
    assert useless_parts({"verdict": as_facts(combine(scores, None))}) == ("dynamics", "subgoals")
    assert useless_parts({}) == ()
    assert useless_parts({"verdict": {"parts": {"subgoals": "?"}}}) == ()


def test_a_metric_is_shown_beside_a_naive_guess_and_shipped_models() -> None:
    assert len(shipped_values("dynamics.training", "exact")) == 4
    text = compared("dynamics.training", "exact", 0.5, {"exact": 0.25})
    assert text.startswith(" | exact 0.500: naive guess 0.250, shipped models ended at 1.000")
    assert compared("own.training", "other", 0.5, {}) == ""


def test_only_shares_are_drawn_from_zero_to_one() -> None:
    assert is_share("exact", [(1, 0.2), (2, 1.0)])
    assert not is_share("first_nll", [(1, 0.2)])
    assert not is_share("error", [(1, 0.2), (2, 3.0)])
