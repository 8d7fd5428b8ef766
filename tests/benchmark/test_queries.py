from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from hips.benchmark import ipc_scores, lines
from hips.benchmark.metrics import METRICS, RESOURCES
from hips.benchmark.queries import Chosen, Results, Selection, Share
from hips.errors import ConfigError, HipsError
from tests.benchmark.stored import HIPS, HIPS_EPS, PHS, run_line, stored_lines, write


def selection(name: str, configuration: str, resource: str = "expansions") -> Selection:
    return Selection(name, "line", "development", (configuration,), False, 40, None, resource)


SELECTIONS = [selection("phs", PHS), selection("hips", HIPS), selection("eps", HIPS_EPS)]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(lines.find(write(tmp_path, stored_lines())))


@pytest.fixture
def chosen(results: Results) -> Chosen:
    return results.choose(SELECTIONS)


def test_success_is_the_hand_counted_one(chosen: Chosen) -> None:
    found = chosen.success([2, 10, 50, None])
    counts = {key: (share.solved, share.censored) for key, share in found.items()}
    assert counts == {
        ("phs", 2): (0, 0),
        ("phs", 10): (1, 0),
        ("phs", 50): (4, 4),
        ("phs", None): (4, 0),
        ("hips", 2): (3, 0),
        ("hips", 10): (5, 0),
        ("hips", 50): (5, 0),
        ("hips", None): (5, 0),
        ("eps", 2): (3, 0),
        ("eps", 10): (5, 0),
        ("eps", 50): (7, 1),
        ("eps", None): (7, 0),
    }
    # Seeds solve 3 and 2 of 4: standard deviation of (3/4, 1/2) over the square root of 2.
    assert found["hips", None] == Share(5, 8, pytest.approx(0.125), 0)


def test_curves_count_what_is_solved_by_then(chosen: Chosen) -> None:
    assert chosen.curve("hips") == ([1, 2, 3, 8], [1, 3, 4, 5], 8)
    assert chosen.curve("nothing") == ([], [], 0)


def test_ratio_divides_the_unsolved(chosen: Chosen) -> None:
    x, y = chosen.ratio("eps", "hips")
    assert x == [1, 2, 3, 5, 8, 20, 30]
    assert y == pytest.approx([6 / 7, 5 / 5, 4 / 4, 3 / 4, 3 / 3, 2 / 3, 1 / 3])


def test_only_instances_that_one_row_solves(results: Results) -> None:
    chosen = results.choose(SELECTIONS)
    chosen.keep_solved_by("hips")
    assert {share.total for share in chosen.success([None]).values()} == {5}
    assert chosen.mean_cost()["hips"][0] == pytest.approx((1 + 2 + 3 + 2 + 8) / 5)
    assert chosen.mean_cost()["eps"][0] == pytest.approx((1 + 1 + 3 + 2 + 5) / 5)


def test_costs_compare_on_commonly_solved_instances(chosen: Chosen) -> None:
    means = {name: found[0] for name, found in chosen.mean("expansions").items()}
    assert means == pytest.approx(
        {"phs": (10 + 20 + 15 + 30) / 4, "hips": (1 + 2 + 2 + 8) / 4, "eps": (1 + 1 + 2 + 5) / 4}
    )
    assert chosen.mean("solved")["eps"][0] == pytest.approx(7 / 8)


def test_resources_differ_by_row(results: Results) -> None:
    both = [selection("a", HIPS), selection("b", HIPS, "environment_steps")]
    chosen = results.choose(both)
    assert chosen.curve("b")[0] == [5 * cost for cost in chosen.curve("a")[0]]


def test_low_level_shares(chosen: Chosen) -> None:
    assert chosen.mean("plan_share")["hips"][0] == 0
    shares = [1 / (7 - start) for start in (0, 1, 5, 0)]  # instances 0, 1, 5, 6
    assert chosen.mean("plan_share")["eps"][0] == pytest.approx(sum(shares) / 4)
    profile = chosen.profile("eps")
    assert profile[:2] == [(0, 0, 8), (1, 5, 11)]
    assert sum(total for _, _, total in profile) == 1 + 1 + 3 + 30 + 20 + 2 + 5 + 40


def test_competition_scores(results: Results, chosen: Chosen) -> None:
    found = ipc_scores.scores(results)
    assert found["hips"].coverage == 5
    assert found["hips"].satisficing == pytest.approx(5)  # all plans of an instance are equal
    late = [1 - math.log(seconds) / math.log(300) for seconds in (2, 1.5, 3)]
    assert found["phs"].agile == pytest.approx(1 + sum(late))
    assert ipc_scores.agile(1.5) == pytest.approx(late[1])


def test_a_longer_plan_scores_less(tmp_path: Path) -> None:
    content = [run_line(0, HIPS, 1), run_line(0, PHS, 1, length=14)]
    results = Results(lines.find(write(tmp_path, content)))
    results.choose(SELECTIONS)
    assert ipc_scores.scores(results)["phs"].satisficing == pytest.approx(0.5)


def test_every_metric_can_be_asked_for(chosen: Chosen) -> None:
    for name in METRICS:
        assert chosen.mean(name)
    assert set(RESOURCES) <= set(METRICS)


def test_compressed_lines_give_the_same(tmp_path: Path, chosen: Chosen) -> None:
    packed = write(tmp_path / "packed", stored_lines())
    plain = packed / lines.FILE
    (packed / lines.PACKED).write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    again = Results(lines.find(packed)).choose(SELECTIONS)
    assert again.success([2, None]) == chosen.success([2, None])


def test_a_half_last_line_is_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path, stored_lines())
    path = folder / lines.FILE
    path.write_bytes(path.read_bytes()[:-20])
    chosen = Results(path).choose(SELECTIONS)
    assert chosen.success([None])["phs", None].total == 7


def test_mixed_versions_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, [*stored_lines(), run_line(0, HIPS, 1, version="0.0.1")])
    with pytest.raises(ConfigError, match=r"mixes results of versions 0\.0\.1, "):
        Results(lines.find(folder))


def test_no_results_are_told(tmp_path: Path) -> None:
    with pytest.raises(HipsError, match="no results here"):
        lines.find(tmp_path)
