from __future__ import annotations

import numpy as np
import pytest

from hips import domains
from hips.data.labels import DEAD_END
from hips.domains import replay
from hips.engines import LocalEngine
from hips.errors import DatasetError, UnsolvableError
from hips.practice.exploring import Exploration, explore
from hips.practice.searching import Workplace
from hips.seeding import stream


def test_every_label_is_what_the_expert_says() -> None:
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    found = explore(domain, 12, Exploration(seed=3, max_expansions=60))
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
    found = explore(domain, [level], Exploration(max_expansions=1))
    assert {state.tobytes() for state in found.states} == {state.tobytes() for state in way}
    assert sorted(found.remaining) == list(range(len(way)))


def test_the_same_seed_gives_the_same_labels() -> None:
    domain = domains.create("box_world")
    first, second = (explore(domain, 2, Exploration(5, max_expansions=15)) for _ in range(2))
    np.testing.assert_array_equal(first.states, second.states)
    np.testing.assert_array_equal(first.remaining, second.remaining)
    other = explore(domain, 2, Exploration(6, max_expansions=15))
    assert first.states.shape != other.states.shape or (first.states != other.states).any()


def test_progress_is_told_after_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hips.practice.searching.LEVELS_A_TASK", 2)
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    told: list[tuple[int, int]] = []
    place = Workplace(progress=lambda done, total: told.append((done, total)))
    explore(domain, 5, Exploration(max_expansions=3), place)
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_the_number_of_workers_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hips.practice.searching.LEVELS_A_TASK", 2)
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    alone, together = (
        explore(domain, 4, Exploration(1, max_expansions=10), Workplace(LocalEngine(workers)))
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(alone.states, together.states)
    np.testing.assert_array_equal(alone.remaining, together.remaining)


def test_an_expert_that_always_gives_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from hips.domains.sokoban import Sokoban
    from hips.errors import ExpertError

    def give_up(*_: object) -> None:
        raise ExpertError("too hard")

    monkeypatch.setattr(Sokoban, "expert", give_up)
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    with pytest.raises(DatasetError, match="the expert could label none of the states"):
        explore(domain, 1, Exploration(max_expansions=3))


def test_given_levels_are_searched() -> None:
    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    levels = list(domain.sample(stream(8, "given"), 3))
    found = explore(domain, levels, Exploration(max_expansions=20))
    assert found.origin["levels"] == 3
    met = {state.tobytes() for state in found.states}
    assert {level.tobytes() for level in levels} <= met
