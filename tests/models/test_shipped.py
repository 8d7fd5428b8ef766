"""The models that come with the package."""

from __future__ import annotations

import pytest

from hips.models import bundle
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.planner import Planner
from hips.seeding import stream

SHIPPED = sorted(card.parent.name for card in bundle.shipped_folder().glob(f"*/{bundle.CARD}"))
MOST_BYTES = 60_000_000


def test_all_models_together_are_small() -> None:
    files = [path for path in bundle.shipped_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_was_done_and_measured(name: str) -> None:
    card = bundle.load(name).card
    assert card["domain"] == name
    assert card["data"]["demonstrations"] > 0
    assert card["data"]["command"].startswith("hips train")
    assert all(stage["minutes"] > 0 for stage in card["training"].values())
    assert set(card["scores"]) >= {"policy_reach", "coverage", "usable", "heuristic_spearman"}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_model_solves_fresh_puzzles(name: str) -> None:
    planner = Planner.load(name)
    levels = list(planner.domain.sample(stream(17, "shipped", name), 4))
    results = planner.solve_many(levels, Budget(expansions=400))
    solved = [result for result in results if result.outcome is Outcome.SOLVED]
    assert len(solved) >= 2
    assert any(segment.kind == "subgoal" for result in solved for segment in result.segments)
