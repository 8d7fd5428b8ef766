"""The models that come with the package."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hips import parts
from hips.methods.planner import Planner
from hips.methods.wiring import SUBGOAL_PARTS
from hips.models import bundle
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.settings import Settings
from hips.seeding import stream
from hips.training.config import build
from hips.training.torch_runtime import build_networks
from hips.training.weights import load_weights

SHIPPED = sorted(card.parent.name for card in bundle.shipped_folder().glob(f"*/{bundle.CARD}"))
MOST_BYTES = 60_000_000


def test_all_models_together_are_small() -> None:
    files = [path for path in bundle.shipped_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_was_done_and_measured(name: str) -> None:
    card = bundle.load(name).card
    assert card.domain == name
    assert card.facts["data"]["demonstrations"] > 0
    assert card.facts["data"]["command"].startswith("hips train")
    assert set(card.parts) >= set(SUBGOAL_PARTS)
    for part in card.parts.values():
        assert part.training
        assert all(stage["minutes"] > 0 for stage in part.training.values())
    for part in parts.defaults():
        assert parts.get(part).headline in card.parts[part].scores, part
    assert {"coverage", "usable"} <= set(card.parts["subgoals"].scores)
    assert card.facts["exam"]["demonstrations"] >= 200


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_is_one_of_this_version(name: str) -> None:
    """Its configurations and settings are known, and its weights are those of its networks."""
    loaded = bundle.load(name)
    for part, entry in loaded.card.parts.items():
        build(parts.get(part).config_type, entry.configuration)
    Settings(**loaded.card.settings)
    networks = build_networks(loaded, parts.known())
    load_weights(networks, loaded)
    states = loaded.domain.sample(stream(3, "weights", name), 4)
    exact = LearnedHeuristic(loaded.runtime()).distances(states)
    with torch.no_grad():
        halved = networks["heuristic"].eval()(torch.from_numpy(states)).numpy()
    np.testing.assert_allclose(halved, exact, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_model_solves_fresh_puzzles(name: str) -> None:
    planner = Planner.load(name)
    levels = list(planner.domain.sample(stream(17, "shipped", name), 4))
    results = planner.solve_many(levels, Budget(max_expansions=400))
    solved = [result for result in results if result.outcome is Outcome.SOLVED]
    assert len(solved) >= 2
    assert any(segment.kind == "subgoal" for result in solved for segment in result.segments)
