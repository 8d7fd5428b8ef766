from __future__ import annotations

from pathlib import Path

import pytest

from hips.benchmark import compare
from hips.benchmark.compare import Pair
from hips.errors import HipsError, UnknownNameError
from tests.benchmark.stored import HIPS, PHS, run_line, write


def folders(tmp_path: Path, first: list[int | None], second: list[int | None]) -> tuple[Path, Path]:
    sets = []
    for name, costs in (("a", first), ("b", second)):
        content = [run_line(index, HIPS, cost) for index, cost in enumerate(costs)]
        sets.append(write(tmp_path / name, content))
    return sets[0], sets[1]


def test_instances_are_matched(tmp_path: Path) -> None:
    a, b = folders(tmp_path, [1, 2, None, None, 5], [2, None, 7, None])
    (pair,) = compare.pairs(a, b)
    assert pair == Pair("line", HIPS, ((1.0, 2.0),), 1, 1, 1)
    assert pair.total == 4


def test_the_chances_are_those_of_the_textbook() -> None:
    uneven = Pair("s", "c", (), 9, 1, 0)
    # Two-sided binomial: (1 + 10) of 1024 on either side.
    assert compare.solved_chance(uneven) == pytest.approx(22 / 1024)
    assert compare.solved_chance(Pair("s", "c", (), 0, 0, 5)) == 1.0
    # All six differences of one sign: 2 of the 64 equally likely patterns.
    faster = tuple((float(i), float(2 * i)) for i in range(1, 7))
    assert compare.cost_chance(Pair("s", "c", faster, 0, 0, 0)) == pytest.approx(2 / 64)
    assert compare.cost_chance(Pair("s", "c", ((1.0, 1.0),), 0, 0, 0)) == 1.0


def test_the_report_has_a_scatter_of_each_pair(tmp_path: Path) -> None:
    a, b = folders(tmp_path, [1, 2, 3], [2, 4, 6])
    document = compare.build(a, b)
    (figure,) = document.sections[0].figures
    assert sorted(zip(figure.curves[0].x, figure.curves[0].y, strict=True)) == [
        (1, 2),
        (2, 4),
        (3, 6),
    ]
    assert figure.diagonal
    assert document.sections[0].tables[0].rows[0][:3] == (f"line, {HIPS}", "3", "3")


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [run_line(0, HIPS, 1)])
    b = write(tmp_path / "b", [run_line(0, PHS, 1)])
    with pytest.raises(HipsError, match="no runs in common"):
        compare.pairs(a, b)
    with pytest.raises(UnknownNameError, match=r"Unknown resource 'time'. Available: expansions"):
        compare.pairs(a, a, "time")
