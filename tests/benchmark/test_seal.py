"""Sealed instances: a stream of their own, refused for tuning, opened on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from hips.benchmark import compare, experiments, seal
from hips.errors import HipsError
from hips.seeding import SEALED, stream
from tests.benchmark.stored import stored_lines, write

SOURCES = Path(__file__).parents[2] / "src" / "hips"
TILES = experiments.load().suites.get("sliding_tiles")


def test_nothing_else_draws_from_the_sealed_stream() -> None:
    users = {p.name for p in SOURCES.rglob("*.py") if "sealed_stream" in p.read_text()}
    assert users == {"seeding.py", "suites.py"}
    with pytest.raises(AssertionError):
        stream(0, SEALED)


def test_sealed_and_development_instances_differ() -> None:
    drawn = [{one.sha256 for one in s.instances(20, 0)} for s in (TILES, TILES.on_sealed())]
    assert not drawn[0] & drawn[1]


def test_sealed_levels_and_results_are_refused(tmp_path: Path) -> None:
    domain = TILES.make_domain()
    seal.refuse_levels(domain, [TILES.instances(1, 0)[0].grid], "tuning")
    with pytest.raises(HipsError, match="1 of the levels are sealed"):
        seal.refuse_levels(domain, [TILES.on_sealed().instances(1, 0)[0].grid], "tuning")
    marked = [{**line, "source": SEALED} for line in stored_lines()[1:]]
    folder = write(tmp_path, [stored_lines()[0], *marked])
    with pytest.raises(HipsError, match="sealed"):
        compare.pairs(folder, folder)


def test_opening_again_with_another_model_warns(tmp_path: Path) -> None:
    for _ in range(2):
        seal.record_opening(tmp_path, {"line": {"hips": "a"}}, "hips bench")
    assert len(seal.openings(tmp_path)) == 1
    assert seal.reopened(tmp_path) == ""
    seal.record_opening(tmp_path, {"line": {"hips": "b"}}, "hips bench")
    assert "opened more than once" in seal.reopened(tmp_path)
