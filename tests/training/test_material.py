"""Demonstrations to learn from: how many are collected, and which are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hips import data, domains, parts
from hips.errors import DatasetError
from hips.training import material
from hips.training.material import collect_material, load_material
from hips.training.recipes import configure
from tests.toys import LineWorld

LINE = LineWorld()
CONFIG = configure(LINE, parts.known(), ("dynamics",), "smoke", 0, None, ["demonstrations=64"])


@pytest.mark.parametrize(("limit", "count", "said"), [(None, 64, 1), (1e9, 64, 1), (1e-9, 16, 2)])
def test_a_time_limit_stops_the_collection_early(
    limit: float | None,
    count: int,
    said: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(material, "FIRST", 16)
    messages: list[str] = []
    collect_material(LINE, CONFIG, tmp_path / "data", limit, 1, messages.append)
    assert len(load_material([tmp_path / "data"], LINE)) == count
    assert len(messages) == said
    collect_material(LINE, CONFIG, tmp_path / "data", None, 1, messages.append)
    assert len(load_material([tmp_path / "data"], LINE)) == count  # stages may know it
    assert len(messages) == said


def test_too_few_demonstrations_are_refused(tmp_path: Path) -> None:
    data.collect(LINE, count=5, seed=0, out=tmp_path / "few")
    with pytest.raises(DatasetError, match="5 demonstrations are too few to train on; at least 10"):
        load_material([tmp_path / "few"], LINE)


def test_demonstrations_of_one_level_only_are_refused(tmp_path: Path) -> None:
    start = np.eye(1, 8, 2, dtype=np.uint8)
    same = data.Demonstrations.from_plans(LINE, [start] * 12, [["right"] * 5] * 12)
    data.save(same, tmp_path / "same")
    with pytest.raises(DatasetError, match="All 12 demonstrations are of one level"):
        load_material([tmp_path / "same"], LINE)


def test_demonstrations_of_another_domain_are_refused(tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    data.collect(tiles, count=12, seed=0, out=tmp_path / "tiles")
    with pytest.raises(DatasetError, match="of 'sliding_tiles', not 'line_world'"):
        load_material([tmp_path / "tiles"], LINE)
