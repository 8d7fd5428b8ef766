from __future__ import annotations

import numpy as np
import pytest

from hips import domains
from hips.demonstrations.labels import DEAD_END
from hips.domains import replay
from hips.errors import DatasetError, UnsolvableError
from hips.planner.explore import explore
from hips.seeding import stream


def test_every_label_is_what_the_expert_says() -> None:
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    found = explore(domain, levels=12, seed=3, expansions=60)
    assert (found.remaining == DEAD_END).sum() == found.origin["dead_ends"] > 0
    assert (found.remaining >= 0).any()
    assert len(np.unique(found.states, axis=0)) > len(found) // 2
    for state, remaining in zip(found.states[::5], found.remaining[::5], strict=True):
        if remaining == DEAD_END:
            with pytest.raises(UnsolvableError):
                domain.expert(state, stream(0, "again"))
        else:
            plan = domain.expert(state, stream(0, "again"))
            assert len(plan) == remaining
            assert domain.is_goal(replay(domain, state, plan)[-1:])[0]


def test_where_no_plan_is_found_the_way_of_the_expert_is_labelled() -> None:
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    (level,) = domain.sample(stream(8, "given"), 1)
    way = replay(domain, level, domain.expert(level, stream(0, "way")))
    found = explore(domain, [level], expansions=1)
    assert {state.tobytes() for state in found.states} == {state.tobytes() for state in way}
    assert sorted(found.remaining) == list(range(len(way)))


def test_the_same_seed_gives_the_same_labels() -> None:
    domain = domains.create("box_world")
    first, second = (explore(domain, levels=2, seed=5, expansions=15) for _ in range(2))
    np.testing.assert_array_equal(first.states, second.states)
    np.testing.assert_array_equal(first.remaining, second.remaining)
    other = explore(domain, levels=2, seed=6, expansions=15)
    assert first.states.shape != other.states.shape or (first.states != other.states).any()


def test_progress_is_told_after_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hips.planner.explore.LEVELS_A_TASK", 2)
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    told: list[tuple[int, int]] = []
    explore(domain, levels=5, expansions=3, progress=lambda *part: told.append(part))
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_an_expert_that_always_gives_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from hips.domains.sokoban import Sokoban
    from hips.errors import ExpertError

    def give_up(*_: object) -> None:
        raise ExpertError("too hard")

    monkeypatch.setattr(Sokoban, "expert", give_up)
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    with pytest.raises(DatasetError, match="gave up on every state"):
        explore(domain, levels=1, expansions=3)


def test_given_levels_are_searched() -> None:
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    levels = list(domain.sample(stream(8, "given"), 3))
    found = explore(domain, levels, expansions=20)
    assert found.origin["levels"] == 3
    met = {state.tobytes() for state in found.states}
    assert {level.tobytes() for level in levels} <= met
