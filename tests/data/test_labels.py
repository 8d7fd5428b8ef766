from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hips import domains
from hips.data import labels
from hips.data.labels import DEAD_END, StateLabels, consult, join
from hips.domains import Actions, Grid
from hips.errors import DatasetError, ExpertError
from tests.toys import AGENT, HOLE, LineWorld


def some_labels() -> StateLabels:
    domain = domains.create("sokoban")
    states = domain.sample(np.random.default_rng(0), 3)
    remaining = np.array([5, DEAD_END, 7], dtype=np.int32)
    return StateLabels(states, remaining, {"domain": "sokoban", "seed": 1})


def test_labels_come_back_as_they_were(tmp_path: Path) -> None:
    written = some_labels()
    labels.save(written, tmp_path / "labels.npz")
    read = labels.load(tmp_path / "labels.npz", domains.create("sokoban"))
    np.testing.assert_array_equal(read.states, written.states)
    np.testing.assert_array_equal(read.remaining, written.remaining)
    assert read.origin["seed"] == 1


def test_only_unsolved_states_with_a_way_on_are_solvable() -> None:
    whole = some_labels()
    goal = StateLabels(whole.states, np.array([5, DEAD_END, 0], dtype=np.int32), whole.origin)
    np.testing.assert_array_equal(goal.solvable(np.random.default_rng(0), 9), whole.states[:1])
    assert len(whole.solvable(np.random.default_rng(0), 9)) == 2
    assert len(whole.solvable(np.random.default_rng(0), 1)) == 1


def test_labels_of_another_domain_are_refused(tmp_path: Path) -> None:
    labels.save(some_labels(), tmp_path / "labels.npz")
    with pytest.raises(DatasetError, match="has labels of 'sokoban', not of 'tsp'"):
        labels.load(tmp_path / "labels.npz", domains.create("tsp"))


def test_labels_of_another_size_are_refused(tmp_path: Path) -> None:
    labels.save(some_labels(), tmp_path / "labels.npz")
    with pytest.raises(DatasetError, match="not grids of the domain"):
        labels.load(tmp_path / "labels.npz", domains.create("sokoban", height=8, width=8))


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    domain = domains.create("sokoban")
    with pytest.raises(DatasetError, match="hips explore"):
        labels.load(tmp_path / "none.npz", domain)
    path = tmp_path / "labels.npz"
    labels.save(some_labels(), path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DatasetError, match="not a file of labelled states"):
        labels.load(path, domain)


def test_several_files_are_one_list_of_labels(tmp_path: Path) -> None:
    sokoban = domains.create("sokoban")
    assert labels.load_all([], sokoban) is None
    labels.save(some_labels(), tmp_path / "a.npz")
    labels.save(some_labels(), tmp_path / "b.npz")
    alone = labels.load_all([tmp_path / "a.npz"], sokoban)
    assert alone is not None
    assert alone.origin["domain"] == sokoban.name
    both = labels.load_all([tmp_path / "a.npz", tmp_path / "b.npz"], sokoban)
    assert both is not None
    assert len(both) == 2 * len(alone)
    assert [part["domain"] for part in both.origin["parts"]] == [sokoban.name] * 2


def line(agent: int, hole: int | None = None) -> Grid:
    state = np.zeros((1, 8), dtype=np.uint8)
    state[0, agent] = AGENT
    if hole is not None:
        state[0, hole] = HOLE
    return state


def test_an_expert_is_consulted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    plan = consult(LineWorld(), line(2), rng)
    assert plan is not None
    assert len(plan) == 5
    assert consult(LineWorld(), line(1, hole=4), rng) is None

    def give_up(*_: object) -> Actions:
        raise ExpertError("too hard")

    monkeypatch.setattr(LineWorld, "expert", give_up)
    with pytest.raises(ExpertError, match="too hard"):
        consult(LineWorld(), line(2), rng)


def test_joined_labels_keep_their_order() -> None:
    part = some_labels()
    both = join([part, part.subset(np.array([False, True, False]))], {"domain": "sokoban"})
    assert both.remaining.tolist() == [5, DEAD_END, 7, DEAD_END]
    assert both.remaining.dtype == np.int32
    np.testing.assert_array_equal(both.states[3], part.states[1])
    assert both.origin == {"domain": "sokoban"}
