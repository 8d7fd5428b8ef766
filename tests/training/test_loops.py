"""Loops are cut out of demonstrations along the steps that were taken."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hips.arrays import Ints
from hips.data.dataset import Trajectories
from hips.parts.heuristic.targets import find_targets
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.loops import shortest_ways, without_loops
from tests.models.untrained import untrained, workshop


def walks(places: list[list[int]]) -> Trajectories:
    """Trajectories through numbered states; the action is the number of the next state."""
    lengths = [len(one) for one in places]
    flat = np.concatenate([np.array(one, dtype=np.uint8) for one in places])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    actions = np.append(flat[1:], 0).astype(np.int64)
    actions[offsets[1:] - 1] = -1
    return Trajectories(flat[:, None, None], actions, offsets)


def visited(data: Trajectories) -> list[list[int]]:
    states: Ints = data.states[:, 0, 0].astype(np.int64)
    return [list(states[a:b]) for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]


def test_a_loop_is_cut_out() -> None:
    found = without_loops(walks([[0, 1, 2, 1, 3, 9], [5, 9]]))
    assert visited(found) == [[0, 1, 3, 9], [5, 9]]
    assert list(found.actions) == [1, 3, 9, -1, 9, -1]


def test_a_later_step_closes_a_shorter_way() -> None:
    # 1 → 2 → 3 → 4 was walked first, 1 → 4 later.
    assert visited(without_loops(walks([[0, 1, 2, 3, 4, 1, 4, 9]]))) == [[0, 1, 4, 9]]


def test_equal_states_of_two_trajectories_stay_apart() -> None:
    assert visited(without_loops(walks([[0, 1, 2, 9], [1, 9]]))) == [[0, 1, 2, 9], [1, 9]]


def test_every_visited_state_has_a_distance() -> None:
    ways = shortest_ways(walks([[0, 1, 2, 1, 3, 9]]))
    assert list(ways.remaining) == [3, 2, 3, 2, 1, 0]


@given(st.lists(st.lists(st.integers(0, 6), max_size=30), min_size=1, max_size=4))
def test_ways_are_simple_and_made_of_steps_that_were_taken(middles: list[list[int]]) -> None:
    given_walks = [[0, *middle, 9] for middle in middles]
    data = walks(given_walks)
    found = without_loops(data)
    for before, after in zip(given_walks, visited(found), strict=True):
        taken = set(itertools.pairwise(before))
        assert (after[0], after[-1]) == (0, 9)
        assert len(after) == len(set(after)) <= len(before)
        assert set(itertools.pairwise(after)) <= taken
    assert visited(without_loops(found)) == visited(found)
    lengths = np.diff(found.offsets) - 1
    assert (shortest_ways(data).remaining[data.offsets[:-1]] == lengths).all()


def test_distances_are_learned_from_the_states_of_loops_too(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    wanted = override(config, ["cut_loops=true"])
    domain = corpus.domain
    work = workshop(domain, wanted, untrained(domain, wanted), tmp_path, corpus)
    recorded = Trajectories(corpus.states, corpus.actions, corpus.offsets)
    shorter = Corpus.build(without_loops(recorded), domain)
    work.train, work.valid, work.recorded = shorter, shorter, (corpus, corpus)
    targets = find_targets(work)
    assert len(targets.train) == len(corpus.states)
    assert (targets.train.remaining == shortest_ways(recorded).remaining).all()
