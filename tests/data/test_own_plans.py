"""Demonstrations of the user's own: what is taken, what is refused, what is advised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hips import domains
from hips.data import Demonstrations, advice, load, read_plans, save
from hips.data.dataset import to_offsets, validation_split
from hips.errors import DatasetError

TINY = "#####\n#@$.#\n#####"
LONGER = "######\n#@ $.#\n######"


def lines(*records: object) -> list[str]:
    return [one if isinstance(one, str) else json.dumps(one) for one in records]


def test_good_lines_are_kept_and_bad_ones_refused_by_number() -> None:
    sokoban = domains.create("sokoban", height=3, width=5, boxes=1)
    found = read_plans(
        sokoban,
        lines(
            {"level": TINY, "actions": ["right", "left"]},
            {"level": LONGER, "lurd": "rR"},
            {"level": TINY, "actions": ["up"]},
            {"level": TINY, "actions": ["fly"]},
            {"level": TINY, "lurd": "x"},
            {"level": TINY.replace("@$.", "@* "), "actions": []},
            {"level": 7, "actions": []},
            "not json",
            {"actions": ["up"]},
            "",
        ),
        "plans.jsonl",
    )
    assert found.demonstrations.lengths.tolist() == [1, 2]
    assert found.demonstrations.starts.shape == (2, 3, 6)
    assert [error.line for error in found.refused] == [3, 4, 5, 6, 7, 8, 9]
    reasons = " ".join(error.reason for error in found.refused)
    for words in ("does not reach", "fly", "no move", "already solved", "not JSON", "'level'"):
        assert words in reasons


def test_a_file_without_any_demonstration_is_refused() -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    with pytest.raises(DatasetError, match="no line is a demonstration"):
        read_plans(tiles, lines({"level": "1 0 2 3", "actions": ["down"]}), "plans.jsonl")


def test_plans_from_python_are_checked_and_stored(tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    mine = Demonstrations.from_plans(tiles, ["1 0 2 3", "1 3 2 0"], [["left"], ["up", "left"]])
    save(mine, tmp_path / "mine")
    assert load(tmp_path / "mine").lengths.tolist() == [1, 2]
    with pytest.raises(DatasetError, match="demonstration 1: the plan of 1 actions"):
        Demonstrations.from_plans(tiles, ["1 0 2 3", "1 3 2 0"], [["left"], ["up"]])
    with pytest.raises(DatasetError, match="1 levels and 2 plans"):
        Demonstrations.from_plans(tiles, ["1 0 2 3"], [["left"], ["up"]])


def test_save_stores_any_integers_and_refuses_missed_goals(tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    starts = np.array([[[1, 0], [2, 3]]], dtype=np.uint8)

    def dataset(*actions: int) -> Demonstrations:
        codes = np.array(actions, dtype=np.int64)
        offsets = to_offsets(np.array([len(actions)]))
        return Demonstrations(tiles, starts, codes, offsets, validation_split(starts))

    save(dataset(3), tmp_path / "good")
    assert load(tmp_path / "good").plan(0).tolist() == [3]
    for bad in (dataset(2), dataset(3, 1), dataset(9)):
        with pytest.raises(DatasetError):
            save(bad, tmp_path / "bad")
        assert not (tmp_path / "bad").exists()


def test_few_and_contradictory_demonstrations_give_advice() -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    detour = ["down", "up", "left"]
    mine = Demonstrations.from_plans(tiles, ["1 0 2 3"] * 2, [["left"], detour])
    few, contradictory = advice(mine)
    assert "Only 2" in few
    assert "different plans" in contradictory
