from __future__ import annotations

import json

import numpy as np

from hips.planner.budget import Budget
from hips.planner.ledger import Ledger
from hips.planner.planner import Planner
from hips.planner.result import PROFILE_EDGES, Result
from tests.toys import LineWorld


def test_profile_counts_low_level_expansions_by_their_number() -> None:
    ledger = Ledger(2)
    ledger.begin(1)
    slots = np.array([1])
    for number in range(1, 7):  # 1 | 2 3 | 4 | 5 6
        low = np.array([number in (2, 3, 6)])
        ledger.add_expansions(slots, (~low, low))
    statistics = ledger.statistics(1, 0)
    assert PROFILE_EDGES[:5] == (1, 2, 4, 5, 8)
    assert statistics.action_profile == (0, 2, 0, 1)
    assert statistics.action_expansions == 3
    ledger.begin(1)
    assert ledger.statistics(1, 0).action_profile == ()


def test_profile_of_a_search_adds_up_and_survives_json() -> None:
    result = Planner(LineWorld(length=20)).solve(
        np.eye(1, 20, dtype=np.uint8), Budget(expansions=50)
    )
    profile = result.statistics.action_profile
    assert sum(profile) == result.statistics.action_expansions > 5
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
